"""How the outputs of an expansion become an answer: labels, votes, probabilities, values, inliers, features.

A readout is a frozen value without numbers of its own beyond a few; together with the inputs and the expansion it is
the whole `Model`. `answer` is what `predict` gives, `scores` what `decision_function` gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .probability import Probability
from .rows import Array, frozen


@dataclass(frozen=True, eq=False)
class _Labels:
    """What the readouts of classifiers share.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    probability : Probability or None
    """

    classes: Array
    probability: Probability | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", frozen(np.asarray(self.classes)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.classes.flags.writeable = False  # an array that was pickled could be written to

    def codes_of(self, labels: Array) -> Array:  # (n,)
        """Numbers of the classes of these labels."""
        unknown = np.setdiff1d(labels, self.classes)
        if len(unknown):
            raise ValueError(f"y has the label {unknown.tolist()[0]!r}, which is not a class of the model.")
        order = np.argsort(self.classes)  # models of others may have them in an order of their own
        return order[np.searchsorted(self.classes, labels, sorter=order)]

    def winners(self, outputs: Array) -> Array:  # (n,)
        """Numbers of the classes that win."""
        raise NotImplementedError

    def answer(self, outputs: Array) -> Array:  # (n,)
        """Labels."""
        labels: Array = self.classes.take(self.winners(outputs))
        return labels

    def scores(self, outputs: Array) -> Array:
        """What `decision_function` gives."""
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def probabilities(self, outputs: Array) -> Array:  # (n, n_classes)
        """Probability of each class; the largest is that of the class that wins."""
        if self.probability is None:
            raise AttributeError("this model has no probabilities.")
        return self.probability(outputs, self.winners(outputs))


@dataclass(frozen=True, eq=False)
class SignReadout(_Labels):
    """Two classes by the sign of one output: positive means the second.

    Parameters
    ----------
    classes : array of shape (2,)
    probability : Probability or None
    zero : {0, 1}
        Number of the class that an output of exactly zero means.

    Examples
    --------
    >>> SignReadout(np.array(["no", "yes"])).answer(np.array([[-0.5], [2.0]])).tolist()
    ['no', 'yes']
    """

    zero: int = 0

    def winners(self, outputs: Array) -> Array:  # (n,)
        """Numbers of the classes that win."""
        positive: Array = outputs[:, 0] >= 0 if self.zero else outputs[:, 0] > 0
        return positive.astype(np.intp)

    def signs(self, codes: Array) -> Array:  # (n, 1)
        """The signs the outputs of rows of these classes should have."""
        return np.where(codes == 1, 1.0, -1.0)[:, None]


@dataclass(frozen=True, eq=False)
class LargestReadout(_Labels):
    """Several classes, one output each: the largest wins.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    probability : Probability or None
    half_digits : bool
        Whether outputs are compared to half their digits and the first of equals wins: for machines that leave rows
        exactly on the border between classes, where the last digits differ between a row alone and among others.

    Examples
    --------
    >>> LargestReadout(np.array(["a", "b", "c"])).answer(np.array([[0.1, -1.0, 0.7]])).tolist()
    ['c']
    """

    half_digits: bool = False

    def winners(self, outputs: Array) -> Array:  # (n,)
        """Numbers of the classes that win."""
        if self.half_digits:
            largest = outputs.max(axis=1, keepdims=True)
            rounding = np.sqrt(np.finfo(outputs.dtype).eps) * np.maximum(1.0, np.abs(largest))
            outputs = outputs >= largest - rounding
        return outputs.argmax(axis=1)

    def signs(self, codes: Array) -> Array:  # (n, n_classes)
        """The signs the outputs of rows of these classes should have: each class against the rest."""
        return np.where(codes[:, None] == np.arange(len(self.classes)), 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class VotesReadout(_Labels):
    """Several classes by the votes of all pairs, as `sklearn.svm.SVC` does it.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        There is one output for each pair i < j of classes in the order (0, 1), (0, 2), ..., (1, 2), ...; positive
        means i.
    probability : Probability or None
    break_ties : bool
        Whether equal votes are decided by the outputs; otherwise the first class wins.
    one_for_each_pair : bool
        Whether `scores` gives the outputs of the pairs; otherwise one number for each class.

    Examples
    --------
    >>> VotesReadout(np.array(["a", "b", "c"])).answer(np.array([[-1.0, 2.0, 3.0]])).tolist()
    ['b']
    """

    break_ties: bool = False
    one_for_each_pair: bool = False

    @cached_property
    def _ballot(self) -> tuple[Array, Array]:  # (n_pairs, n_classes), (n_classes,)
        """Votes of class c: won @ first[:, c] + second[c], with won = 1 where a pair goes to its first class."""
        n_classes = len(self.classes)
        i, j = np.triu_indices(n_classes, 1)
        pairs = np.arange(len(i))
        first = np.zeros((len(i), n_classes))
        first[pairs, i], first[pairs, j] = 1.0, -1.0
        return first, np.bincount(j, minlength=n_classes).astype(np.float64)

    def votes(self, outputs: Array) -> Array:  # (n, n_classes)
        """Pairs won by each class; a pair whose output is not positive goes to its second class."""
        first, second = self._ballot
        return (outputs > 0) @ first + second

    def by_class(self, outputs: Array) -> Array:  # (n, n_classes)
        """Votes, and added to them the sum of the outputs, squeezed to less than half a vote."""
        first, second = self._ballot
        # not a product of matrices, whose last digits depend on the number of rows
        confidence = np.einsum("np,pc->nc", outputs.astype(np.float64), first)
        squeezed: Array = confidence / (3.0 * (np.abs(confidence) + 1.0))
        return (outputs >= 0) @ first + second + squeezed

    @property
    def class_sums(self) -> Array:  # (n_pairs, n_classes)
        """From the outputs of the pairs to the mean, for each class, of those of its own pairs."""
        return self._ballot[0] / (len(self.classes) - 1)

    def class_scores(self, outputs: Array) -> Array:  # (n, n_classes)
        """Votes and confidence, like `by_class`; the largest is always that of the class that wins."""
        scores = self.by_class(outputs)
        rows, winner = np.arange(len(scores)), self.winners(outputs)
        behind = scores[rows, winner] < scores.max(axis=1)
        scores[rows[behind], winner[behind]] = np.nextafter(scores.max(axis=1)[behind], np.inf)
        return scores

    def probabilities(self, outputs: Array) -> Array:  # (n, n_classes)
        """Probability of each class, from one score for each; the largest is that of the class that wins."""
        if self.probability is None:
            raise AttributeError("this model has no probabilities.")
        return self.probability(self.class_scores(outputs))

    def winners(self, outputs: Array) -> Array:  # (n,)
        """Numbers of the classes that win."""
        decided_by_outputs = self.break_ties and not self.one_for_each_pair
        votes = self.by_class(outputs) if decided_by_outputs else self.votes(outputs)
        return votes.argmax(axis=1)  # the first of equals

    def scores(self, outputs: Array) -> Array:
        """What `decision_function` gives."""
        return outputs if self.one_for_each_pair else self.by_class(outputs)

    def signs(self, codes: Array) -> Array:  # (n, n_pairs)
        """The signs the outputs of rows of these classes should have; 0 for pairs of other classes."""
        i, j = np.triu_indices(len(self.classes), 1)
        return (codes[:, None] == i).astype(np.float64) - (codes[:, None] == j)


@dataclass(frozen=True)
class ValueReadout:
    """The outputs as predicted targets.

    Parameters
    ----------
    one_target : bool
        Whether the answer has one dimension.
    """

    one_target: bool = True

    def answer(self, outputs: Array) -> Array:  # (n,) or (n, n_targets)
        """Values."""
        return outputs[:, 0] if self.one_target else outputs


@dataclass(frozen=True)
class InlierReadout:
    """A positive output is an inlier.

    Parameters
    ----------
    offset : float
        `raw_scores` are the outputs plus this.
    """

    offset: float = 0.0

    def answer(self, outputs: Array) -> Array:  # (n,)
        """+1 for inliers, -1 for outliers."""
        return np.where(outputs[:, 0] > 0, 1, -1)

    def scores(self, outputs: Array) -> Array:  # (n,)
        """What `decision_function` gives."""
        return outputs[:, 0]

    def raw_scores(self, outputs: Array) -> Array:  # (n,)
        """What `score_samples` gives."""
        return outputs[:, 0] + self.offset


@dataclass(frozen=True)
class FeaturesReadout:
    """The outputs as new features.

    Parameters
    ----------
    prefix : str
        The names of the new features are this and a number.
    """

    prefix: str = "output"

    def answer(self, outputs: Array) -> Array:  # (n, n_outputs)
        """Features."""
        return outputs

    def names(self, n_outputs: int) -> Array:
        """Names of the new features."""
        return np.array([f"{self.prefix}{o}" for o in range(n_outputs)], dtype=object)


@dataclass(frozen=True)
class DensityReadout:
    """The output as a probability density, in units of exp(`log_unit`): in many dimensions densities are no numbers."""

    log_unit: float = 0.0

    def answer(self, outputs: Array) -> Array:  # (n,)
        """Logarithm of the density; minus infinity where the output is too small for its type."""
        with np.errstate(divide="ignore"):
            logarithm: Array = np.log(np.maximum(outputs[:, 0], 0.0))
        return logarithm + outputs.dtype.type(self.log_unit)


LabelReadout: TypeAlias = SignReadout | LargestReadout | VotesReadout
Readout: TypeAlias = LabelReadout | ValueReadout | InlierReadout | FeaturesReadout | DensityReadout


def label_readout(
    classes: Array, probability: Probability | None = None, *, half_digits: bool = False
) -> SignReadout | LargestReadout:
    """The readout of a machine with one output for two classes, and one for each of more."""
    if len(classes) == 2:
        return SignReadout(classes, probability)
    return LargestReadout(classes, probability, half_digits)


def fits_outputs(readout: Readout, n_outputs: int) -> bool:
    """Whether an expansion of so many outputs has what the readout reads."""
    if isinstance(readout, LabelReadout):
        n = len(readout.classes)
        if isinstance(readout, SignReadout):
            return n == 2 and n_outputs == 1
        return n >= 2 and n_outputs == (n if isinstance(readout, LargestReadout) else n * (n - 1) // 2)
    one = isinstance(readout, InlierReadout | DensityReadout) or (
        isinstance(readout, ValueReadout) and readout.one_target
    )
    return n_outputs == 1 if one else n_outputs >= 1
