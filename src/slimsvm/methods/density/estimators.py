"""Sparse kernel density estimation: a mixture of few kernels in place of one on every row."""

from __future__ import annotations

import math
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import DensityMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ...expansion import KernelExpansion
from ...kernels import RBF
from ...limits import announce, check_width, pass_seconds
from ...readout import DensityReadout
from ...rows import Array, Rows, as_rows, dense, distinct_rows, sound
from ...threads import n_threads, one_blas_thread
from ...training import WEIGHTS_BETWEEN, Trained, check_weights
from ...words import count
from ..base import TrainedEstimator, unchanged_on_failure
from ..checks import checked_weight
from ..documentation import documented
from ..progress import FitProgress
from .bandwidth import deviation, full_bandwidth, log_factor, log_unit, mixture_log_density, sparse_bandwidth
from .mixture_support import SparseMixture, sparse_mixture

# Looks at what each row would gain as a vector, which take a pass over the kernel matrix each.
LIKELY_PASSES = 20
# What C times the largest weight lies between: a vector costs one, which rounding loses beside larger likelihoods.
PENALTIES = (1e-100, 1e15)


@documented
class SparseKernelDensity(DensityMixin, TrainedEstimator):
    r"""Kernel density estimate with few vectors.

    The density is :math:`p(x) = \sum_j \alpha_j\, N(x; x_j, h^2 I)` with weights that are not negative and
    sum to one. Looks for a local minimum of

    .. math:: -C\sum_i s_i\log p(x_i) + \#\{j : \alpha_j \ne 0\}

    by reweighting: each round minimises :math:`-C\sum_i s_i\log p(x_i) + \sum_j \alpha_j^2/a_j^2` with the
    weights a of the round before. Then vectors move to likelier rows, leave, enter and change places as long as
    that lowers the objective.

    Parameters
    ----------
    bandwidth : float, "cv" or "full", default="cv"
        Standard deviation h of the kernels. "cv" holds out a fifth of (at most 5000) rows and takes the
        largest h under which they are as likely as under the best one, within a standard error; "full"
        maximises the likelihood of left-out rows under the estimate with a kernel on every row, which is
        narrower and needs more vectors.
    C : float, default=1.0
        Weight of the likelihood: larger means more vectors.
    max_vectors : int or None, default=None
        Most vectors to keep. Where the rounds leave more, those whose loss costs the likelihood least go,
        and the others find their places anew. A limit below what the bandwidth asks for costs likelihood,
        wherever the vectors lie: a wider bandwidth ("cv") costs less.
    tol : float, default=1e-3
        Change of the weights between rounds, relative to them in the two-norm, at which to stop.
    max_iter : int, default=200
        Limit of the rounds.
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds `sample`; fitting has no randomness.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    weights_ : array of shape (n_vectors,)
        Positive, with sum one.
    dual_coef_ : array of shape (1, n_vectors)
        The weights times the factor that makes each kernel integrate to one; the weights themselves where that is not
        between 1e-30 and 1e30, as in many dimensions: outputs are then in units of exp(`readout_.log_unit`).
    n_iter_ : int
    n_columns_ : array of shape (n_iter + 1,)
        Columns before the first round and vectors left after each; the last, when they have found their places.
    bandwidth_ : float

    Notes
    -----
    Equations (18) to (20) with C = 1 and weights that are not negative; the paper's sigma is the bandwidth. Every
    row may carry a kernel in the first round, but only columns with a weight at its optimum are held: a column
    enters if the objective falls by it, by at least :math:`\min(1, n/10^4)^3` for n distinct rows (a vector costs 1). A
    kernel matrix of up to 256 MiB (5,792 rows) is held meanwhile; with more rows none is.

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
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv", "full"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        bandwidth: Any = "cv",
        C: float = 1.0,
        max_vectors: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 200,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.C = C
        self.max_vectors = max_vectors
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the density; an estimator whose fit fails or is interrupted stays as it was.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
        """
        progress = FitProgress(self, None, X, y, sample_weight)
        with unchanged_on_failure(self), one_blas_thread(), progress:
            X = as_rows(
                validate_data(self, sound(X), accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
            )
            trained = self._train(X, checked_weight(sample_weight, X, WEIGHTS_BETWEEN))
            vectors, rounds = trained.expansion.n_vectors, trained.n_iter
            bandwidth = trained.extras["bandwidth_"]
            progress.say(
                f"bandwidth {bandwidth:.4g}: {count(vectors, 'vector')} after {count(rounds, 'round')}"
            )
            self._store(trained, DensityReadout(log_unit(log_factor(bandwidth, X.shape[1]))))
            progress.finish()
        return self

    def _train(self, X: Rows, weight: Array) -> Trained:
        check_weights(weight, C=self.C, penalties=PENALTIES)
        check_width(X)
        rows = np.flatnonzero(weight > 0)
        first, group = distinct_rows(X[rows])
        weight = np.bincount(group, weights=weight[rows], minlength=len(first))
        rows = rows[first]
        points = as_rows(X[rows]).astype(np.float64)
        if isinstance(points, np.ndarray):
            # nothing depends on the origin, but rounding would; the mean could lie far out with one row
            points -= np.median(points, axis=0)
        announce(
            type(self).__name__, "passes over the kernel matrix", pass_seconds(points, n_threads(self.n_jobs)),
            LIKELY_PASSES, instead="set n_jobs=-1, or give fewer rows",
        )  # fmt: skip
        bandwidth = self._choose_bandwidth(points, weight)
        found = self._mixture(points, weight, bandwidth)
        found.rounds.warn_if_unfinished(type(self).__name__)
        support = rows[found.support]
        factor = log_factor(bandwidth, X.shape[1])
        coef = (found.weights * math.exp(factor - log_unit(factor))).astype(X.dtype)
        return Trained(
            KernelExpansion(RBF(0.5 / bandwidth**2), X[support], coef, np.zeros(1, dtype=X.dtype)),
            support,
            len(found.counts) - 1,
            extras={
                "weights_": found.weights,
                "bandwidth_": bandwidth,
                "n_columns_": np.array([len(rows), *found.counts[1:]]),
            },
        )

    def _with_expansion(self, expansion: KernelExpansion, support: Array | None) -> Self:
        other = super()._with_expansion(expansion, support)
        coef = expansion.coef[:, 0].astype(np.float64)
        other.weights_, other.bandwidth_ = coef / coef.sum(), (2.0 * expansion.kernel.gamma) ** -0.5  # type: ignore[attr-defined]
        return other

    def _mixture(self, X: Rows, weight: Array, bandwidth: float, *, thorough: bool = True) -> SparseMixture:
        return sparse_mixture(
            X, self.C * weight, bandwidth, max_vectors=self.max_vectors, tol=self.tol, max_iter=self.max_iter,
            n_threads=n_threads(self.n_jobs), thorough=thorough,
        )  # fmt: skip

    def _choose_bandwidth(self, X: Rows, weight: Array) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        if X.shape[0] < 2 or deviation(X, weight) == 0.0:
            raise ValueError(
                f"bandwidth={self.bandwidth!r} needs at least two distinct rows of X, got one sample; give "
                "bandwidth as a number."
            )
        if self.bandwidth == "full":
            return full_bandwidth(X, weight)
        # bandwidths differ by more than the exchanges of vectors, which are for the final fit
        return sparse_bandwidth(X, weight, partial(self._mixture, thorough=False))

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row of X.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        X = self._rows(X)
        vectors = self.support_vectors_.astype(np.float64)
        return mixture_log_density(X.astype(np.float64), vectors, self.weights_, self.bandwidth_)

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
