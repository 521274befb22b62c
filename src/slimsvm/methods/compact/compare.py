"""Is one model better than another? One answer for all questions of the search: errors on the same held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...rows import Array

# The smallest model is taken that the best is not better than by this many standard errors: with none many vectors are
# spent on chance, with one or more accuracy is lost.
NEAR = 0.5


@dataclass(frozen=True)
class Paired:
    """Errors of models on the same held-out rows, which differ in weight.

    Parameters
    ----------
    weight : array of shape (n_held,)
    """

    weight: Array

    def mean(self, errors: Array) -> float:
        """The weighted mean."""
        return float(self.weight @ errors / self.weight.sum())

    def standard_error(self, errors: Array) -> float:
        """Standard error of the weighted mean."""
        away = errors - self.mean(errors)
        return float(np.sqrt(np.square(self.weight) @ np.square(away)) / self.weight.sum())

    def clearly_better(self, a: Array, b: Array, z: float, unseen: float = 0.0) -> bool:
        """Whether errors a are less than errors b by more than z standard errors of the difference.

        Parameters
        ----------
        unseen : float
            A difference that nobody would miss.
        """
        gain = b - a
        return self.mean(gain) > max(z * self.standard_error(gain), unseen)

    def best(self, errors: Sequence[Array]) -> int:
        """The number of the model with the least error."""
        return int(np.argmin([self.mean(each) for each in errors]))

    def smallest_enough(
        self, errors: Sequence[Array], best: Array, z: float = NEAR, unseen: float = 0.0
    ) -> int:
        """The first of the models, smallest first, that the one with the errors `best` is not clearly better than."""
        return next(at for at, each in enumerate(errors) if not self.clearly_better(best, each, z, unseen))
