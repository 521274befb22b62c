"""One fit of `CompactSVC` or `CompactSVR`: budgets, scaling, the search, and the model it found."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ...budget import bytes_for, kernel_numbers, max_vectors_for, single_row_latency_us
from ...errors import BudgetError
from ...expansion import KernelExpansion
from ...kernels import RBF, Kernel, Laplacian, as_kernel, one_if_equal, resolve_gamma
from ...refinement import RbfModel
from ...rows import Array, Rows
from ...training import Trained, TrainingSet
from ...words import count
from ..base import Run
from .choice import KEEPS, PATH_FIELDS, Choice, EndedByCallback, Limits
from .machines import KINDS, Machine
from .moved import MovedVectors
from .observations import Observations, of_mean_one, points_of
from .search import LARGEST, choose
from .selected import RowModel, SelectedRows

# CSR rows are made dense, so that vectors can move, if they then take at most this.
DENSE_BYTES = 2**29
# metric="auto" tries a width for each of at most this many features: those of more, such as pixels, are learnt
# at a cost that has not paid.
LEARNT_FEATURES = 128
# A feature whose standard deviation is more than this many times what its quartiles say has gross outliers.
OUTLIERS = 10.0
# Features whose variances are within this factor are on one scale already.
SAME_SCALE = 2.0
# Standard deviations between the quartiles of a normal distribution.
QUARTILES = 1.349
# What a fit consists of, as callbacks see it.
STAGES = ("search of settings and sizes", "last refinement")
# A measured latency may vary by this share; models are kept that far below the limit.
LATENCY_MARGIN = 0.8


@dataclass
class CompactFit:
    """One fit of `CompactSVC` or `CompactSVR`: budgets, scaling, the search, and the model it found.

    Parameters
    ----------
    model : estimator
        Its parameters say what is given and what is searched.
    data : TrainingSet
        Labels, or targets of variance one.
    loss : SmoothLoss
    run : Run
    target_scale : pair
        What the outputs are multiplied by, and what is added to them, to be in the units of the targets.
    """

    model: Any
    data: TrainingSet
    loss: Any
    run: Run
    target_scale: tuple[Any, Any] = (1.0, 0.0)

    def __post_init__(self) -> None:
        # the penalties that are tried suit weights around one; `C` and `C_` count weights as they were given
        weight, self.weight_unit = of_mean_one(self.data.weight)
        self.data = replace(self.data, weight=weight)

    @cached_property
    def moved(self) -> bool:
        """Whether the vectors move."""
        return self.model.refine and self.model.kernel == "rbf" and _can_be_dense(self.data.X)

    def say(self, text: str) -> None:
        """Print what was found, if that is wanted."""
        self.run.say(text)

    def train(self) -> tuple[Trained, Choice]:
        """Search, then train at the size that was chosen."""
        rng, progress = self.run.rng, self.run.progress
        best: tuple[Any, int] | None = None  # model and iterations
        searching = True

        def report(text: str) -> None:
            self.say(text)
            # a callback may ask to stop once there is something to keep
            if progress.step(text) and (searching or best is not None):
                raise EndedByCallback

        progress.stage(STAGES[0])
        machine: Machine = self._moved() if self.moved else self._selected()
        keeps = KEEPS[self.model.on_interrupt]
        penalty = None if self.model.C is None else 1.0 / (self.model.C * self.weight_unit)
        looked_at = max(
            min(self.data.n, LARGEST), *(most for budget in self._budgets for most in budget.values())
        )
        limits = Limits(
            dict.fromkeys(KINDS, looked_at), self._given_width(), penalty, self._kinds(),
            wished=self.model.max_vectors is not None,
        )  # fmt: skip
        choice = choose(
            machine, limits, self._budgets, rng, n_threads=self.run.n_threads, report=report, keeps=keeps
        )
        searching = False
        self.say(f"chosen: {count(choice.sizes[-1], 'vector')}, widths {choice.setting.widths}")
        interrupted = progress.stage(STAGES[1]) or choice.interrupted
        try:
            for best in choice.machine.last(
                choice.setting, choice.sizes, rng, report, to_the_end=choice.to_the_end
            ):
                if interrupted:
                    break
                if progress.step(f"a model of {count(best[0].n_vectors, 'vector')}"):
                    raise EndedByCallback
        except keeps:
            if best is None:
                raise
            interrupted = True
        assert best is not None
        if interrupted:
            warnings.warn(
                f"{self.run.name} was interrupted; the model has {count(best[0].n_vectors, 'vector')}, chosen by "
                "what was known by then. Fit again without interruption for the best one.",
                ConvergenceWarning,
                stacklevel=6,
            )
        if self.data.classify and not interrupted:
            self._warn_of_one_class(choice.machine.outputs(best[0], np.arange(self.data.n)))
        chosen_C = 1.0 / (choice.setting.penalty * self.weight_unit)
        extras = {"C_": chosen_C, "path_": np.array(choice.table, dtype=PATH_FIELDS)}
        expansion, support = self._expansion(best[0], choice)
        return Trained(expansion, support, max(1, int(best[1])), extras=extras), choice

    def _warn_of_one_class(self, outputs: Array) -> None:  # (n, k)
        """Say so if every row is given the same class."""
        given = outputs[:, 0] > 0 if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        if (given == given[0]).all():
            warnings.warn(
                f"{self.run.name} predicts one class only, for all rows it was trained on. If the others matter, "
                'class_weight="balanced" lets every class count alike, in training and in the search.',
                UserWarning,
                stacklevel=7,
            )

    def _kinds(self) -> tuple[str, ...]:
        """Kinds of widths to try."""
        if not self.moved:
            return ("fixed",)
        if self.model.metric == "per_feature":
            return ("per_feature",)
        one = "one" if self.model.gamma is None else "fixed"
        both = self.model.metric == "auto" and 1 < self.data.X.shape[1] <= LEARNT_FEATURES
        return (one, "per_feature") if both else (one,)

    def _given_width(self) -> float | None:
        """The width that `gamma` names; one width for each feature is the scaling's, and the factor on it 1."""
        gamma = self.model.gamma
        if gamma is None:
            return None
        if np.ndim(gamma) == 1:
            return 1.0
        # on scaled inputs "scale" is "auto"
        return float(resolve_gamma("auto", self.data.X) if isinstance(gamma, str) else gamma)

    def _given_widths(self) -> Array | None:  # (d,)
        """The widths of the features that `gamma` names, if it does."""
        if np.ndim(self.model.gamma) != 1:
            return None
        given = np.asarray(resolve_gamma(self.model.gamma, self.data.X))
        if len(given) != self.data.X.shape[1]:
            raise ValueError(f"gamma has {len(given)} entries, but X has {self.data.X.shape[1]} features.")
        return given

    @cached_property
    def spread(self) -> Array:  # (d,)
        """What the features are divided by."""
        if not self.model.scale:
            return np.ones(self.data.X.shape[1])
        return _spread(self._dense if self.moved else self.data.X, self.data.weight)

    @cached_property
    def _dense(self) -> Array:  # (n, d)
        X = self.data.X.toarray() if sparse.issparse(self.data.X) else self.data.X
        return np.ascontiguousarray(X, dtype=np.float64)

    @cached_property
    def _centre(self) -> Array:  # (d,)
        centre: Array = (self.data.weight @ self._dense) / self.data.weight.sum()
        return centre

    def _moved(self) -> MovedVectors:
        """Vectors that move, on inputs that are centred and scaled."""
        scaled = (self._dense - self._centre) / self.spread
        return MovedVectors(self._observations(scaled), self._shapes, self.run.n_threads)

    @cached_property
    def _shapes(self) -> list[Array]:  # (d,) each
        """Scalings to choose from where vectors move: the width of each feature, relative to its spread."""
        given = self._given_widths()
        if given is not None:
            return [np.maximum(given, 1e-12 * given.max())]
        own = np.ones(len(self.spread))
        if not self.model.scale:
            return [own]
        raw = np.maximum(np.square(self.spread), 1e-12 * np.square(self.spread).max())
        all_by_one = raw / raw.mean()
        # ridge regression decides; features on one scale need one number
        return [own, all_by_one] if raw.max() > SAME_SCALE * raw.min() else [all_by_one]

    def _selected(self) -> SelectedRows:
        """Vectors among the training rows."""
        named = self.model.kernel if isinstance(self.model.kernel, str) else ""
        return SelectedRows(
            self._observations(self.data.X),
            self._kernel_of,
            has_width=named in ("rbf", "laplacian", "poly", "sigmoid"),
            n_features=self.data.X.shape[1],
            n_threads=self.run.n_threads,
        )

    def _observations(self, X: Rows) -> Observations:
        data = self.data
        point = np.arange(data.n) if data.distinct else points_of(data.X)
        return Observations(X, data.Y, data.weight, point, data.classify, self.loss)

    @cached_property
    def _shape(self) -> Array | None:  # (d,)
        """Width of each feature relative to that of the setting, in the units of X."""
        if self.model.kernel not in ("rbf", "laplacian"):
            return None
        shape = 1.0 / (self.spread if self.model.kernel == "laplacian" else np.square(self.spread))
        given = self._given_widths()
        return shape if given is None else shape * given

    def _kernel_of(self, width: float) -> Kernel:
        """The kernel of training rows at a width."""
        if self._shape is not None:
            widths = one_if_equal(width * self._shape)
            return RBF(widths) if self.model.kernel == "rbf" else Laplacian(widths)
        return as_kernel(self.model.kernel, width, self.model.degree, self.model.coef0)

    @cached_property
    def _budgets(self) -> list[dict[str, int]]:
        """For each scaling the most vectors that the budgets allow, by kind of widths."""
        model, dtype = self.model, self.data.X.dtype
        n, d = self.data.X.shape
        largest = min(n, LARGEST if model.max_vectors is None else model.max_vectors)
        numbers = [self._kernel_numbers(shape) for shape in (self._shapes if self.moved else [None])]
        budgets = [dict.fromkeys(KINDS, largest) for _ in numbers]
        if model.max_bytes is not None:
            d, k = 1 if self.data.precomputed else d, self.data.Y.shape[1]
            shape = {"n_features": d, "n_outputs": k, "number": dtype.name}
            budgets = [
                {
                    kind: min(largest, max_vectors_for(bytes=model.max_bytes, n_widths=stored[kind], **shape))
                    for kind in KINDS
                }
                for stored in numbers
            ]
            if not any(budget[kind] for budget in budgets for kind in self._kinds()):
                least = min(stored[kind] for stored in numbers for kind in self._kinds())
                raise BudgetError(
                    f"max_bytes={model.max_bytes} is too small: a model of one vector with {count(d, 'feature')} and "
                    f"{count(k, 'output')} takes {bytes_for(1, n_widths=least, **shape)} bytes in "
                    f"{dtype.name}. Raise it, choose fewer features, or give X as float32."
                )
        if model.max_latency_us is not None:
            fastest = self._fastest(max(budget[kind] for budget in budgets for kind in KINDS))
            budgets = [{kind: min(most, fastest) for kind, most in budget.items()} for budget in budgets]
        return budgets

    def _kernel_numbers(self, shape: Array | None) -> dict[str, int]:
        """How many numbers the kernel of a model takes, by kind of widths; `shape` is the scaling of moved vectors."""
        if shape is None:
            return dict.fromkeys(KINDS, kernel_numbers(self._kernel_of(1.0)))
        in_proportion = np.size(one_if_equal(shape / np.square(self.spread)))
        return {"fixed": in_proportion, "one": in_proportion, "per_feature": len(shape)}

    def _widest_kernel(self, d: int) -> Kernel:
        """The kernel with as many widths as it may have for d features."""
        model = self.model
        per_feature = isinstance(model.kernel, str) and model.kernel in ("rbf", "laplacian")
        return as_kernel(model.kernel, (1.0,) * d if per_feature else 1.0, model.degree, model.coef0)

    def _fastest(self, largest: int) -> int:
        """The most vectors whose single-row latency, measured here, stays below the limit.

        The models measured have training rows as vectors and the estimator's kernel; the row is a training row.
        """
        model, X, dtype = self.model, self.data.X, self.data.X.dtype
        wanted = LATENCY_MARGIN * model.max_latency_us
        d, k = X.shape[1], self.data.Y.shape[1]
        kernel = self._widest_kernel(d)
        row = X[:1]

        def latency(m: int) -> float:
            vectors: Rows = np.arange(m)[:, None] if self.data.precomputed else X[:m]
            if self.moved and sparse.issparse(vectors):
                vectors = vectors.toarray()
            coef = np.ones((m, k), dtype=dtype)
            expansion = KernelExpansion(kernel, vectors, coef, np.zeros(k, dtype=dtype))
            return single_row_latency_us(expansion, row=row)

        if latency(largest) <= wanted:
            return largest
        least = latency(1)
        if least > wanted:
            raise BudgetError(
                f"max_latency_us={model.max_latency_us:g} is too small: one row of {count(d, 'feature')} takes "
                f"{least / LATENCY_MARGIN:.3g} microseconds on this machine with a single vector. Raise it to at "
                "least that."
            )
        low, high = 1, largest
        while high - low > max(1, low // 16):
            middle = (low + high) // 2
            low, high = (middle, high) if latency(middle) <= wanted else (low, middle)
        return low

    def _expansion(self, found: Any, choice: Choice) -> tuple[KernelExpansion, Array | None]:
        """What was found, in the units of X and of the targets, and the rows its vectors were."""
        unit, centre = self.target_scale
        coef, intercept = found.coef * unit, found.intercept * unit + centre
        if isinstance(found, RbfModel):
            dtype = self.data.X.dtype
            widths = one_if_equal(np.exp(found.log_widths) / np.square(self.spread))
            vectors = (found.vectors * self.spread + self._centre).astype(dtype)
            moved = RBF(widths)
            expansion = KernelExpansion(moved, vectors, coef.astype(dtype), intercept.astype(dtype))
            return expansion.compact(), None
        assert isinstance(found, RowModel)
        trained = Trained.on_rows(self.data, found.kernel, coef, intercept, chosen=found.rows)
        return trained.expansion, trained.support


def _can_be_dense(X: Rows) -> bool:
    return not sparse.issparse(X) or 8 * X.shape[0] * X.shape[1] <= DENSE_BYTES


def _spread(X: Rows, weight: Array) -> Array:  # (d,)
    """Standard deviation of each feature, or what its quartiles say where there are gross outliers."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        X64 = X.astype(np.float64)
        mean = np.asarray(share @ X64).ravel()
        spread = np.sqrt(np.maximum(np.asarray(share @ X64.power(2)).ravel() - np.square(mean), 0.0))
    else:
        X64 = np.asarray(X, dtype=np.float64)
        mean = share @ X64
        spread = np.sqrt(share @ np.square(X64 - mean))
        low, high = np.quantile(X64, [0.25, 0.75], axis=0)
        robust = (high - low) / QUARTILES
        spread = np.where((robust > 0) & (spread > OUTLIERS * robust), robust, spread)
    size = np.abs(mean)
    return np.where(spread > 1e-12 * np.maximum(size, 1e-300), spread, 1.0)
