"""Score against size: an estimator at several numbers of vectors, cross-validated."""

from __future__ import annotations

import time
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed

from .adapters.models import as_reducible
from .budget import single_row_latency_us, stored_bytes
from .expansion import KernelExpansion
from .limits import announce
from .methods.progress import Shown
from .path import FullModel, VectorPath, within_one_error
from .progress import tell, working
from .rows import Array, sound

# What the estimators of the library call their size: a number to reach, or a limit.
SIZE_PARAMETERS = ("n_vectors", "max_vectors")
# Where scikit-learn's meta-estimators keep what they fitted.
_INNER_MODELS = ("best_estimator_", "regressor_")
# Sizes tried by default are the powers of two up to this one, and no more than there are training rows.
LARGEST_DEFAULT_SIZE = 256


def size_parameter(estimator: Any) -> str:
    """Name of the parameter that sets an estimator's number of vectors.

    It is the estimator's own `n_vectors` or `max_vectors`; failing that, the one of the estimators inside it
    (the steps of a `Pipeline`, what a search searches), written as `set_params` takes it.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If there is none, or if several are equally near.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from slimsvm import GreedyLSSVC
    >>> size_parameter(make_pipeline(StandardScaler(), GreedyLSSVC()))
    'greedylssvc__max_vectors'
    """
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] in SIZE_PARAMETERS]
    depth = min((name.count("__") for name in names), default=0)
    nearest = [name for name in names if name.count("__") == depth]
    kind = type(estimator).__name__
    if not nearest:
        raise ValueError(
            f"{kind} has no size to vary: neither it nor an estimator inside it has a parameter "
            f"{' or '.join(SIZE_PARAMETERS)}. For a kernel machine with as many vectors as it likes, such as SVC "
            f"or ZeroNormSVC, vary the size of its reduction: slimsvm.Reduced({kind}(...))."
        )
    if len(nearest) > 1:
        raise ValueError(f"{kind} has several sizes ({', '.join(nearest)}); a path varies one.")
    return nearest[0]


def fitted_expansion(model: Any) -> KernelExpansion:
    """Return the expansion of a fitted model: its own, or that of the last model inside it.

    Parameters
    ----------
    model : fitted estimator
        An estimator of the library or a kernel machine of scikit-learn, also as the last step of a `Pipeline` or
        inside a search.

    Returns
    -------
    KernelExpansion
    """
    inner = model
    while not hasattr(inner, "expansion_"):
        names = [name for name in _INNER_MODELS if hasattr(inner, name)]
        if hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        elif names:
            inner = getattr(inner, names[0])
        else:
            try:
                return as_reducible(inner).expansion.compact()
            except TypeError as error:
                raise TypeError(
                    f"{type(model).__name__} has no expansion_: its predictions are not those of one kernel "
                    "expansion, so its vectors, bytes and latency cannot be told."
                ) from error
    expansion: KernelExpansion = inner.expansion_
    return expansion


def vector_path(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sizes: Iterable[int] | None = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> VectorPath:
    """Cross-validate an estimator at several numbers of vectors.

    Parameters
    ----------
    estimator : estimator
        Any estimator of the library with a parameter `n_vectors` or `max_vectors`, also inside a `Pipeline`. It
        is cloned, never changed. For other kernel machines there is `Reduced(estimator)`.
    X : array-like or CSR of shape (n, d)
        Rows; for a precomputed kernel their square matrix of kernel values.
    y : array-like of shape (n,) or (n, n_targets)
        Labels or targets.
    sizes : iterable of int or None, default=None
        Numbers of vectors; None means 1, 2, 4, ..., at most 256 and at most the rows to learn from.
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds are shuffled folds, stratified for classifiers.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is the estimator's own score.
    n_jobs : int or None, default=None
        Processes for the fits; None means 1, -1 all processors. Only the latencies depend on it, as on
        everything else that runs on the machine: they are measured after the fits, one at a time.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and seeds estimators whose own `random_state` is None.
    verbose : int, default=0
        Whether to print how far it is, with the time left.

    Returns
    -------
    VectorPath

    Notes
    -----
    The sizes see the same folds and, fold by fold, the same random numbers. In a `Pipeline` the bytes are those of
    the expansion; the numbers of the steps before it, a scaler's for instance, are not counted.

    Examples
    --------
    >>> from slimsvm import GreedyLSSVC, vector_path
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(400, random_state=0)
    >>> path = vector_path(GreedyLSSVC(C=10.0), X, y, sizes=[2, 8, 32, 128], random_state=0)
    >>> path.chosen <= path.best, path.score_name
    (True, 'accuracy')
    """
    parameter = size_parameter(estimator)
    X, y = indexable(sound(X), y)
    rng = check_random_state(random_state)
    folds = folds_for(estimator, X, y, cv, rng)
    wanted = _checked_sizes(sizes, min(len(train) for train, _ in folds))
    settings = [{parameter: int(size)} for size in wanted]
    with Shown("vector_path", wanted=bool(verbose)) as shown, working("vector_path", shown.hear):
        fold_scores, expansions = _cross_validated(
            estimator, settings, X, y, folds, scoring, rng, n_jobs=n_jobs
        )
    costs = np.array(
        [[(f.n_vectors, stored_bytes(f), single_row_latency_us(f)) for f in fs] for fs in expansions],
        dtype=np.float64,
    )  # (n_sizes, n_folds, 3)
    scores, errors = _mean_and_error(fold_scores)
    return VectorPath(
        sizes=wanted,
        n_vectors=costs[:, :, 0].mean(axis=1),
        scores=scores,
        errors=errors,
        fold_scores=fold_scores,
        bytes=costs[:, :, 1].mean(axis=1),
        latency_us=np.median(costs[:, :, 2], axis=1),
        chosen=within_one_error(scores, errors),
        score_name=_score_name(estimator, scoring),
    )


def full_model(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> FullModel:
    """Cross-validate an estimator that has as many vectors as it likes, as `vector_path` does with sizes.

    Parameters
    ----------
    estimator : estimator
        A kernel machine of scikit-learn or of this library, also in a `Pipeline` or a search.
    X, y, cv, scoring, n_jobs, random_state
        As in `vector_path`; the same `random_state` gives the same folds.

    Returns
    -------
    FullModel
    """
    X, y = indexable(sound(X), y)
    rng = check_random_state(random_state)
    folds = folds_for(estimator, X, y, cv, rng)
    fold_scores, expansions = _cross_validated(estimator, [{}], X, y, folds, scoring, rng, n_jobs=n_jobs)
    (score,), (error,) = _mean_and_error(fold_scores)
    sizes = [f.n_vectors for f in expansions[0]]
    return FullModel(float(np.mean(sizes)), float(score), float(error))


def folds_for(
    estimator: Any, X: Any, y: Any, cv: Any = 5, random_state: Any = None
) -> list[tuple[Array, Array]]:
    """Training and test rows of each fold, to give several paths the same: `cv` takes the list.

    Parameters
    ----------
    estimator : estimator
        Classifiers get stratified folds.
    X, y, cv, random_state
        As in `vector_path`.

    Returns
    -------
    list of (train, test)
        Row numbers.
    """
    if isinstance(cv, Integral):
        stratified = is_classifier(estimator) and type_of_target(y) in ("binary", "multiclass")
        cv = (StratifiedKFold if stratified else KFold)(cv, shuffle=True, random_state=random_state)
    return list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))


