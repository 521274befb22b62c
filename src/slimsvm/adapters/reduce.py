"""`reduce`: make a fitted model smaller."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted

from ..calibration import follow_probabilities, per_row
from ..expansion import KernelExpansion
from ..methods.progress import Shown
from ..progress import working
from ..readout import LabelReadout, VotesReadout
from ..reduction.prune import CRITERIA, RIDGE
from ..reduction.shrink import shrink
from ..reduction.start import METHODS, Options, Start
from ..reduction.task import Reduction
from ..threads import n_threads, one_blas_thread
from .start import readout_by_class, start_of


@validate_params(
    {
        "method": [StrOptions(set(METHODS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "max_loss": [Interval(Real, 0, None, closed="left"), None],
        "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
        "scoring": [str, callable, None],
        "min_score": [Interval(Real, None, None, closed="neither"), None],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "refit": ["boolean", None],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "rank_tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
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
    method: str = "auto",
    criterion: str = "damage",
    max_loss: float | None = None,
    max_vectors: int | None = None,
    max_bytes: int | None = None,
    min_score: float | None = None,
    scoring: Any = None,
    refit: bool | None = None,
    ridge: float = RIDGE,
    rank_tol: float | None = None,
    max_iter: int = 200,
    verbose: int = 0,
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
        Rows on which the loss is measured and the model is followed, best the training rows.
        None means the model's own vectors; "auto" then follows the model's function only. A model with a callable
        kernel needs its training rows, one with a precomputed kernel the square matrix of kernel values it was
        fitted to.
    y : array-like of shape (n,) or (n, n_targets) or None
        Labels or targets of these rows. None means what the model itself says about them. Models without
        targets do not use it.
    sample_weight : array-like of shape (n,) or None, default=None
        How much each of these rows counts in the loss.
    method : {"auto", "prune", "exact", "refine"}, default="auto"
        "auto" looks for the fewest vectors, each size at its best: vectors that have moved and need not be among
        the original ones, coefficients that follow the outputs of the model on X and, for RBF kernels, another
        width. Where the kernel has no known derivative or is not positive definite, vectors stay and only
        coefficients are fitted. With `max_bytes`, an SVC of four or more classes gets one output for each class
        instead of one for each pair where more vectors then fit and mistakes on rows held out are fewer.
        "prune" removes vectors one by one and hands their coefficients to the rest; "exact" removes those that
        are linear combinations of others, which changes no output beyond rounding; "refine" moves vectors with
        the width and the outputs as they are.
    criterion : {"damage", "redundancy", "distance"}, default="damage"
        Which vector goes next: "damage" the one whose removal changes the function least, "redundancy" the
        one the others replace best whatever its coefficient, as in the paper's Algorithm 2 (eq. 7), "distance" the
        one nearest to what replaces it, as in its Algorithm 1 (eq. 5, without the ridge term of eq. 7).
    max_loss : float or None, default=None
        How much the loss may rise. For classifiers the loss of "auto" is the share of mistakes, in which a row near
        the boundary counts in part (None: 0.01, one row in a hundred), and that of the other methods the mean hinge
        loss (eq. 9; None: 0.025). For regression it is the mean squared error over the variance of the target, and
        for models without targets the mean squared change over the variance of the output (None: 0.025). With
        `scoring`, how much the score may fall (None: 0.025). Not used when `max_vectors`, `max_bytes` or `min_score`
        is given.
    max_vectors : int or None, default=None
        Reduce to this number of vectors, whatever the loss.
    max_bytes : int or None, default=None
        Reduce to as many vectors as `budget.stored_bytes` allows in the model's own dtype, whatever the loss.
    min_score : float or None, default=None
        The smallest score on X and y that the result may have: the fewest vectors found that keep it. The score
        is that of `scoring`, or the model's own. With `max_vectors` or `max_bytes` both must hold.
    scoring : str, callable or None, default=None
        Stop by this score on X and y instead of by the loss; as in scikit-learn.
    refit : bool or None, default=None
        Whether to fit the coefficients to X and y again at the end, with the vectors as they are. None is what
        the method needs: "auto" and "refine" fit anyway, "prune" and "exact" do not. False makes "auto" prune.
    ridge : float, default=1e-5
        The paper's lambda: added to the diagonal of the kernel matrix, relative to its mean.
    rank_tol : float or None, default=None
        For "exact": the share of k(s, s) that counts as rounding; None means that of the machine.
    max_iter : int, default=200
        For "auto", "refine" and `refit`: limit of the optimiser's iterations at each size.
    verbose : int, default=0
        Whether to print what is found, and how far it is.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Returns
    -------
    fitted estimator
        With the methods of the model, `expansion_`, `n_vectors_` and the report `reduction_`. A pipeline
        gives a pipeline, an estimator of this library one of its own class, a `KernelExpansion` a
        transformer. What belongs to the larger model only (variances, a path) is dropped. An `SVC` with
        probabilities keeps them: a softmax of the outputs that follows the model's own probabilities.

    Raises
    ------
    BudgetError
        If nothing within `max_bytes`, or nothing that keeps `min_score`, was found.

    See Also
    --------
    Reduced : The same as an estimator, for pipelines and searches.

    Notes
    -----
    Equal vectors are merged first. The paper's alpha is a row of `dual_coef_`, its tau is `max_loss` and its
    lambda is `ridge` (the paper takes 1e-3, which loses more of the function at each step). A vector leaves
    all outputs at once: a multi-class `SVC` stays on one set of vectors.

    Moving vectors is not convex: last digits of the model, such as those by which scikit-learn's machines differ
    between CSR and dense rows, can lead to another result of nearly the same loss. The same model and data give
    the same result.

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
    options = options_of(
        method=method, criterion=criterion, max_loss=max_loss, max_vectors=max_vectors, max_bytes=max_bytes,
        min_score=min_score, refit=refit, ridge=ridge, rank_tol=rank_tol, max_iter=max_iter,
    )  # fmt: skip
    with Shown("reduce", wanted=bool(verbose)) as shown, working("reduce", shown.hear):
        result = reduced(model, X, y, sample_weight, scoring, n_threads(n_jobs), options)
        shown.say(str(result.reduction_))
    return result


def options_of(*, max_loss: float | None, min_score: float | None, ridge: float, **others: Any) -> Options:
    """Parameters of `reduce` as the reduction takes them."""
    return Options(
        max_loss=None if max_loss is None else float(max_loss),
        min_score=None if min_score is None else float(min_score),
        ridge=float(ridge),
        **others,
    )


def reduced(
    model: Any, X: Any, y: Any, sample_weight: Any, scoring: Any, threads: int, options: Options
) -> Any:
    """The smaller model, with its report; arguments as of `reduce`."""
    start = time.perf_counter()
    if hasattr(model, "reduction_") and hasattr(model, "estimator_"):  # Reduced: what it holds is the model
        model = model.estimator_
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        *before, (name, last) = model.steps
        if X is not None:
            X = model[:-1].transform(X) if before else X
        slim, report = _reduced(last, X, y, sample_weight, scoring, threads, options)
        result = Pipeline([*copy.deepcopy(before), (name, slim)])
    else:
        slim, report = _reduced(model, X, y, sample_weight, scoring, threads, options)
        result = slim
    slim.reduction_ = result.reduction_ = report.with_time(time.perf_counter() - start)
    return result


def _reduced(
    model: Any, X: Any, y: Any, sample_weight: Any, scoring: Any, threads: int, options: Options
) -> tuple[Any, Reduction]:
    with one_blas_thread():
        start, reducible = start_of(model, X, y, sample_weight, scoring, threads, options)
        found = shrink(start, options)
        readout = reducible.model.readout
        if found.by_class:
            assert isinstance(readout, VotesReadout)
            readout = readout_by_class(readout)
        if reducible.probabilities is not None:
            assert isinstance(readout, LabelReadout)
            readout = _calibrated(readout, found.expansion, reducible.probabilities, start)
    if readout is reducible.model.readout:
        return reducible.build(found.expansion, found.numbers), found.report
    assert reducible.with_readout is not None
    return reducible.with_readout(found.expansion, readout), found.report


def _calibrated(
    readout: LabelReadout, smaller: KernelExpansion, probabilities: Any, start: Start
) -> LabelReadout:
    """The readout with probabilities that follow those of the model on the same rows.

    Those were calibrated on rows held out; the labels of rows the machine was fitted to would promise too much.
    """
    outputs = smaller(start.X, n_threads=start.n_threads).astype(np.float64)
    if isinstance(readout, VotesReadout):
        outputs = readout.class_scores(outputs)
    probability = follow_probabilities(outputs, probabilities(start.X), per_row(start.task.weight))
    return replace(readout, probability=probability)
