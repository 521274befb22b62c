"""Cross-validation of growing models, for comparisons on the same held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...rows import Array
from .machines import Machine, Setting

FOLDS = 5
# Models are compared with errors blurred by this share of the mean margin; if that is less, by this many times the
# share of mistakes that are expected, or this many times one by the square root of the number of rows.
BLUR, NOISE_BLUR = 0.15, 1.5


class Trial:
    """Cross-validation of one machine, always on the same folds."""

    def __init__(
        self, machine: Machine, n_folds: int, seed: int, expected: float, run: Callable[..., Iterable[Any]]
    ) -> None:
        """`n_folds` of the FOLDS are used; `run` maps a function over them, in threads or not.

        `expected` mistakes say how much noise there is, and so how much blur is right.
        """
        data = machine.data
        folds = data.folds(FOLDS, np.random.default_rng([seed, 0]))[:n_folds]
        self.machine, self.seed, self.run = machine, seed, run
        self.train = [train for train, _ in folds]
        self.held = [np.flatnonzero(held > 0) for _, held in folds]
        self.weight = np.concatenate([held[rows] for (_, held), rows in zip(folds, self.held, strict=True)])
        rows = np.concatenate(self.held)
        self.groups = data.groups[rows]
        self._held_rows = data.take(rows)
        self._tried: dict[tuple[Setting, int], Array] = {}  # outputs of one size
        self.expect(expected)

    def expect(self, mistakes: float) -> None:
        """So many mistakes are expected from now on."""
        self.expected = mistakes
        self.blur = min(BLUR, NOISE_BLUR * max(mistakes, 1.0 / np.sqrt(self.machine.data.n)))

    def grown(self, setting: Setting, sizes: Sequence[int]) -> Iterator[tuple[Array, Array]]:
        """For each size, held-out outputs (n_held, k) and errors (n_held,), one after the other.

        Nothing is computed before it is asked for.
        """
        paths = [
            self.machine.path(setting, train, sizes, np.random.default_rng([self.seed, 1 + fold]))
            for fold, train in enumerate(self.train)
        ]

        def step(fold: int) -> Array:
            return self.machine.outputs(next(paths[fold]), self.held[fold])

        for _ in sizes:
            outputs = np.concatenate(list(self.run(step, range(len(paths)))))
            yield outputs, self.errors(outputs)

    def at(self, setting: Setting, size: int) -> tuple[Array, Array]:
        """Held-out outputs and errors at one size."""
        if (setting, size) not in self._tried:
            self._tried[setting, size], _ = next(self.grown(setting, [size]))
        outputs = self._tried[setting, size]
        return outputs, self.errors(outputs)

    def errors(self, outputs: Array) -> Array:  # (n_held, k) -> (n_held,)
        """What these held-out outputs cost, with blur."""
        ends = np.cumsum([len(rows) for rows in self.held])[:-1]
        parts = zip(self.held, np.split(outputs, ends), strict=True)
        return np.concatenate([self.machine.data.take(rows).errors(part, self.blur) for rows, part in parts])

    def mistakes(self, outputs: Array) -> Array:  # (n_held, k) -> (n_held,)
        """What these held-out outputs cost without blur: 1 for a wrong class."""
        return self._held_rows.mistakes(outputs)

    def mean(self, errors: Array) -> float:
        """The weighted mean."""
        return float(self.weight @ errors / self.weight.sum())

    def standard_error(self, difference: Array) -> float:
        """Standard error of the weighted mean."""
        away = difference - self.mean(difference)
        return float(np.sqrt(np.square(self.weight) @ np.square(away)) / self.weight.sum())
