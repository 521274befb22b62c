"""What a search knows so far."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...rows import Array
from .choice import Limits, ladder
from .machines import Machine, Setting
from .trial import Trial

# Vectors of the models by which settings are compared, times the square root of the number of outputs.
COMPARED_SIZE = 8
# All sizes up to this are tried.
LEAST_TRIED = 16


class State:
    """What the search knows so far."""

    def __init__(self, machine: Machine, scaling: int, limits: Limits) -> None:
        self.machine, self.scaling, self.limits = machine, scaling, limits
        self.setting = Setting(limits.width or 1.0, limits.penalty or 0.25, limits.kinds[0])
        self.settings: dict[str, Setting] = {}
        self.budget: Mapping[str, int] = limits.most
        self.weakest = self.setting.penalty  # of those tried
        self.expected = np.inf  # mistakes of ridge regression
        self.size = min(COMPARED_SIZE, limits.most[limits.kinds[0]])
        self.least = LEAST_TRIED  # all sizes up to this are tried
        self.halves = True  # whether sizes between the powers of two are tried
        self.to_the_end = True
        self.held: tuple[Array, Array, Array] | None = None
        self.trial: Trial | None = None  # where the choice was made
        self.table: list[tuple[str, int, float, float]] = []

    def ladder(self, kind: str) -> list[int]:
        """Sizes to try with this kind of widths."""
        return ladder(self.limits.most[kind], halves=self.halves and kind != "per_feature")

    def is_better_than(self, other: State) -> bool:
        """Whether the held-out outputs of what was chosen are better."""
        assert other.trial is not None
        assert self.held is not None
        assert other.held is not None
        trial = other.trial
        return trial.mean(trial.errors(self.held[0])) < trial.mean(trial.errors(other.held[0]))
