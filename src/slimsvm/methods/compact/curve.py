"""What one setting reaches at growing sizes, and which size is enough."""

from __future__ import annotations

import numpy as np

from ...rows import Array
from .machines import Setting
from .trial import Trial

# The smallest model is chosen that is within this many standard errors (of the difference) of the best, or within
# this share of the standard error of the best one's mistakes: less than that no test would notice.
NEAR, NOTICED = 0.5, 0.25
# Of the variance of targets nobody misses this share either.
NEGLIGIBLE = 1e-3
# Growing ends when this many sizes were not better than the best before them.
PATIENCE = 3
# More vectors than the square root of the number of rows, which is as many as theory asks for, must earn it:
# this many sizes, not PATIENCE, and by this many standard errors. A limit the user sets is as good as a wish.
LARGE_PATIENCE, CLEARLY_BETTER = 1, 2.0
# Growing does not end while the error is this many times that of ridge regression.
MUCH_WORSE = 2.0


def much_worse(trial: Trial, mistakes: Array, expected: float) -> bool:
    """Whether a model is much worse than ridge regression: then it is too small."""
    limit = max(MUCH_WORSE * expected, negligible(trial))
    return trial.mean(mistakes) - trial.standard_error(mistakes) > limit


def negligible(trial: Trial) -> float:
    """A difference in the mean error that does not count."""
    return 0.0 if trial.machine.data.classify else NEGLIGIBLE


class Curve:
    """What each size reached with one setting."""

    def __init__(self, trial: Trial, setting: Setting, expected: float, sensible: float) -> None:
        """`expected` are the mistakes of ridge regression; larger sizes than `sensible` must earn it."""
        self.trial, self.setting = trial, setting
        self.expected, self.sensible = expected, sensible
        self.sizes: list[int] = []
        self.outputs: list[Array] = []
        self.errors: list[Array] = []  # blurred
        self.mistakes: list[Array] = []

    def add(self, size: int, outputs: Array, errors: Array) -> None:
        """The next size, with its held-out outputs and errors."""
        self.sizes.append(size)
        self.outputs.append(outputs)
        self.errors.append(errors)
        self.mistakes.append(self.trial.mistakes(outputs))

    @property
    def too_small(self) -> bool:
        """Whether all these models are too small."""
        return all(much_worse(self.trial, mistakes, self.expected) for mistakes in self.mistakes)

    @property
    def improves(self) -> bool:
        """Whether one of the last sizes is better than all before them; for large models, clearly better."""
        if self.too_small:
            return True
        large = self.sizes[-1] > self.sensible
        patience = LARGE_PATIENCE if large else PATIENCE
        mean = self.trial.mean
        gain = min(self.mistakes[:-patience], key=mean) - min(self.mistakes[-patience:], key=mean)
        least = CLEARLY_BETTER * self.trial.standard_error(gain) if large else 0.0
        return mean(gain) > max(least, negligible(self.trial))

    @property
    def best(self) -> int:
        """The place of the size with the least error; one that is not sensible must be clearly better."""
        best = 0
        for at, size in enumerate(self.sizes):
            gain = self.errors[best] - self.errors[at]
            least = CLEARLY_BETTER * self.trial.standard_error(gain) if size > self.sensible else 0.0
            if self.trial.mean(gain) > least:
                best = at
        return best

    @property
    def smallest_near(self) -> int:
        """The place of the first size that is nearly as good as the best."""
        return next(at for at, errors in enumerate(self.errors) if self.is_near(errors))

    def has_near(self, largest: int) -> bool:
        """Whether one of the sizes up to this is nearly as good as the best."""
        return any(
            self.is_near(errors)
            for size, errors in zip(self.sizes, self.errors, strict=True)
            if size <= largest
        )

    def is_near(self, errors: Array) -> bool:
        """Whether a model with these errors is nearly as good as the best."""
        behind = errors - self.errors[self.best]
        noticed = NOTICED * self.trial.standard_error(self.mistakes[self.best])
        unseen = max(noticed, negligible(self.trial))
        return self.trial.mean(behind) <= max(NEAR * self.trial.standard_error(behind), unseen)

    def try_between(self, at: int) -> int:
        """Try the size half-way to the one below, which is not near; the place of the smallest that is."""
        if at == 0 or self.sizes[at] - self.sizes[at - 1] < 2:
            return at
        size = int(np.mean(self.sizes[at - 1 : at + 1]))
        outputs, errors = self.trial.at(self.setting, size)
        between = at if not self.is_near(errors) else len(self.sizes)
        self.add(size, outputs, errors)
        return between
