"""Adam, with a step that grows at first and then falls to zero along a cosine."""

from __future__ import annotations

import numpy as np

from ..rows import Array

FIRST_MOMENT, SECOND_MOMENT = 0.9, 0.99


def cosine(done: int, total: int, warm_up: int) -> float:
    """Share of the step after so many of all batches."""
    return min(done / warm_up, 1.0) * 0.5 * (1.0 + float(np.cos(np.pi * done / total)))


class Adam:
    """Adam on several arrays, which it changes in place."""

    def __init__(self, variables: list[Array], steps: list[float]) -> None:
        self.variables, self.steps, self.done = variables, steps, 0
        self.first = [np.zeros_like(v) for v in variables]
        self.second = [np.zeros_like(v) for v in variables]

    def step(self, gradient: list[Array], scale: float) -> None:
        """One step down these gradients, its length times `scale`."""
        self.done += 1
        first_share = 1.0 - FIRST_MOMENT**self.done
        second_share = 1.0 - SECOND_MOMENT**self.done
        for x, g, m, v, step in zip(
            self.variables, gradient, self.first, self.second, self.steps, strict=True
        ):
            m *= FIRST_MOMENT
            m += (1.0 - FIRST_MOMENT) * g
            v *= SECOND_MOMENT
            v += (1.0 - SECOND_MOMENT) * np.square(g)
            x -= (step * scale / first_share) * m / (np.sqrt(v / second_share) + 1e-8)
