"""Reduce a whole model: the one call."""

from __future__ import annotations

import copy
import time
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..estimators.base import n_threads
from ..expansion import KernelExpansion
from ..kernels import Precomputed, is_positive_definite
from ..problem import DENSE_LIMIT_BYTES, _gigabytes
from ..rows import Array, Rows, as_rows
from .adapters import Reducible, as_reducible
from .exact import simplify
from .prune import CRITERIA, RIDGE, prune
from .task import Margins, Reduction, Targets, Task
from .watch import HELD_BYTES, EveryStep, NowAndThen, with_coef

METHODS = ("prune", "exact", "refine")


@validate_params(
    {
        "method": [StrOptions(set(METHODS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "max_loss": [Interval(Real, 0, None, closed="left")],
        "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)  # type: ignore[untyped-decorator]
def reduce(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: str = "prune",
    criterion: str = "damage",
    max_loss: float = 0.025,
    max_vectors: int | None = None,
    scoring: Any = None,
    refit: bool = False,
    ridge: float = RIDGE,
    tol: float | None = None,
    max_iter: int = 200,
    n_jobs: int | None = None,
) -> Any:
    r"""Make a fitted kernel model smaller: the same interface with fewer vectors.

    Parameters
    ----------
    model : fitted estimator or KernelExpansion
        `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`, `KernelRidge`, `KernelPCA` or
        `GaussianProcessRegressor` of scikit-learn, a `Pipeline` that ends in one of these, any estimator of
        this library, or any `KernelExpansion`. It is not changed.
    X : array-like or CSR of shape (n, d) or None
        Rows on which the loss is measured, best the training rows. None means the model's own vectors. A
        model with a callable kernel needs its training rows, one with a precomputed kernel the square
        matrix of kernel values it was fitted to.
    y : array-like of shape (n,) or (n, n_targets) or None
        Labels or targets of these rows. None means what the model itself says about them. Models without
        targets do not use it.
    method : {"prune", "exact", "refine"}, default="prune"
        "prune" removes vectors one by one and hands their coefficients to the rest; "exact" removes
        those that are linear combinations of others, which changes no output beyond rounding; "refine"
        goes on from pruning to still fewer vectors, which need not be among the original ones.
    criterion : {"damage", "redundancy"}, default="damage"
        Which vector goes next: "damage" the one whose removal changes the function least, "redundancy" the
        one the others replace best whatever its coefficient, as in the paper.
    max_loss : float, default=0.025
        How much the loss may rise: the mean hinge loss for classifiers (eq. 9), the mean squared error
        over the variance of the target for regression, and for models without targets the mean squared
        change over the variance of the output. With `scoring`, how much the score may fall.
        Not used when `max_vectors` is given.
    max_vectors : int or None, default=None
        Reduce to this number of vectors, whatever the loss.
    scoring : str, callable or None, default=None
        Stop by this score on X and y instead of by the loss; as in scikit-learn.
    refit : bool, default=False
        Whether to fit the coefficients to X and y again at the end, with the vectors as they are.
    ridge : float, default=1e-3
        The paper's lambda: added to the diagonal of the kernel matrix, relative to its mean.
    tol : float or None, default=None
        For "exact": the share of k(s, s) that counts as rounding; None means that of the machine.
    max_iter : int, default=200
        For "refine" and `refit`: limit of the optimiser's iterations at each size.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Returns
    -------
    fitted estimator
        With the methods of the model, `expansion_`, `n_vectors_` and the report `reduction_`. A pipeline
        gives a pipeline, an estimator of this library one of its own class, a `KernelExpansion` a
        transformer. Probabilities and variances are not kept.

    See Also
    --------
    Reduced : The same as an estimator, for pipelines and searches.

    Notes
    -----
    Equal vectors are merged first. The paper's alpha is the column of `dual_coef_`, its lambda is `ridge` and
    its tau is `max_loss`. Reducing removes vectors from all outputs together: a multi-class `SVC` stays on
    one set of vectors.

    References
    ----------
    Kobayashi and Otsu, Efficient reduction of support vectors in kernel-based methods (2009),
    doi:10.1109/ICIP.2009.5414170.

    Downs, Gates and Masters, Exact simplification of support vector solutions (2001), Journal of Machine
    Learning Research 2, 293-297.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from slimsvm import reduce
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(400, random_state=0)
    >>> svc = SVC(C=10.0).fit(X, y)
    >>> slim = reduce(svc, X, y)
    >>> slim.n_vectors_ < len(svc.support_) / 2, slim.score(X, y) > svc.score(X, y) - 0.02
    (True, True)
    """
    start = time.perf_counter()
    options = {
        "method": method, "criterion": criterion, "max_loss": float(max_loss), "max_vectors": max_vectors,
        "scoring": scoring, "refit": refit, "ridge": float(ridge), "tol": tol, "max_iter": max_iter,
        "n_threads": n_threads(n_jobs),
    }  # fmt: skip
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        *before, (name, last) = model.steps
        if X is not None:
            X = model[:-1].transform(X) if before else X
        slim, report = _reduce(last, X, y, **options)
        result = Pipeline([*copy.deepcopy(before), (name, slim)])
    else:
        slim, report = _reduce(model, X, y, **options)
        result = slim
    slim.reduction_ = result.reduction_ = report.with_time(time.perf_counter() - start)
    return result


def _reduce(
    model: Any,
    X: Any,
    y: Any,
    *,
    method: str,
    criterion: str,
    max_loss: float,
    max_vectors: int | None,
    scoring: Any,
    refit: bool,
    ridge: float,
    tol: float | None,
    max_iter: int,
    n_threads: int,
) -> tuple[Any, Reduction]:
    reducible = as_reducible(model, X)
    whole = reducible.expansion
    original = reducible.build(whole, np.arange(whole.n_vectors))
    X = _checked_rows(original, whole, X)
    if y is not None:
        check_consistent_length(X, y)
    expansion, distinct = whole.compact_with_rows()
    if expansion.n_vectors == 0:  # a constant function
        expansion, distinct = whole.take([0]), np.array([0])
    K = _vector_gram(expansion, X, n_threads)
    task, outputs = _task(reducible, original, X, y, n_threads)
    n_keep = 1 if max_vectors is None else min(max_vectors, expansion.n_vectors)

    if method == "exact":
        pruned = simplify(
            K, expansion.coef, tol=tol, positive_definite=is_positive_definite(expansion.kernel)
        )
        watch: Any = None
    elif max_vectors is not None:
        watch = None
        pruned = prune(K, expansion.coef, n_keep=n_keep, criterion=criterion, ridge=ridge, scale=task.scale)
    else:
        watch = _watch(reducible, expansion, distinct, X, y, task, outputs, max_loss, scoring, n_threads)
        pruned = prune(K, expansion.coef, criterion=criterion, ridge=ridge, scale=task.scale, watch=watch)
    smaller = with_coef(expansion, pruned.rows, pruned.coef)
    if watch is None:
        sizes = [whole.n_vectors, smaller.n_vectors]
        values = [task.loss(outputs), task.loss(smaller(X, n_threads=n_threads))]
        measure = task.name
    else:
        sizes, values = watch.sizes, watch.values
        measure = task.name if scoring is None else "score"
    kept: Array | None = distinct[pruned.rows]
    slim = reducible.build(smaller, kept)
    report = Reduction(
        method, measure, whole.n_vectors, smaller.n_vectors, np.array(sizes), np.array(values),
        pruned.removed, 0.0,
    )  # fmt: skip
    return slim, report


def _checked_rows(original: Any, expansion: KernelExpansion, X: Any) -> Rows:
    """The rows on which the model is judged."""
    precomputed = isinstance(expansion.kernel, Precomputed)
    if X is None:
        if precomputed:
            raise ValueError(
                "X is needed for a model with a precomputed kernel: give the square matrix of kernel "
                "values it was fitted to."
            )
        return expansion.vectors
    if hasattr(original, "n_features_in_"):
        X = validate_data(
            original, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
    X = as_rows(X)
    if precomputed and (X.shape[0] != X.shape[1] or X.shape[0] <= int(expansion.vectors.max())):
        raise ValueError(
            "X must be the square matrix of kernel values the model was fitted to, because its kernel is "
            f"precomputed; got shape {X.shape}."
        )
    if not precomputed and X.shape[1] != expansion.vectors.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but the model has {expansion.vectors.shape[1]}.")
    return X


def _vector_gram(expansion: KernelExpansion, X: Rows, n_threads: int) -> Array:  # (m, m) float64
    m = expansion.n_vectors
    if 8 * m * m > DENSE_LIMIT_BYTES:
        raise MemoryError(
            f"the kernel matrix of the {m} vectors needs {_gigabytes(8.0 * m * m)}, above the limit of "
            f"{_gigabytes(DENSE_LIMIT_BYTES)}; train on fewer rows, or reduce models of parts of them."
        )
    if isinstance(expansion.kernel, Precomputed):
        rows = X[expansion.vectors.ravel()].astype(np.float64)
        K = expansion.kernel(rows, expansion.vectors)
    else:
        vectors = expansion.vectors.astype(np.float64)
        K = expansion.kernel(vectors, vectors, n_threads=n_threads)
    if not np.isfinite(K).all():
        raise ValueError("model: some kernel values between its vectors are not finite.")
    return np.ascontiguousarray(K)


def _task(reducible: Reducible, original: Any, X: Rows, y: Any, n_threads: int) -> tuple[Task, Array]:
    """How the outputs are judged, and what the model says now."""
    outputs = reducible.expansion(X, n_threads=n_threads).astype(np.float64)
    if reducible.signs is not None:
        if y is not None:
            labels = column_or_1d(y, warn=True)
        elif X is reducible.expansion.vectors and reducible.vector_labels is not None:
            labels = reducible.vector_labels
        else:
            labels = original.predict(X)
        return Margins(reducible.signs(labels)), outputs
    if reducible.has_targets and y is not None:
        values = np.asarray(y, dtype=np.float64).reshape(len(outputs), -1)
        if values.shape != outputs.shape:
            raise ValueError(
                f"y must have {outputs.shape[1]} targets, as the model has, got {values.shape[1]}."
            )
        return Targets.of(values), outputs
    return Targets.of(outputs), outputs


def _watch(
    reducible: Reducible,
    expansion: KernelExpansion,
    distinct: Array,
    X: Rows,
    y: Any,
    task: Task,
    outputs: Array,
    max_loss: float,
    scoring: Any,
    n_threads: int,
) -> EveryStep | NowAndThen:
    if scoring is not None:
        if y is None and (reducible.signs is not None or reducible.has_targets):
            raise ValueError("y is needed for scoring; give X and y, best rows kept for validation.")
        scorer = check_scoring(reducible.build(expansion, distinct), scoring=scoring)

        def score(smaller: KernelExpansion, rows: Array | None) -> float:
            kept = None if rows is None else distinct[rows]
            return float(scorer(reducible.build(smaller, kept), X, y))

        limit = score(expansion, np.arange(expansion.n_vectors)) - max_loss
        return NowAndThen(expansion, score, lambda value: value < limit)
    limit = task.loss(outputs) + max_loss
    if 8 * X.shape[0] * expansion.n_vectors <= HELD_BYTES:
        K = expansion.kernel(X, expansion.vectors, n_threads=n_threads).astype(np.float64)
        return EveryStep(K, outputs, task, limit)

    def loss(smaller: KernelExpansion, rows: Array | None) -> float:
        return task.loss(smaller(X, n_threads=n_threads))

    return NowAndThen(expansion, loss, lambda value: value > limit)
