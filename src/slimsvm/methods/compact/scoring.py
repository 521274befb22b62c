"""Any scorer of scikit-learn as what the search is to make large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring

from ...probability import Probability
from ...readout import Readout
from ...rows import Array


class _Answers(BaseEstimator):
    """An estimator whose rows are outputs that are known already."""

    def __init__(self, readout: Readout | None = None) -> None:
        self.readout = readout

    def fit(self, outputs: Array, y: Array) -> _Answers:
        """Nothing is left to do."""
        return self

    def predict(self, outputs: Array) -> Array:
        """What the outputs mean."""
        answer: Array = self.readout.answer(outputs)  # type: ignore[union-attr]
        return answer


class _Labels(ClassifierMixin, _Answers):
    def __init__(self, readout: Any = None) -> None:
        super().__init__(readout)
        self.classes_ = readout.classes

    def decision_function(self, outputs: Array) -> Array:
        scores: Array = self.readout.scores(outputs)  # type: ignore[union-attr]
        return scores

    def predict_proba(self, outputs: Array) -> Array:
        return Probability("softmax", 1.0)(outputs)


class _Values(RegressorMixin, _Answers):
    pass


def score_by(
    scoring: Any, readout: Any, targets: Array, weight: Array, *, classify: bool
) -> Callable[[Array, Array], float]:
    """From outputs in the units of the targets, and the numbers of their rows, to the score.

    Parameters
    ----------
    scoring : str or callable
        As everywhere in scikit-learn.
    targets : array of shape (n,) or (n, n_targets)
        Labels or values of all rows.
    weight : array of shape (n,)
        Rows that differ in weight count with it; the scorer must know `sample_weight` then.
    """
    estimator = _Labels(readout) if classify else _Values(readout)
    scorer = check_scoring(estimator, scoring=scoring)
    weighted = bool((weight != weight[0]).any())

    def score(outputs: Array, rows: Array) -> float:
        how = {"sample_weight": weight[rows]} if weighted else {}
        return float(scorer(estimator, outputs, targets[rows], **how))

    return score
