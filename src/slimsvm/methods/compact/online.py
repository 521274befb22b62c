"""The estimator's side of `partial_fit` and `warm_start`: what goes in, and what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from ...budget import stored_bytes
from ...chunks.blocks import checked
from ...chunks.sample import Sample
from ...expansion import KernelExpansion
from ...kernels import RBF, Kernel
from ...probability import Probability
from ...readout import label_readout
from ...rounding import rounded
from ...rows import Array
from ...training import Trained, TrainingSet, class_weights
from ...words import count
from ..base import Run
from ..chunked import FitsInChunks
from .choice import PATH_FIELDS
from .going_on import Wanted, as_expansion, go_on, solved
from .observations import of_mean_one
from .plan import LARGEST
from .stream import CHANGED, Stream, add, joined, updated

# Vectors that a call of partial_fit adds at the most.
MOST_ADDED = LARGEST // CHANGED
# Passes over the rows that go on from a given model.
WARM_EPOCHS = 40


def takes_parts(model: Any) -> bool:
    """Whether `partial_fit` is there: rows that come in parts have no column for each row."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise AttributeError(
            f"{type(model).__name__} has no partial_fit with kernel='precomputed', which has a column for each row; "
            "use a kernel that is computed."
        )
    return True


class GoesOn(FitsInChunks):
    """`partial_fit`, and fits that begin with a model."""

    C: float | None
    max_vectors: int | None
    max_bytes: int | None
    max_latency_us: float | None
    number: str | None
    warm_start: Any
    _stream: Stream | None

    def _loss_and_unit(self, data: TrainingSet) -> tuple[Any, Array, Array]:
        """The loss, and what targets are divided by after what is taken off them."""
        raise NotImplementedError

    def _rounded(self, f: KernelExpansion, X: Any, weight: Array) -> KernelExpansion:
        """The expansion in the numbers that ship."""
        if self.number is None:
            return f
        middle = np.asarray(weight @ X / weight.sum()).ravel()
        return rounded(f, self.number, middle=middle).expansion

    def _room(self, f: KernelExpansion) -> int:
        """Vectors that may be added within the budget."""
        if not f.n_vectors or self.max_latency_us is not None or sparse.issparse(f.vectors):
            return 0
        room = min(MOST_ADDED, (self.max_vectors or LARGEST) - f.n_vectors)
        while self.max_bytes is not None and room > 0:
            rows = np.arange(f.n_vectors + room) % f.n_vectors
            larger = replace(f, vectors=f.vectors[rows], coef=f.coef[rows])
            if stored_bytes(larger, self.number or "float32") <= self.max_bytes:
                break
            room -= 1
        return max(0, room)

    # warm_start

    def _start(self) -> KernelExpansion | None:
        """The model a fit begins with, if any."""
        if isinstance(self.warm_start, bool):
            return self.__dict__.get("expansion_") if self.warm_start else None
        return as_expansion(self.warm_start)

    def _trained_from(self, f: KernelExpansion, data: TrainingSet, run: Run) -> Trained:
        """The vectors and the metric of a model, moved for these rows; nothing is searched for."""
        width = data.X.shape[1]
        if f.n_features != width:
            raise ValueError(
                f"warm_start has a model of {count(f.n_features, 'feature')}, but X has {width}: it cannot start "
                "this one."
            )
        loss, unit, centre = self._loss_and_unit(data)
        C = self.C or getattr(self.warm_start, "C_", None) or self.__dict__.get("C_") or 1.0
        weight, weight_unit = of_mean_one(data.weight)
        k = data.Y.shape[1]
        start = replace(
            f.astype(data.X.dtype), coef=np.zeros((f.n_vectors, k), dtype=data.X.dtype),
            intercept=np.zeros(k, dtype=data.X.dtype),
        )  # fmt: skip
        wanted = Wanted(
            data.X, (data.Y - centre) / unit, weight, loss, 1.0 / (C * weight_unit), float(data.n)
        )
        found = solved(start, wanted, n_threads=run.n_threads)
        run.say(f"going on from {count(f.n_vectors, 'vector')}")
        found = go_on(found, wanted, run.rng, n_epochs=WARM_EPOCHS, n_threads=run.n_threads)
        found = self._rounded(_in_units(found, unit, centre), data.X, data.weight)
        extras = {"C_": C, "path_": np.array([], dtype=PATH_FIELDS)}
        probability = Probability("softmax") if data.classify else None
        return Trained(found.compact(), None, WARM_EPOCHS, probability=probability, extras=extras)

    # partial_fit

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        classify, before = is_classifier(self), self.__dict__.get("_stream")
        with self._fitting(X, y, sample_weight) as progress:
            options = {} if classify else {"multi_output": True, "y_numeric": True}
            X, y = self._checked(X, y, reset=before is None, **options)
            names = self.__dict__.get("feature_names_in_")
            block = checked(
                (X, y) if sample_weight is None else (X, y, sample_weight), "X", classify=classify
            )
            if block.n == 0:
                raise ValueError("sample_weight must be positive for at least one row; all weights are zero.")
            stream = add(before, block, classify=classify)
            every = self._every_class(classes, stream, first=before is None) if classify else None
            run = Run(self, progress, every)
            if classify and len(stream.seen.labels) == 1:
                trained = self._constant(stream, every)
            elif stream.needs_search:
                trained, stream = self._searched(stream, every, progress), stream.after_search()
            else:
                assert before is not None  # the first call searches
                trained = self._updated(stream, joined(before, block), block.n, every, run)
            known = every if classify else stream.seen.sample.y.ndim == 1
            self._store(trained, self._readout(known, trained))
            self._stream = stream
            if names is not None:
                self.feature_names_in_ = names
        return self

    def _every_class(self, classes: Any, stream: Stream, *, first: bool) -> Array:
        """All classes, as the first call has named or shown them."""
        if not first:
            every = self.classes_
            if classes is not None and not np.array_equal(np.unique(classes), every):
                raise ValueError("classes must be those of the first call of partial_fit.")
        else:
            every = np.unique(stream.seen.labels if classes is None else np.asarray(classes))
        unknown = np.setdiff1d(stream.seen.labels, every)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the classes of the first call; name all "
                "classes there: partial_fit(X, y, classes=[...])."
            )
        if len(every) < 2:
            raise ValueError(
                "y has one class in the first call of partial_fit; name all classes: partial_fit(X, y, classes=[...])."
            )
        found: Array = every
        return found

    def _constant(self, stream: Stream, every: Any) -> Trained:
        """The machine without vectors for the only class that was seen."""
        sample = stream.seen.sample
        signs = label_readout(every).signs(np.searchsorted(every, stream.seen.labels))[0]
        d, dtype = sample.X.shape[1], sample.X.dtype
        f = KernelExpansion(
            RBF(1.0), np.empty((0, d), dtype=dtype), np.empty((0, len(signs)), dtype=dtype), signs.astype(dtype)
        )  # fmt: skip
        extras = {"C_": self.C or 1.0, "path_": np.array([], dtype=PATH_FIELDS)}
        return Trained(f, probability=Probability("softmax"), extras=extras)

    def _searched(self, stream: Stream, every: Any, progress: Any) -> Trained:
        sample = stream.seen.standing_for_all()
        data, run = self._prepared(sample.X, sample.y, sample.weight, progress)
        run.say(f"{count(stream.seen.n_rows, 'row')} so far: searching on {count(data.n, 'row')}")
        kernel: Kernel = self._usable_kernel(data)
        trained = self._train(data, kernel, run)
        if every is None or len(stream.seen.labels) == len(every):
            return trained
        expansion = _for_all_classes(trained.expansion, stream.seen.labels, every)
        return replace(trained, expansion=expansion, probability=Probability("softmax"))

    def _updated(self, stream: Stream, sample: Sample, n_new: int, every: Any, run: Run) -> Trained:
        weight = sample.weight
        if every is None:
            Y = sample.y.reshape(sample.n, -1)
        else:
            labels, totals = stream.seen.labels, stream.seen.totals
            factors = class_weights(self.class_weight, labels, np.arange(len(labels)), totals)
            weight = weight * factors[np.searchsorted(labels, sample.y)]
            Y = label_readout(every).signs(np.searchsorted(every, sample.y))
        rows = np.flatnonzero(weight > 0)
        X, Y, weight = sample.X[rows], Y[rows], weight[rows]
        data = TrainingSet(X, Y, weight, rows, np.zeros(len(rows), dtype=np.intp), classify=every is not None)
        loss, unit, centre = self._loss_and_unit(data)
        f = _in_units(self.expansion_, 1.0 / unit, -centre / unit)
        total = float(stream.seen.totals.sum())
        wanted = Wanted(
            X, (Y - centre) / unit, weight / weight.mean(), loss, len(Y) / (self.C_ * total), max(total, float(len(Y)))
        )  # fmt: skip
        n_new = int(np.count_nonzero(rows >= sample.n - n_new))
        found = updated(f, wanted, n_new, run.rng, room=self._room(f), n_threads=run.n_threads)
        found = self._rounded(_in_units(found, unit, centre), X, weight)
        run.say(f"{count(stream.seen.n_rows, 'row')} so far: moved {count(found.n_vectors, 'vector')}")
        probability = getattr(self.readout_, "probability", None)
        extras = {"C_": self.C_, "path_": self.path_}
        return Trained(found, None, self.n_iter_, probability=probability, extras=extras)


def _in_units(f: KernelExpansion, unit: Any, centre: Any) -> KernelExpansion:
    """The function times a unit, plus what was taken off."""
    dtype = f.coef.dtype
    return replace(
        f, coef=(f.coef * unit).astype(dtype), intercept=(f.intercept * unit + centre).astype(dtype)
    )


def _for_all_classes(f: KernelExpansion, seen: Array, every: Array) -> KernelExpansion:
    """The function for the classes seen so far with outputs for all: those of the others say no."""
    both = np.array([[-1.0, 1.0]]) if len(seen) == 2 else np.eye(len(seen))
    at = np.searchsorted(every, seen)
    coef = np.zeros((f.n_vectors, len(every)), dtype=f.coef.dtype)
    intercept = np.full(len(every), -1.0, dtype=f.coef.dtype)
    coef[:, at], intercept[at] = f.coef @ both, f.intercept @ both
    return replace(f, coef=coef, intercept=intercept)