def _mean_and_error(fold_scores: Array) -> tuple[Array, Array]:  # (n_sizes, n_folds)
    k = fold_scores.shape[1]
    spread = fold_scores.std(axis=1, ddof=1) if k > 1 else np.zeros(len(fold_scores))
    return fold_scores.mean(axis=1), spread / np.sqrt(k)


def _checked_sizes(sizes: Iterable[int] | None, n_rows: int) -> Array:
    """Ascending sizes without repetition."""
    if sizes is None:
        return 2 ** np.arange(int(np.log2(min(LARGEST_DEFAULT_SIZE, n_rows))) + 1)
    wanted = np.unique(np.asarray(list(sizes)))
    if wanted.size == 0 or wanted.dtype.kind not in "iu" or wanted[0] < 1:
        raise ValueError(f"sizes must be whole numbers of at least 1, got {sizes!r}.")
    return wanted


def _seeds(estimator: Any, rng: Any) -> dict[str, int]:
    """Seeds for every `random_state` that is None, so that a fit does not depend on its process."""
    return {
        name: int(rng.randint(2**31 - 1))
        for name, value in sorted(estimator.get_params().items(), key=lambda item: item[0])
        if value is None and name.rpartition("__")[2] == "random_state"
    }


def _cross_validated(
    estimator: Any,
    settings: list[dict[str, int]],
    X: Any,
    y: Any,
    folds: list[tuple[Array, Array]],
    scoring: Any,
    rng: Any,
    *,
    n_jobs: int | None,
) -> tuple[Array, list[list[KernelExpansion]]]:
    """Scores (n_settings, n_folds) and the expansions they are of."""
    scorer = check_scoring(estimator, scoring)
    seeds = [_seeds(estimator, rng) for _ in folds]
    fits = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit_and_score)(estimator, {**setting, **seed}, X, y, train, test, scorer)
        for setting in settings
        for (train, test), seed in zip(folds, seeds, strict=True)
    )
    total, results = len(settings) * len(folds), []
    tell("fitting models", 0, total)
    start = time.perf_counter()
    for result in fits:
        results.append(result)
        if len(results) == 1:
            each = (time.perf_counter() - start) / effective_n_jobs(n_jobs)
            announce(
                "vector_path",
                "fits",
                each,
                total,
                instead="give fewer sizes, folds or rows, or set n_jobs=-1",
            )
        tell("fitting models", len(results), total)
    rows = [results[start : start + len(folds)] for start in range(0, len(results), len(folds))]
    return np.array([[score for score, _ in row] for row in rows]), [[f for _, f in row] for row in rows]


def _fit_and_score(
    estimator: Any, parameters: dict[str, int], X: Any, y: Any, train: Array, test: Array, scorer: Any
) -> tuple[float, KernelExpansion]:
    model = clone(estimator).set_params(**parameters)
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    model.fit(X_train, y_train)
    return float(scorer(model, X_test, y_test)), fitted_expansion(model)


def _score_name(estimator: Any, scoring: Any) -> str:
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    if scoring is not None:
        return "score"
    return "accuracy" if is_classifier(estimator) else "R²"
