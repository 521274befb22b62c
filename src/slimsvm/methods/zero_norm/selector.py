"""Zero-norm selection of input features."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ...kernels import KERNELS, Kernel
from ...limits import COLUMNS_LIMIT_BYTES, check_memory, check_width
from ...problem import check_finite
from ...progress import tell
from ...rows import Array, Rows, dense, scale_columns, sound, squared_norms
from ...solvers.reweighted import NEGLIGIBLE, reweighted, without_effect
from ...threads import n_threads, one_blas_thread
from ...training import TrainingSet
from ...words import count
from ..base import KernelClassifier, KernelEstimator, classified, unchanged_on_failure
from ..checks import check_products
from ..documentation import documented
from ..full.estimators import FullSVC
from ..progress import FitProgress
from .rounds import linear_round, quadratic_round

# A feature whose scale has fallen below this no longer moves any kernel value that matters.
FADED = 1e-3
# A feature that carries this share of what the features left carry on average keeps its scale.
FAIR_SHARE = 0.5


@documented
class ZeroNormSelector(SelectorMixin, KernelEstimator):
    r"""Selection of input features by the zero-norm of a support vector machine.

    With the linear kernel it looks for a small value of

    .. math:: \tfrac12\,\#\{j : w_j \ne 0\} + C\sum_i s_i\,\max(0,\; 1 - y_i(w \cdot x_i + w_0))

    by the rounds of `ZeroNormSVC`, with features in the place of kernel columns.

    With another kernel every feature has a scale, multiplied in each round by how much of the machine's norm
    the feature carries, until it is one of those that stay or of those that vanish.

    Parameters
    ----------
    C : float, default=1.0
        Larger means more features (linear kernel) or a machine that follows the rows more closely (others).
    variant : {"quadratic", "linear"}, default="quadratic"
        How the zero-norm is approached with the linear kernel, as in `ZeroNormSVC`.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian"}, Kernel or callable, default="linear"
        The kernel of the machine.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels, factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    tol : float, default=1e-4
        Change of the coefficients (linear) between rounds at which to stop, relative to them in the two-norm;
        for other kernels ten times it is the largest change of a scale.
    max_iter : int, default=50
        Limit of the rounds.
    <class_weight>
    <verbose>
    <no randomness>
    <n_jobs>

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Largest absolute coefficient over the outputs, or the scale; zero for features that are not selected.
    n_iter_ : int
    classes_ : array of shape (n_classes,)

    Notes
    -----
    The linear case is equations (9) and (10) of Huang et al. with features in place of kernel columns. For
    other kernels, with :math:`W_j = |\,c^\top K c - c^\top K^{(-j)} c\,|`, the change of the squared norm
    when feature j is left out of the kernel, and :math:`\bar W` its mean over the features left, the scale is
    multiplied by :math:`\min(1, \sqrt{2W_j/\bar W})`: Weston's multiplicative update, which for a linear
    kernel is by :math:`|w_j|`, with the average in place of the unit that other kernels do not have. With
    several classes a feature stays if some output needs it.

    References
    ----------
    Weston, Elisseeff, Schölkopf and Tipping, Use of the zero-norm with linear models and kernel methods,
    Journal of Machine Learning Research 3 (2003).

    Huang et al., Sparse learning for support vector classification, Pattern Recognition Letters 31 (2010),
    doi:10.1016/j.patrec.2010.06.017.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import ZeroNormSelector
    >>> X = np.random.default_rng(0).standard_normal((200, 20))
    >>> y = X[:, 3] - X[:, 7] > 0
    >>> ZeroNormSelector().fit(X, y).get_support(indices=True)
    array([3, 7])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "kernel": [
            StrOptions(set(KERNELS) - {"precomputed"}),
            *KernelClassifier._parameter_constraints["kernel"][1:],
        ],
        "C": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions({"quadratic", "linear"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: str = "quadratic",
        kernel: Any = "linear",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 50,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.variant = variant
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select the features; an estimator whose fit fails or is interrupted stays as it was.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
        """
        progress = FitProgress(self, None, X, y, sample_weight)
        with unchanged_on_failure(self), one_blas_thread(), progress:
            n_threads(self.n_jobs)  # whichever way is taken, a number of threads is one
            data, classes = classified(self, X, y, sample_weight)
            check_width(data.X)
            data = data.merged_by_row_and_target()
            linear = isinstance(self.kernel, str) and self.kernel == "linear"
            select = self._select_linear if linear else self._select_by_scales
            scores, n_iter = select(data, progress.say)
            self.scores_, self.n_iter_, self.classes_ = scores, n_iter, classes
            progress.finish()
        return self

    def _select_linear(self, data: TrainingSet, say: Callable[[str], None]) -> tuple[Array, int]:
        """Scores of the features, and rounds."""
        check_products(data.X)
        with np.errstate(over="ignore"):
            check_finite(squared_norms(data.X))
        check_memory(
            8.0 * data.n * data.X.shape[1],
            f"X, made dense with {data.n} rows and {data.X.shape[1]} columns, needs",
            "leave out columns with few entries, or give fewer rows",
            limit=COLUMNS_LIMIT_BYTES if sparse.issparse(data.X) else np.inf,
            times=3,  # itself, with the constant, and times the labels
        )
        A = np.column_stack([np.ones(data.n), dense(data.X)]).astype(np.float64)
        t, c = np.ones(len(A)), self.C * data.weight
        make = quadratic_round if self.variant == "quadratic" else linear_round
        scores, n_iter = np.zeros(A.shape[1]), 0
        for labels in data.Y.T:
            B = labels[:, None] * A
            result = reweighted(
                A.shape[1],
                make(B, t, c),
                tol=self.tol,
                max_iter=self.max_iter,
                vanished=partial(without_effect, B),
                report=say,
            )
            result.warn_if_unfinished(type(self).__name__)
            n_iter = max(n_iter, result.n_rounds)
            np.maximum(scores, np.abs(result.coef), out=scores)
        if scores[1:].any():
            return scores[1:], n_iter
        # the weighted covariance with the labels, which is what a vanishing C looks at
        return self._only_the_strongest(np.abs(data.Y.T @ (c[:, None] * A[:, 1:])).max(axis=0)), n_iter

    def _select_by_scales(self, data: TrainingSet, say: Callable[[str], None]) -> tuple[Array, int]:
        """Scales of the features, and rounds."""
        kernel = self._kernel_for(data)
        labels = data.Y[:, 0] if data.Y.shape[1] == 1 else data.Y.argmax(axis=1)
        scales = np.ones(data.X.shape[1])
        moved = np.inf
        machine = FullSVC(C=self.C, kernel=kernel, n_jobs=self.n_jobs)
        for n_iter in range(1, self.max_iter + 1):
            X = scale_columns(data.X, scales)
            machine.fit(X, labels, sample_weight=data.weight)
            carried = norm_by_feature(kernel, machine.support_vectors_, machine.dual_coef_, scales > 0)
            share = carried / max(float(carried[scales > 0].mean()), np.finfo(float).tiny)
            new = scales * np.minimum(1.0, np.sqrt(share / FAIR_SHARE))
            new[new < FADED] = 0.0
            if not new.any():  # no feature carries anything
                return self._only_the_strongest(carried), n_iter
            moved = float(np.abs(new - scales).max())
            scales = new
            say(f"round {n_iter}: {count(int((scales > 0).sum()), 'feature')} left, moved by {moved:.2g}")
            tell("scaling features", n_iter)
            if moved <= 10 * self.tol:
                break
        if moved > 10 * self.tol:
            warnings.warn(
                f"{type(self).__name__}: a scale still changed by {moved:.2g} after {n_iter} rounds; "
                "raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return scales, n_iter

    def _only_the_strongest(self, strength: Array) -> Array:
        """No feature is worth its cost at this C: keep the strongest, and say so."""
        warnings.warn(
            f"{type(self).__name__}: no feature is worth its cost, and only the strongest is kept; raise C "
            f"(it is {self.C:g}).",
            ConvergenceWarning,
            stacklevel=3,
        )
        scores = np.zeros(len(strength))
        scores[int(np.argmax(strength))] = NEGLIGIBLE
        return scores

    def transform(self, X: Any) -> Any:
        """The features that were selected.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array or CSR of shape (n, n_selected)
        """
        return super().transform(sound(X))

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        mask: Array = self.scores_ > 0
        return mask


def norm_by_feature(kernel: Kernel, vectors: Rows, coef: Array, alive: Array) -> Array:  # (d,)
    """Change of the squared norm when a feature is left out, the largest over the outputs (rows of coef)."""
    vectors = dense(vectors).astype(np.float64)
    coef = np.asarray(coef, dtype=np.float64)
    whole = np.einsum("oi,ij,oj->o", coef, kernel(vectors, vectors), coef, optimize=True)
    out = np.zeros(vectors.shape[1])
    for j in np.flatnonzero(alive):
        without = vectors.copy()
        without[:, j] = 0.0
        part = np.einsum("oi,ij,oj->o", coef, kernel(without, without), coef, optimize=True)
        out[j] = float(np.abs(whole - part).max())
    return out
