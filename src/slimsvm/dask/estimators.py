"""The estimators that fit in chunks, on Dask collections."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Self

import dask.array as da
import numpy as np
from dask.delayed import delayed
from sklearn.base import is_classifier

from ..methods.chunked import FitsInChunks
from ..methods.compact.estimators import CompactSVC, CompactSVR
from ..methods.empirical.estimators import EmpiricalSVC
from ..methods.fixed_size.estimators import FixedSizeLSSVC, FixedSizeLSSVR
from ..methods.greedy.estimators import GreedyLSSVC, GreedyLSSVR
from ..methods.pursuit.matching import MatchingPursuitSVC, MatchingPursuitSVR
from ..rows import Array
from .collections import block_lengths, chunks_of, is_collection, known_bytes, row_blocks
from .passes import DaskPasses

# Parameters that the estimators have beside those of the ones they are named after.
OWN = {"client": None, "deadline": None}


class OnDask(FitsInChunks):
    """What turns an estimator into one for Dask collections."""

    client: Any
    deadline: float | None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Dask arrays and data frames in their blocks, also of unknown length; anything else as ever."""
        if not is_collection(X):
            return super()._fit(X, y, sample_weight)
        passes = DaskPasses(
            chunks_of(X, y, sample_weight), classify=is_classifier(self), client=self.client, deadline=self.deadline,
            n_bytes=known_bytes(X),
        )  # fmt: skip
        return self._fit_passes(passes)

    def predict(self, X: Any) -> Any:
        """Answers for the rows of X: a dask array, computed when it is asked for, block by block."""
        return self._lazily("predict", X)

    def to_local(self) -> Any:
        """The fitted estimator of this name without "Dask": it needs no Dask, and can be saved and exported."""
        kind = local_of(type(self))
        names = kind._get_param_names()
        local = kind(**{name: value for name, value in self.get_params(deep=False).items() if name in names})
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        vars(local).update(fitted)
        return local

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy or R^2, as scikit-learn has it, of rows in blocks."""
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))
        answers = np.asarray(self.predict(X).compute())
        parts = [
            part if part is None or not is_collection(part) else part.compute() for part in (y, sample_weight)
        ]
        return float(_scored(self, answers, *(None if part is None else np.asarray(part) for part in parts)))

    def _lazily(self, method: str, X: Any) -> Any:
        """What a method of the local model gives, for each block when it is asked for."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        blocks = row_blocks(X)
        lengths = block_lengths(X) or (np.nan,) * len(blocks)
        example = _no_answers(local, method)
        model = delayed(local, pure=False, traverse=False)
        parts = [
            da.from_delayed(
                delayed(_answers, pure=False)(model, method, block),
                (length, *example.shape[1:]),
                example.dtype,
            )
            for block, length in zip(blocks, lengths, strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)


class ClassifiesOnDask(OnDask):
    """The answers of a classifier."""

    def decision_function(self, X: Any) -> Any:
        """Outputs for the rows of X: a dask array, computed when it is asked for."""
        return self._lazily("decision_function", X)


class ProbabilitiesOnDask(ClassifiesOnDask):
    """The answers of a classifier with probabilities."""

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class for the rows of X: a dask array, computed when it is asked for."""
        return self._lazily("predict_proba", X)


def _answers(model: Any, method: str, X: Any) -> Array:
    """What a method gives for a block, also for one without rows."""
    if X.shape[0]:
        found: Array = np.asarray(getattr(model, method)(X))
        return found
    return _no_answers(model, method)


def _no_answers(model: Any, method: str) -> Array:
    """What a method gives for no rows, which scikit-learn's checks would not let pass."""
    nameless = copy.copy(model)
    vars(nameless).pop("feature_names_in_", None)
    return np.asarray(getattr(nameless, method)(np.zeros((1, model.n_features_in_))))[:0]


def _scored(model: Any, answers: Array, y: Array | None, sample_weight: Array | None) -> float:
    from sklearn.metrics import accuracy_score, r2_score

    score = accuracy_score if is_classifier(model) else r2_score
    return float(score(y, answers, sample_weight=sample_weight))


def local_of(kind: type[Any]) -> Any:
    """The estimator that one for Dask is named after."""
    return next(base for base in kind.__mro__ if base.__name__ == kind.__name__.removeprefix("Dask"))


def _made(local: type[Any], how: type[OnDask]) -> Any:
    """The class for Dask collections of an estimator: its parameters and those in `OWN`."""

    def __init__(self: Any, **parameters: Any) -> None:
        own = {name: parameters.pop(name, value) for name, value in OWN.items()}
        local.__init__(self, **parameters)
        vars(self).update(own)

    given = inspect.signature(local.__init__)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in OWN.items()
    ]
    __init__.__signature__ = given.replace(parameters=[*given.parameters.values(), *more])  # type: ignore[attr-defined]
    doc = f"""`{local.__name__}` for Dask collections.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        None takes the default client, and Dask's threads in this process where there is none.
    deadline : float or None, default=None
        Seconds after which a fit is given up.
    others
        As in `{local.__name__}`.

    Attributes
    ----------
    As in `{local.__name__}`; `to_local()` is that estimator.
    """
    constraints = {**local._parameter_constraints, **{name: "no_validation" for name in OWN}}
    parts = {
        "__init__": __init__,
        "__doc__": doc,
        "__module__": __name__,
        "_parameter_constraints": constraints,
    }
    return type(f"Dask{local.__name__}", (how, local), parts)


DaskCompactSVC = _made(CompactSVC, ProbabilitiesOnDask)
DaskCompactSVR = _made(CompactSVR, OnDask)
DaskEmpiricalSVC = _made(EmpiricalSVC, ClassifiesOnDask)
DaskFixedSizeLSSVC = _made(FixedSizeLSSVC, ClassifiesOnDask)
DaskFixedSizeLSSVR = _made(FixedSizeLSSVR, OnDask)
DaskGreedyLSSVC = _made(GreedyLSSVC, ClassifiesOnDask)
DaskGreedyLSSVR = _made(GreedyLSSVR, OnDask)
DaskMatchingPursuitSVC = _made(MatchingPursuitSVC, ClassifiesOnDask)
DaskMatchingPursuitSVR = _made(MatchingPursuitSVR, OnDask)
