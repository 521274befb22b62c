"""Least-squares machines whose vectors are chosen greedily in the dual (FSALS and PFSALS)."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ...chunks.sample import Size
from ...expansion import KernelExpansion
from ...kernels import Kernel
from ...limits import MEMORY_SECONDS, announce, check_memory, kernel_seconds
from ...problem import KernelGram
from ...rows import Array, cast
from ...training import Trained, TrainingSet, held_out_score, hold_out
from ..base import KernelClassifier, KernelEstimator, KernelRegressor, Run
from ..chunked import AllRows, FitsInChunks
from ..documentation import documented
from .columns import ColumnCache
from .inverse_factor import check_factor
from .path import GreedyPath, Output
from .search import FullSearch, GreedyRule, RandomSearch, Sequence, run

# Share of the rows that a search takes as vectors where nothing limits it, at least: 3 to 31 % in the paper's tables.
LIKELY_SHARE = 0.05

_GREEDY_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "max_error": [Interval(Real, 0, None, closed="left")],
    "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
    "fitting": [StrOptions({"backfitting", "prefitting"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
}


def select(
    gram: KernelGram,
    ridge: Array,
    Y: Array,
    rule: GreedyRule,
    max_vectors: int | None,
    rng: np.random.Generator,
) -> list[Sequence]:
    """One sequence of rows for each column of Y."""
    if rule.n_candidates is None:
        columns = ColumnCache(gram)
        return run((FullSearch(columns, ridge, y, rule) for y in Y.T), max_vectors)
    generators = rng.spawn(Y.shape[1])
    gram = replace(gram, X=cast(gram.X, np.dtype(np.float64)))  # once for all outputs
    return run(
        (RandomSearch(gram, ridge, y, rule, own) for y, own in zip(Y.T, generators, strict=True)), max_vectors
    )


def train(model: Any, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
    """Add vectors one at a time; with rows held out, keep as many as score best on them."""
    gram, rng = data.gram(kernel, run.n_threads), run.rng
    rows = np.arange(gram.n)
    if model.validation_fraction is not None:
        rows, held = hold_out(data, model.validation_fraction, rng)
    part, ridge, Y = gram.part(rows), 1.0 / (model.C * data.weight[rows]), data.Y[rows]
    # labels are counted from 0 as in the paper, other targets from their mean
    shift = np.zeros(Y.shape[1]) if data.classify else data.mean
    check_size(model, part, run)
    rule = GreedyRule(model.max_error, model.fitting == "prefitting", model.n_candidates)
    sequences = select(part, ridge, Y - shift, rule, model.max_vectors, rng)
    outputs = [
        Output(rows[s.chosen], Y[s.chosen, o], ridge[s.chosen], data.mean[o]) for o, s in enumerate(sequences)
    ]
    extras: dict[str, Any] = {}
    if model.validation_fraction is not None:
        scores = scores_on(data, gram, outputs, held)
        n_steps, extras["validation_scores_"] = int(np.argmax(scores)), scores
        sequences = [sequence.first(n_steps) for sequence in sequences]
        outputs = [output.first(n_steps) for output in outputs]
    used = np.unique(np.concatenate([output.vectors for output in outputs]))
    outputs = [replace(output, vectors=np.searchsorted(used, output.vectors)) for output in outputs]
    objective = np.full((max(len(output.vectors) for output in outputs), len(outputs)), np.nan)
    for o, sequence in enumerate(sequences):
        objective[: len(sequence.chosen), o] = sequence.objective()
    run.say("steps of each output: " + ", ".join(str(len(output.vectors)) for output in outputs))
    path = GreedyPath(gram.part(used), data.rows[used], tuple(outputs), objective)
    coef, intercept = path.machine(path.n_steps)
    extras["path_"] = path
    return Trained.on_rows(data, kernel, coef, intercept, chosen=used, n_iter=path.n_steps, extras=extras)


def check_size(model: Any, gram: KernelGram, run: Run) -> None:
    """Refuse a search whose likely vectors cannot be held, and announce one that takes long."""
    n = gram.n
    m = min(n if model.max_vectors is None else model.max_vectors, math.ceil(LIKELY_SHARE * n))
    if model.n_candidates is None:
        check_memory(
            8.0 * n * m, f"looking at all {n} rows in each step needs, for {m} vectors,",
            "set max_vectors (to 500 for instance) or n_candidates=146, or use CompactSVC or CompactSVR", times=2,
        )  # fmt: skip
        return
    check_factor(m)
    each = kernel_seconds(0.5 * m * model.n_candidates, gram.X, run.n_threads) + MEMORY_SECONDS * m * m
    announce(run.name, "steps", each, m, instead="set max_vectors (to 1000 for instance) or raise max_error")


def scores_on(data: TrainingSet, gram: KernelGram, outputs: list[Output], held: Array) -> Array:
    """Score on the rows held out after 0, 1, ... steps of each output."""
    paths = []
    for output in outputs:
        fitted = [np.full((1, len(held)), output.mean)]
        if len(output.vectors):
            fitted.append(output.path(gram).outputs(gram.block(output.vectors, held)))
        paths.append(np.vstack(fitted))
    return np.array(
        [
            held_out_score(
                np.column_stack([path[min(t, len(path) - 1)] for path in paths]),
                data.Y[held],
                data.weight[held],
                data.classify,
            )
            for t in range(max(len(path) for path in paths))
        ]
    )


def _has_path(model: Any) -> bool:
    """Whether the estimator still is the machine that was trained, or is yet to be."""
    return "path_" in vars(model) or "expansion_" not in vars(model)


class Greedy(FitsInChunks):
    """What both estimators share: the fit, and the smaller machines it passed through."""

    # the machine is one of its vectors alone: other rows are only candidates, more of them than a search looks at
    _sample_size = Size(rows=2**18)
    _sample_stands_for_all = False

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)

    def _train_on_all(self, data: TrainingSet, kernel: Kernel, run: Run, every: AllRows) -> Trained:
        return self._train(data, kernel, run)

    @available_if(_has_path)  # type: ignore[untyped-decorator]
    def expansion_at(self: Any, max_vectors: int) -> KernelExpansion:
        """The machine this fit passed through when it had at most so many vectors.

        Parameters
        ----------
        max_vectors : int
            A limit; `path_.sizes` holds the sizes there are.

        Returns
        -------
        KernelExpansion
        """
        check_is_fitted(self)
        expansion: KernelExpansion = self.path_.at(max_vectors)
        return expansion


@documented
class GreedyLSSVC(Greedy, KernelClassifier):
    r"""Least-squares support vector classifier on few vectors, added one at a time (FSALS-SVM, PFSALS-SVM).

    For each output and its vectors P it minimises the dual of the least-squares machine,

    .. math:: \tfrac12 \alpha^\top (K_{PP} + \Lambda_{PP})\, \alpha - y_P^\top \alpha
              \quad\text{subject to}\quad \mathbf 1^\top \alpha = 0, \qquad \Lambda_{ii} = 1 / (C s_i),

    with labels :math:`y_i = \pm 1` and sample weights :math:`s_i`, and adds the row that lowers it most,
    until every other row is within `max_error` of its label. The work is a small multiple of reading n rows
    once for each vector, and all outputs share the kernel values.

    Parameters
    ----------
    <C>
    max_error : float, default=0.5
        The search for an output ends when no row it looks at has a larger error; 0 takes every row.
    max_vectors : int or None, default=None
        Limit of the number of vectors, all outputs together; None sets none.
    n_candidates : int or None, default=None
        Random rows looked at in a step (146 is the paper's PFSALS-SVM; `n_candidates_for` computes others);
        None looks at all (FSALS-SVM).
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a row is scored by what its own coefficient gains, or by what solving all of them gains.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines the search passes through, the one that scores best on
        them is kept. None relies on `max_error` and `max_vectors` alone.
    <kernel>
    <class_weight>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    <classes>
    n_iter_ : int
        Steps of the output that took most.
    path_ : GreedyPath
        The machines after each step: `path_.sizes` (different vectors, all outputs together), `path_.objective`;
        `expansion_at` gives the machine of any size.
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out after 0, 1, ... steps; with `validation_fraction` only.

    Notes
    -----
    The paper's regularisation :math:`\gamma` (eq. 2, with :math:`1/2\gamma` on the diagonal, eq. 12) is C / 2,
    its :math:`\epsilon` is `max_error`. The factor is kept by rank-one updates (eq. 15 to 18), the row is chosen by eq.
    30 (backfitting) or eq. 24 (prefitting), the search ends by eq. 31. With ``max_error=0`` the machine is `LSSVC`.
    Rows that depend linearly on the vectors to rounding are passed over. A machine without a single vector predicts
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
    >>> model = GreedyLSSVC(C=10.0, max_vectors=80).fit(X, y)
    >>> model.n_vectors_, model.score(X, y) > 0.85
    (80, True)
    >>> model.expansion_at(20).n_vectors
    20
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        **_GREEDY_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        max_error: float = 0.5,
        max_vectors: int | None = None,
        n_candidates: int | None = None,
        fitting: str = "backfitting",
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.max_error = max_error
        self.max_vectors = max_vectors
        self.n_candidates = n_candidates
        self.fitting = fitting
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # few rows of an indefinite matrix can be vectors: see the Notes
        tags.classifier_tags.poor_score = isinstance(self.kernel, str) and self.kernel == "sigmoid"
        return tags

    def _train(self, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
        return train(self, data, kernel, run)


@documented
class GreedyLSSVR(Greedy, KernelRegressor):
    r"""Least-squares support vector regression on few vectors, added one at a time (FSALS and PFSALS).

    As `GreedyLSSVC`, with targets in place of labels: the search starts from their mean and ends when every
    other row is within `max_error` of its target.

    Parameters
    ----------
    <C>
    max_error : float, default=0.1
        The search for an output ends when no row it looks at has a larger error; 0 takes every row.
    max_vectors : int or None, default=None
        Limit of the number of vectors, all outputs together; None sets none.
    n_candidates : int or None, default=None
        Random rows looked at in a step (146 is the paper's PFSALS-SVM; `n_candidates_for` computes others);
        None looks at all (FSALS-SVM).
    fitting : {"backfitting", "prefitting"}, default="backfitting"
        Whether a row is scored by what its own coefficient gains, or by what solving all of them gains.
    validation_fraction : float or None, default=None
        Share of the rows held out: of the machines the search passes through, the one that scores best on
        them is kept. None relies on `max_error` and `max_vectors` alone.
    <kernel>
    <verbose>
    random_state : int, RandomState or None, default=None
        Seeds the candidates and the rows held out.
    <n_jobs>

    Attributes
    ----------
    <vectors>
    <support>
    n_iter_ : int
        Steps of the output that took most.
    path_ : GreedyPath
        The machines after each step: `path_.sizes` (different vectors, all outputs together), `path_.objective`;
        `expansion_at` gives the machine of any size.
    validation_scores_ : array of shape (n_steps + 1,)
        Score on the rows held out after 0, 1, ... steps; with `validation_fraction` only.

    References
    ----------
    Jiao, Bo and Wang, Fast sparse approximation for least squares support vector machine, IEEE Transactions
    on Neural Networks 18 (2007), doi:10.1109/TNN.2006.889500.

    Examples
    --------
    >>> import numpy as np
    >>> from slimsvm import GreedyLSSVR
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = GreedyLSSVR(C=100.0, gamma=1.0, max_error=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.n_vectors_ < 20, bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.02)
    (True, True)
    """

    _merges_equal_targets = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelEstimator._parameter_constraints,
        **_GREEDY_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        max_error: float = 0.1,
        max_vectors: int | None = None,
        n_candidates: int | None = None,
        fitting: str = "backfitting",
        validation_fraction: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.max_error = max_error
        self.max_vectors = max_vectors
        self.n_candidates = n_candidates
        self.fitting = fitting
        self.validation_fraction = validation_fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
