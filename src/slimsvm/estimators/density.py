"""Sparse kernel density estimation: a mixture of few kernels in place of one on every row."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..expansion import KernelExpansion
from ..kernels import RBF
from ..problem import KernelGram
from ..rows import Array, Rows, as_rows, block_slices, dense, distinct_rows, squared_norms
from ..solvers.mixture import mixture_support, solve_mixture
from ..solvers.reweighted import reweighted
from .base import n_threads

# Rows whose left-out likelihood chooses the bandwidth; all rows take part in the estimate.
ROWS_LEFT_OUT = 1000
# Range of the bandwidth as multiples of Scott's rule, and the precision of its logarithm.
BANDWIDTH_RANGE = (0.05, 3.0)
BANDWIDTH_PRECISION = 0.02
# Mean penalised log-likelihood that may be missing in each round.
INNER_TOLERANCE = 1e-5
# Keeps the penalty of a dying weight finite.
SMALLEST_SQUARE = 1e-16


class SparseKernelDensity(DensityMixin, BaseEstimator):
    r"""Kernel density estimate with few vectors.

    The density is :math:`p(x) = \sum_j \alpha_j\, N(x; x_j, h^2 I)` with weights that are not negative and
    sum to one. Looks for a local minimum of

    .. math:: -C\sum_i s_i\log p(x_i) + \#\{j : \alpha_j \ne 0\}

    by reweighting: each round minimises :math:`-C\sum_i s_i\log p(x_i) + \sum_j \alpha_j^2/a_j^2` with the
    weights a of the round before.

    Parameters
    ----------
    bandwidth : float or "cv", default="cv"
        Standard deviation h of the kernels; "cv" maximises the likelihood of left-out rows under the full
        kernel estimate.
    C : float, default=1.0
        Weight of the likelihood: larger means more vectors.
    tol : float, default=1e-3
        Change of the weights between rounds, relative to them in the two-norm, at which to stop.
    max_iter : int, default=200
        Limit of the rounds.
    random_state : int, RandomState or None, default=None
        Seeds the choice of the rows left out for bandwidth="cv", where there are more than 1000, and
        `sample`.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    weights_ : array of shape (n_vectors,)
        Positive, with sum one.
    dual_coef_ : array of shape (1, n_vectors)
        The weights times the factor that makes each kernel integrate to one.
    intercept_ : array of shape (1,)
        Zero.
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_, n_iter_ : int
    n_columns_ : array of shape (n_iter_ + 1,)
        Vectors left before the first round and after each.
    bandwidth_ : float

    Notes
    -----
    Equations (18) to (20) with C = 1; the paper's sigma is the bandwidth. The first round, whose penalty is
    the sum of the squared weights, starts from few columns and adds those along which the likelihood rises,
    until no more than 1e-3 of mean log-likelihood can be gained: no n x n matrix is held.

    References
    ----------
    Huang et al., Sparse learning for support vector classification, Pattern Recognition Letters 31 (2010),
    doi:10.1016/j.patrec.2010.06.017.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import SparseKernelDensity
    >>> X = np.random.default_rng(0).standard_normal((500, 1))
    >>> model = SparseKernelDensity(bandwidth=0.4).fit(X)
    >>> model.n_vectors_ < 20, bool(abs(np.exp(model.score_samples([[0.0]]))[0] - 0.4) < 0.05)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        bandwidth: Any = "cv",
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the density.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not (weight > 0).any():
            raise ValueError("sample_weight must be positive for at least one row; all weights are zero.")
        rows = np.flatnonzero(weight > 0)
        first, group = distinct_rows(X[rows])
        weight = np.bincount(group, weights=weight[rows], minlength=len(first))
        rows = rows[first]
        points = as_rows(X[rows]).astype(np.float64)
        self.bandwidth_ = float(self._choose_bandwidth(points, weight))
        gram = KernelGram(RBF(0.5 / self.bandwidth_**2), points, n_threads(self.n_jobs), limit_bytes=0)
        s = self.C * weight
        support, K, _ = mixture_support(len(rows), gram.columns, lambda v: (gram @ v[:, None])[:, 0], s)

        def solve(columns: Array, previous: Array) -> tuple[Array, float]:
            # the first round has the penalty 1 of `mixture_support`
            alpha, _ = solve_mixture(
                K[:, columns], s, 1.0 / np.maximum(np.square(previous), SMALLEST_SQUARE), tol=INNER_TOLERANCE
            )
            return alpha, 0.0

        result = reweighted(len(support), solve, tol=self.tol, max_iter=self.max_iter)
        result.warn_if_unfinished(type(self).__name__)
        used = result.coef > 0
        self.support_ = rows[support[used]]
        self.support_vectors_ = X[self.support_]
        self.weights_ = result.coef[used] / result.coef[used].sum()
        self.n_vectors_ = int(used.sum())
        self.n_iter_ = result.n_rounds
        self.n_columns_ = np.array([len(rows), *result.counts[1:]])
        self.dual_coef_ = (self.weights_ * math.exp(self._log_factor()))[None, :].astype(X.dtype)
        self.intercept_ = np.zeros(1, dtype=X.dtype)
        return self

    def _log_factor(self) -> float:
        return -0.5 * self.n_features_in_ * math.log(2.0 * math.pi * self.bandwidth_**2)

    def _choose_bandwidth(self, X: Rows, weight: Array) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        n, d = X.shape
        total = float(weight.sum())
        mean = weight @ X / total
        second = float(weight @ squared_norms(X)) / total - float(np.asarray(mean) @ np.asarray(mean))
        scale = math.sqrt(max(second, 0.0) / d)
        if n < 2 or scale == 0.0:
            raise ValueError(
                "bandwidth='cv' needs at least two distinct rows of X, got one sample; give bandwidth as "
                "a number."
            )
        scott = scale * total ** (-1.0 / (d + 4)) if total > 1 else scale
        chosen = np.arange(n)
        if n > ROWS_LEFT_OUT:
            rng = check_random_state(self.random_state)
            chosen = np.sort(rng.choice(n, size=ROWS_LEFT_OUT, replace=False))
        blocks = []
        for block in block_slices(len(chosen), 8 * n):
            own = chosen[block]
            squared = _squared_distances(X[own], X)
            at = np.arange(len(own)), own
            left = np.maximum(weight[own] - 1.0, 0.0)  # what remains of the row itself
            squared[at] = np.where(left > 0, 0.0, np.inf)
            nearest = squared.min(axis=1)
            squared -= nearest[:, None]
            squared[at] = np.inf
            blocks.append((own, squared, nearest, left))

        def left_out(log_h: float) -> float:
            """Mean negative log-likelihood of each chosen row when it is left out once."""
            rate = 0.5 * math.exp(-2.0 * log_h)
            value = 0.0
            for own, squared, nearest, left in blocks:
                sums = np.exp(-rate * squared) @ weight + left
                value -= float(weight[own] @ (np.log(sums) - rate * nearest))
            return value / float(weight[chosen].sum()) + d * log_h

        bounds = tuple(math.log(scott * factor) for factor in BANDWIDTH_RANGE)
        found = minimize_scalar(
            left_out, bounds=bounds, method="bounded", options={"xatol": BANDWIDTH_PRECISION}
        )
        return math.exp(float(found.x))

    @property
    def expansion_(self) -> KernelExpansion:
        """The density as a kernel expansion."""
        check_is_fitted(self)
        kernel = RBF(0.5 / self.bandwidth_**2)
        return KernelExpansion(kernel, self.support_vectors_, self.dual_coef_.T, self.intercept_)

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )
        out = np.empty(X.shape[0])
        vectors = self.support_vectors_.astype(np.float64)
        for block in block_slices(X.shape[0], 8 * self.n_vectors_):
            squared = _squared_distances(X[block].astype(np.float64), vectors)
            out[block] = logsumexp(-0.5 * squared / self.bandwidth_**2, axis=1, b=self.weights_)
        return out + self._log_factor()

    def score(self, X: Any, y: Any = None) -> float:
        """Total log-likelihood of the rows of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
            None uses that of the estimator.

        Returns
        -------
        array of shape (n_samples, d)
        """
        check_is_fitted(self)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        centres = rng.choice(self.n_vectors_, size=n_samples, p=self.weights_)
        noise = rng.standard_normal((n_samples, self.n_features_in_))
        return np.asarray(dense(self.support_vectors_)[centres] + self.bandwidth_ * noise)


def _squared_distances(X: Rows, Z: Rows) -> Array:  # (n, d), (m, d) -> (n, m)
    """Squared distances, after centring where both are dense: large offsets would cost digits."""
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
        centre = Z.mean(axis=0)
        X, Z = X - centre, Z - centre
    products = X @ Z.T
    products = products.toarray() if hasattr(products, "toarray") else np.asarray(products)
    return np.maximum(squared_norms(X)[:, None] + squared_norms(Z)[None, :] - 2.0 * products, 0.0)
