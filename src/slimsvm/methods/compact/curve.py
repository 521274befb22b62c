"""What models of growing size have reached with one setting, and which of them is enough."""

from __future__ import annotations

from collections.abc import Sequence

from ...rows import Array
from .compare import NEAR
from .machines import Setting
from .trial import Trial

# A metric that learns more must be better by this many standard errors.
BETTER = 2.0
# Growing ends when this many sizes were not better than the best before them; but not before twice the size settings
# are compared at. More vectors than the square root of the number of rows, which is as many as theory asks for, must be
# better like a metric that learns more.
PATIENCE = 3
# Of mistakes nobody misses this share of their standard error: no test would notice.
NOTICED = 0.25


class Curve:
    """What each size reached with one setting."""

    def __init__(self, trial: Trial, setting: Setting, sensible: float) -> None:
        """Sizes larger than `sensible` must earn it."""
        self.trial, self.setting, self.sensible = trial, setting, sensible
        self.sizes: list[int] = []
        self.outputs: list[Array] = []
        self.errors: list[Array] = []  # blurred
        self.mistakes: list[Array] = []

    def add(self, size: int, outputs: Array) -> None:
        """The next size, with its held-out outputs."""
        self.sizes.append(size)
        self.outputs.append(outputs)
        self.errors.append(self.trial.errors(outputs))
        self.mistakes.append(self.trial.mistakes(outputs))

    @property
    def falls(self) -> bool:
        """Whether one of the last sizes is better than all before them; a large one must be clearly better."""
        if self.sizes[-1] > self.sensible:
            before = self.errors[:-1]
            return self.trial.clearly_better(self.errors[-1], before[self.trial.best(before)], BETTER)
        return self.trial.best(self.mistakes) >= len(self.sizes) - PATIENCE

    def best(self, places: Sequence[int]) -> int:
        """The place of the least error; of sizes that are not sensible one must be clearly better."""
        best = places[0]
        for at in places:
            z = BETTER if self.sizes[at] > self.sensible else 0.0
            if self.trial.clearly_better(self.errors[at], self.errors[best], z):
                best = at
        return best

    def smallest_enough(self, places: Sequence[int], unseen: float) -> int:
        """The first place, of sizes in order, that is nearly as good as the best."""
        best = self.best(places)
        z = 0.0
        if not unseen:
            z, unseen = NEAR, NOTICED * self.trial.standard_error(self.mistakes[best])
        errors = [self.errors[at] for at in places]
        return places[self.trial.smallest_enough(errors, self.errors[best], z, unseen)]

    def upto(self, most: int) -> list[int]:
        """Places of the sizes up to this, the smallest first."""
        return sorted(
            (at for at, size in enumerate(self.sizes) if size <= most), key=lambda at: self.sizes[at]
        )
