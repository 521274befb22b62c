"""Reduce a whole model: the one call."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted

from ..expansion import KernelExpansion
from ..kernels import is_positive_definite
from ..reduction.exact import simplify
from ..reduction.prune import CRITERIA, RIDGE, Block, Pruned, prune
from ..reduction.refine import fitting, refine, smallest
from ..reduction.task import Reduction
from ..reduction.watch import HELD_BYTES, EveryStep, NowAndThen, with_coef
from ..refinement import has_gradient
from ..rows import Array
from ..threads import n_threads
from .start import Start

METHODS = ("prune", "exact", "refine")


@dataclass(frozen=True)
class Options:
    """The options of `reduce`, which documents them."""

    method: str
    criterion: str
    max_loss: float
    max_vectors: int | None
    scoring: Any
    refit: bool
    ridge: float
    rank_tol: float | None
    max_iter: int


@validate_params(
    {
        "method": [StrOptions(set(METHODS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "max_loss": [Interval(Real, 0, None, closed="left")],
        "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "rank_tol": [Interval(Real, 0, None, closed="left"), None],
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
    sample_weight: Any = None,
    method: str = "prune",
    criterion: str = "damage",
    max_loss: float = 0.025,
    max_vectors: int | None = None,
    scoring: Any = None,
    refit: bool = False,
    ridge: float = RIDGE,
    rank_tol: float | None = None,
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
    sample_weight : array-like of shape (n,) or None, default=None
        How much each of these rows counts in the loss.
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
        Whether to fit the coefficients to X and y again at the end, with the vectors as they are. A good
        idea with `max_vectors`, if X and y are the training data (or None).
    ridge : float, default=1e-5
        The paper's lambda: added to the diagonal of the kernel matrix, relative to its mean.
    rank_tol : float or None, default=None
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
    Equal vectors are merged first. The paper's alpha is a row of `dual_coef_`, its tau is `max_loss` and its
    lambda is `ridge` (the paper takes 1e-3, which loses more of the function at each step). A vector leaves
    all outputs at once: a multi-class `SVC` stays on one set of vectors.

    References
    ----------
    Kobayashi and Otsu, Efficient reduction of support vectors in kernel-based methods, 16th IEEE
    International Conference on Image Processing (2009).

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
    options = Options(
        method, criterion, float(max_loss), max_vectors, scoring, refit, float(ridge), rank_tol, max_iter
    )
    threads = n_threads(n_jobs)
    if hasattr(model, "reduction_") and hasattr(model, "estimator_"):  # Reduced: what it holds is the model
        model = model.estimator_
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        *before, (name, last) = model.steps
        if X is not None:
            X = model[:-1].transform(X) if before else X
        slim, report = _reduce(Start.of(last, X, y, sample_weight, threads), options)
        result = Pipeline([*copy.deepcopy(before), (name, slim)])
    else:
        slim, report = _reduce(Start.of(model, X, y, sample_weight, threads), options)
        result = slim
    slim.reduction_ = result.reduction_ = report.with_time(time.perf_counter() - start)
    return result


def _reduce(start: Start, options: Options) -> tuple[Any, Reduction]:
    """Return the smaller model and the report."""
    run = {"prune": _by_pruning, "exact": _by_simplifying, "refine": _by_refining}[options.method]
    whole = start
    if start.expansion.n_vectors == 0:
        run = _as_it_is
    elif options.method != "exact":
        start = start.pruned_to_fit(criterion=options.criterion, ridge=options.ridge)
        _check_parts(whole, start, options)
    smaller, rows, removed, sizes, values = run(start, options)
    if options.refit and options.method != "refine" and smaller.n_vectors:
        Kzz = start.gram(smaller)
        norms = np.einsum("jo,jo->o", smaller.coef, Kzz @ smaller.coef)
        target = fitting(start.reducible.expansion.coef, norms, start.X, start.outputs, start.task)
        smaller = target.refit(smaller, Kzz, max_iter=options.max_iter, n_threads=start.n_threads)
    if options.scoring is None or not len(sizes):
        measure = start.task.name
        if not len(sizes):
            sizes, values = [whole.expansion.n_vectors], [start.task.loss(start.outputs)]
        sizes, values = [*sizes, smaller.n_vectors], [*values, start.loss(smaller, rows)]
    else:
        measure = "score"
    report = Reduction(
        options.method, measure, start.reducible.expansion.n_vectors, smaller.n_vectors,
        np.array(sizes), np.array(values), _removed(whole, start, removed), 0.0,
    )  # fmt: skip
    return start.build(smaller, rows), report


def _check_parts(whole: Start, start: Start, options: Options) -> None:
    """A model pruned in parts to fit must still be good enough to go on from."""
    if start is whole or options.max_vectors is not None:
        return
    measure, limit = _measure(start, options)
    if measure(start.expansion, None) > limit:
        raise MemoryError(
            "the model has more vectors than can be pruned as one, and pruning it in parts to "
            f"{start.expansion.n_vectors} already exceeds max_loss; raise max_loss, or give max_vectors."
        )


def _removed(whole: Start, start: Start, removed: Array) -> Array:
    """Numbers in the model of the vectors removed: those that went to make it fit first, then in order."""
    before = np.setdiff1d(whole.distinct, start.distinct)
    return np.concatenate((before, start.distinct[removed]))


Outcome = tuple[KernelExpansion, Array | None, Array, list[int], list[float]]


def _as_it_is(start: Start, options: Options) -> Outcome:
    everything = np.arange(start.expansion.n_vectors)
    return start.expansion, everything, np.empty(0, dtype=np.intp), [], []


def _by_simplifying(start: Start, options: Options) -> Outcome:
    expansion = start.expansion
    kept = simplify(
        start.gram(),
        expansion.coef,
        tol=options.rank_tol,
        positive_definite=is_positive_definite(expansion.kernel),
    )
    return with_coef(expansion, kept.rows, kept.coef), kept.rows, kept.removed, [], []


def _by_pruning(start: Start, options: Options) -> Outcome:
    expansion = start.expansion
    watch = None if options.max_vectors is not None else _watch(start, options)
    pruned = _prune(start, options, 1 if options.max_vectors is None else options.max_vectors, watch)
    sizes, values = ([], []) if watch is None else (watch.sizes, watch.values)
    return with_coef(expansion, pruned.rows, pruned.coef), pruned.rows, pruned.removed, sizes, values


def _prune(start: Start, options: Options, n_keep: int, watch: Any) -> Pruned:
    return prune(
        start.gram(), start.expansion.coef, n_keep=n_keep, criterion=options.criterion,
        ridge=options.ridge, scale=start.task.scale, watch=watch,
    )  # fmt: skip


def _by_refining(start: Start, options: Options) -> Outcome:
    """Prune to the end for the order in which vectors go; refine what is left at the sizes tried."""
    expansion = start.expansion
    if not (has_gradient(expansion.kernel) and is_positive_definite(expansion.kernel)):
        raise ValueError(
            "method='refine' moves the vectors and needs a positive definite kernel with a known derivative: "
            f"'rbf', 'linear' or 'poly' with coef0 >= 0, not {expansion.kernel!r}; use method='prune'."
        )
    if options.max_vectors is not None and options.max_vectors >= expansion.n_vectors:
        return _as_it_is(start, options)
    stopped: Pruned | None = None
    watch = None if options.max_vectors is not None else _watch(start, options)

    def note(block: Block) -> None:
        nonlocal stopped
        if watch is not None and stopped is None:
            stopped = watch(block)

    last = _prune(start, options, 1, note)
    order = np.concatenate((last.removed, last.rows))
    norms = np.square(expansion.rkhs_norm())
    target = fitting(start.reducible.expansion.coef, norms, start.X, start.outputs, start.task)

    def refined(size: int) -> KernelExpansion:
        return refine(
            expansion, lambda m: np.sort(order[-m:]), target, size, start.task.scale,
            max_iter=options.max_iter,
        )  # fmt: skip

    if watch is None:
        assert options.max_vectors is not None
        return refined(options.max_vectors), None, order[: -options.max_vectors], [], []
    pruned = stopped if stopped is not None else last
    measure, limit = _measure(start, options)
    best, sizes, values = smallest(refined, lambda smaller: measure(smaller, None), limit, len(pruned.rows))
    sign = 1.0 if options.scoring is None else -1.0
    sizes, values = watch.sizes + sizes, watch.values + [sign * value for value in values]
    if best is not None:
        return best, None, order[: -best.n_vectors], sizes, values
    return with_coef(expansion, pruned.rows, pruned.coef), pruned.rows, pruned.removed, sizes, values


def _measure(start: Start, options: Options) -> tuple[Any, float]:
    """What must not grow, and how far it may."""
    if options.scoring is None:
        return start.loss, start.task.loss(start.outputs) + options.max_loss
    score = start.scorer(options.scoring)
    limit = options.max_loss - score(start.reducible.expansion, None)
    return (lambda smaller, rows: -score(smaller, rows)), limit


def _watch(start: Start, options: Options) -> EveryStep | NowAndThen:
    expansion = start.expansion
    if options.scoring is not None:
        score = start.scorer(options.scoring)
        limit = score(start.reducible.expansion, None) - options.max_loss
        return NowAndThen(expansion, score, lambda value: value < limit)
    limit = start.task.loss(start.outputs) + options.max_loss
    if 8 * start.X.shape[0] * expansion.n_vectors <= HELD_BYTES:
        K = expansion.kernel(start.X, expansion.vectors, n_threads=start.n_threads).astype(np.float64)
        return EveryStep(K, K @ expansion.coef + expansion.intercept, start.task, limit)
    return NowAndThen(expansion, start.loss, lambda value: value > limit)
