"""Least-squares machines whose vectors are chosen greedily in the dual (FSALS and PFSALS)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ...expansion import KernelExpansion
from ...problem import KernelGram, kernel_block, part_of
from ...rows import Array, Rows, cast
from ...training import TrainingSet, held_out_score, hold_out, with_mean_targets
from ..base import KernelClassifier, KernelEstimator, KernelRegressor
from .columns import ColumnCache
from .search import FullSearch, GreedyRule, RandomSearch, Sequence, run
from .subset import DualPath

_GREEDY_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "n_vectors": [Interval(Integral, 1, None, closed="left"), None],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
    "fitting": [StrOptions({"backfitting", "prefitting"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
}


def select(
    gram: KernelGram,
    ridge: Array,
    Y: Array,
    rule: GreedyRule,
    n_vectors: int | None,
    rng: np.random.Generator,
) -> list[Sequence]:
    """One sequence of rows for each column of Y."""
    if rule.n_candidates is None:
        columns = ColumnCache(gram)
        return run((FullSearch(columns, ridge, y, rule) for y in Y.T), n_vectors)
    generators = rng.spawn(Y.shape[1])
    gram = replace(gram, X=cast(gram.X, np.dtype(np.float64)))  # once for all outputs
    return run(
        (RandomSearch(gram, ridge, y, rule, own) for y, own in zip(Y.T, generators, strict=True)), n_vectors
    )


class _GreedyMixin:
    """Fitting and the path, for classification and regression alike."""

    C: float
    epsilon: float
    n_vectors: int | None
    n_candidates: int | None
    fitting: str
    validation_fraction: float | None
    _classifies: ClassVar[bool]

    def _fit(self: Any, X: Rows, Y: Array, weight: Array, rows: Array) -> None:
        data = with_mean_targets(X, Y, weight, rows, precomputed=self._is_precomputed)
        gram = self._gram(self._resolved_kernel(data.X, data.weight), data, rows)
        rng = self._rng()
        train = np.arange(gram.n)
        if self.validation_fraction is not None:
            train, held = hold_out(data, self.validation_fraction, rng, self._classifies)
        part, ridge = part_of(gram, train), 1.0 / (self.C * data.weight[train])
        Y = data.Y[train]
        rule = GreedyRule(self.epsilon, self.fitting == "prefitting", self.n_candidates)
        sequences = select(part, ridge, Y - self._shift(data), rule, self.n_vectors, rng)
        outputs = [
            _Output(train[s.chosen], Y[s.chosen, o], ridge[s.chosen], _mean(data)[o])
            for o, s in enumerate(sequences)
        ]
        if self.validation_fraction is not None:
            n_steps = self._steps_by_validation(data, gram, outputs, held)
            sequences = [sequence.first(n_steps) for sequence in sequences]
            outputs = [output.first(n_steps) for output in outputs]
        self._keep(data, gram, sequences, outputs)

    def _shift(self, data: TrainingSet) -> Array:
        """Targets are counted from here: labels from 0 as in the paper, other targets from their mean."""
        return np.zeros(data.Y.shape[1]) if self._classifies else _mean(data)

    def _steps_by_validation(
        self: Any, data: TrainingSet, gram: KernelGram, outputs: list[_Output], held: Array
    ) -> int:
        """Steps for each output that score best on the rows held out; stores `validation_scores_`."""
        paths = []
        for output in outputs:
            fitted = [np.full((1, len(held)), output.mean)]
            if len(output.vectors):
                K = kernel_block(gram, output.vectors, output.vectors)
                path = DualPath.fit(K, output.ridge, output.y)
                fitted.append(path.outputs(kernel_block(gram, output.vectors, held)))
            paths.append(np.vstack(fitted))
        scores = [
            held_out_score(
                np.column_stack([path[min(t, len(path) - 1)] for path in paths]),
                data.Y[held],
                data.weight[held],
                self._classifies,
            )
            for t in range(max(len(path) for path in paths))
        ]
        self.validation_scores_ = np.array(scores)
        return int(np.argmax(scores))

    def _keep(
        self: Any, data: TrainingSet, gram: KernelGram, sequences: list[Sequence], outputs: list[_Output]
    ) -> None:
        """Store the final machine and what the smaller ones are computed from."""
        used = np.unique(np.concatenate([output.vectors for output in outputs]))
        outputs = [replace(output, vectors=np.searchsorted(used, output.vectors)) for output in outputs]
        self._path = _Path(part_of(gram, used), data.rows[used], outputs)
        self.n_iter_ = max(len(output.vectors) for output in outputs)
        coef, intercept = self._path.machine(self.n_iter_)
        self._store_rows(data.X[used], data.rows[used], gram.kernel, coef, intercept)
        self.objective_path_ = np.full((self.n_iter_, len(sequences)), np.nan)
        for o, sequence in enumerate(sequences):
            self.objective_path_[: len(sequence.chosen), o] = sequence.objective()
        self.path_sizes_ = self._path.sizes()

    def expansion_at(self: Any, n_vectors: int) -> KernelExpansion:
        """The machine this fit passed through when it had at most `n_vectors` vectors.

        Parameters
        ----------
        n_vectors : int
            A limit; `path_sizes_` holds the sizes there are.

        Returns
        -------
        KernelExpansion
        """
        check_is_fitted(self)
        if n_vectors < 0:
            raise ValueError(f"n_vectors must not be negative, got {n_vectors}.")
        n_steps = int(np.searchsorted(self.path_sizes_, n_vectors, side="right"))
        coef, intercept = self._path.machine(n_steps)
        X, rows = self._path.gram.X, self._path.rows
        vectors = rows[:, None] if self._is_precomputed else X
        return KernelExpansion(
            self._fitted_kernel(), vectors, coef.astype(X.dtype), intercept.astype(X.dtype)
        ).compact()


def _mean(data: TrainingSet) -> Array:  # (k,)
    mean: Array = data.weight @ data.Y / data.weight.sum()
    return mean


@dataclass(frozen=True)
class _Output:
    """What the machines of one output are computed from."""

    vectors: Array  # (m,) numbers of the vectors, in their order
    y: Array  # (m,)
    ridge: Array  # (m,)
    mean: float  # of the targets: the machine without vectors

    def first(self, n_steps: int) -> _Output:
        """The same after so many steps."""
        return replace(self, vectors=self.vectors[:n_steps], y=self.y[:n_steps], ridge=self.ridge[:n_steps])


@dataclass(frozen=True)
class _Path:
    """Every machine a fit passed through."""

    gram: KernelGram
    rows: Array
    outputs: list[_Output]

    def machine(self, n_steps: int) -> tuple[Array, Array]:
        """Coefficients (n_vectors, k) and intercepts (k,) after so many steps for each output."""
        coef, intercept = np.zeros((self.gram.n, len(self.outputs))), np.zeros(len(self.outputs))
        for o, output in enumerate(self.outputs):
            first = output.vectors[:n_steps]
            if len(first) == 0:
                intercept[o] = output.mean
                continue
            K = kernel_block(self.gram, first, first)
            path = DualPath.fit(K, output.ridge[: len(first)], output.y[: len(first)])
            coef[first, o], intercept[o] = path.machine(len(first))
        return coef, intercept

    def sizes(self) -> Array:
        """Number of different vectors after each step."""
        n_steps = max(len(output.vectors) for output in self.outputs)
        first_step = np.full(self.gram.n, n_steps)
        for output in self.outputs:
            np.minimum.at(first_step, output.vectors, np.arange(len(output.vectors)))
        sizes: Array = np.cumsum(np.bincount(first_step, minlength=n_steps)[:n_steps])
        return sizes


class GreedyLSSVC(_GreedyMixin, KernelClassifier):
    r"""Least-squares support vector classifier on few vectors, added one at a time (FSALS-SVM, PFSALS-SVM).

    For each output and its vectors P it minimises the dual of the least-squares machine,

    .. math:: \tfrac12 \alpha^\top (K_{PP} + \Lambda_{PP})\, \alpha - y_P^\top \alpha
              \quad\text{subject to}\quad \mathbf 1^\top \alpha = 0, \qquad \Lambda_{ii} = 1 / (C s_i),

    with labels :math:`y_i = \pm 1` and sample weights :math:`s_i`, and adds the row that lowers it most,
    until every other row is within `epsilon` of its label. The work is a small multiple of reading n rows
    once for each vector, and all outputs share the kernel values.

    Parameters
    ----------
    C : float, default=1.0
        Larger means less regularisation.
    epsilon : float, default=0.5
        The search for an output ends when no row it looks at has a larger error; 0 takes every row.
    n_vectors : int or None, default=None
        Limit of the number of vectors, all outputs together; None sets none.
    n_candidates : int or None, default=None
        Random rows looked at in a step (146 is the paper's PFSALS-SVM; `n_candidates_for` computes others);
        None looks at all (FSALS-SVM).
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a row is scored by what its own coefficient gains, or by what solving all of them gains.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines the search passes through, the one that scores best on
        them is kept. None relies on `epsilon` and `n_vectors` alone.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    class_weight : "balanced", dict or None, default=None
        Factor on the weights of each class.
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_ : int
        Number of different vectors, all outputs together.
    n_iter_ : int
        Steps of the output that took most.
    path_sizes_ : array of shape (n_iter_,)
        Number of different vectors after each step; `expansion_at` gives the machine of any size.
    objective_path_ : array of shape (n_iter_, n_outputs)
        The objective after each step, NaN where an output had ended.
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out after 0, 1, ... steps; with `validation_fraction` only.
    classes_ : array of shape (n_classes,)
    gamma_ : float or array
        The width in use.

    Notes
    -----
    The paper's regularisation :math:`\gamma` (eq. 2, with :math:`1/2\gamma` on the diagonal, eq. 12) is C /
    2. The factor is kept by rank-one updates (eq. 15 to 18), the row is chosen by eq. 30 (backfitting) or
    eq. 24 (prefitting), the search ends by eq. 31. With ``epsilon=0`` the machine is `LSSVC`. Rows that
    depend linearly on the vectors to rounding are passed over. A machine without a single vector predicts
    the mean label.

    References
    ----------
    Jiao, Bo and Wang, Fast sparse approximation for least squares support vector machine, IEEE Transactions
    on Neural Networks 18 (2007), doi:10.1109/TNN.2006.889500.

    Examples
    --------
    >>> from slimsvm import GreedyLSSVC
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(400, random_state=0)
    >>> model = GreedyLSSVC(C=10.0, n_vectors=80).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.85
    (80, True)
    >>> model.expansion_at(20).n_vectors
    20
    """

    _classifies = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_GREEDY_CONSTRAINTS,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.5,
        n_vectors: int | None = None,
        n_candidates: int | None = None,
        fitting: str = "backfitting",
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.n_vectors = n_vectors
        self.n_candidates = n_candidates
        self.fitting = fitting
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # few rows of an indefinite matrix can be vectors: see the Notes
        tags.classifier_tags.poor_score = isinstance(self.kernel, str) and self.kernel == "sigmoid"
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
        """
        X, _, Y, weight, rows = self._check_classes(X, y, sample_weight)
        self._fit(X, Y, weight, rows)
        return self


class GreedyLSSVR(_GreedyMixin, KernelRegressor):
    r"""Least-squares support vector regression on few vectors, added one at a time (FSALS and PFSALS).

    As `GreedyLSSVC`, with targets in place of labels: the search starts from their mean and ends when every
    other row is within `epsilon` of its target.

    Parameters
    ----------
    C : float, default=1.0
        Larger means less regularisation.
    epsilon : float, default=0.1
        The search for an output ends when no row it looks at has a larger error; 0 takes every row.
    n_vectors : int or None, default=None
        Limit of the number of vectors, all outputs together; None sets none.
    n_candidates : int or None, default=None
        Random rows looked at in a step (146 is the paper's PFSALS-SVM; `n_candidates_for` computes others);
        None looks at all (FSALS-SVM).
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a row is scored by what its own coefficient gains, or by what solving all of them gains.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines the search passes through, the one that scores best on
        them is kept. None relies on `epsilon` and `n_vectors` alone.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
        The kernel; a function gets two arrays of rows and returns their kernel values.
    gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
        Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    n_jobs : int or None, default=None
        Threads for kernel values; None means 1, -1 all processors.

    Attributes
    ----------
    support_vectors_ : array or CSR of shape (n_vectors, n_features)
    dual_coef_ : array of shape (n_outputs, n_vectors)
    intercept_ : array of shape (n_outputs,)
    support_ : array of shape (n_vectors,)
        Row of the training data each vector was.
    n_vectors_ : int
        Number of different vectors, all outputs together.
    n_iter_ : int
        Steps of the output that took most.
    path_sizes_ : array of shape (n_iter_,)
        Number of different vectors after each step; `expansion_at` gives the machine of any size.
    objective_path_ : array of shape (n_iter_, n_outputs)
        The objective after each step, NaN where an output had ended.
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out after 0, 1, ... steps; with `validation_fraction` only.
    gamma_ : float or array
        The width in use.

    References
    ----------
    Jiao, Bo and Wang, Fast sparse approximation for least squares support vector machine, IEEE Transactions
    on Neural Networks 18 (2007), doi:10.1109/TNN.2006.889500.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import GreedyLSSVR
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = GreedyLSSVR(C=100.0, gamma=1.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.n_vectors_ < 20, bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.02)
    (True, True)
    """

    _classifies = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_GREEDY_CONSTRAINTS,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        n_vectors: int | None = None,
        n_candidates: int | None = None,
        fitting: str = "backfitting",
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.n_vectors = n_vectors
        self.n_candidates = n_candidates
        self.fitting = fitting
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,) or None

        Returns
        -------
        self
        """
        X, Y, weight, rows = self._check_targets(X, y, sample_weight)
        self._fit(X, Y, weight, rows)
        return self
