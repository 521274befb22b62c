"""Choosing width and penalty for each kind of widths, on a grid around what ridge regression found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...rows import Array
from .choice import Limits
from .curve import much_worse, negligible
from .machines import Setting
from .state import COMPARED_SIZE, LEAST_TRIED, State
from .trial import FOLDS, Trial

# The grid around what ridge regression found: factors on the width (and on the penalty with it, because a wider
# kernel needs less), and on the penalty alone.
WIDTH_FACTORS = (0.25, 1.0, 4.0)
PENALTY_FACTORS = (1 / 16, 0.25, 1.0, 4.0)
# Factors on width and penalty (with it, and alone) where widths are learnt.
LEARNT_FACTORS = ((1.0, 0.25), (1.0, 1.0), (4.0, 0.25), (4.0, 1.0))
# When there are more rows than SETTING_ROWS: factors on width and penalty that are tried again, how often, and with
# how many vectors for each output, and at most. A step must be better by this many standard errors.
TUNING_FACTORS = ((4.0, 0.125), (1.0, 0.25))
TUNING_ROUNDS = 3
TUNED_SIZE, LARGEST_TUNED = 32, 128
EARNED = 1.0
# They are doubled, up to the second number, while their error is this many times that of ridge regression.
TOO_SMALL, LARGEST_COMPARED = 4.0, 64
# A neighbour on the grid counts with this weight against 2 of the point itself: the error is noisy, and flat.
NEIGHBOUR = 1.0
# At the compared size, a kind of widths that learns more is dropped if it is not better than one that learns less,
# and the other is dropped if it is better by this many standard errors.
STAY = 3.0


def search_settings(
    trial: Trial,
    limits: Limits,
    state: State,
    first: Sequence[float],
    report: Callable[[str], None],
) -> None:
    """The best setting of each kind of widths that is still in question; `first` is what ridge regression found."""
    machine, kinds = trial.machine, limits.kinds
    width, penalty, expected = first
    every = len(trial.train) == FOLDS  # whether these are all the rows there are
    start = state.setting = Setting(width, penalty, kinds[0])
    state.expected = expected
    state.weakest = penalty * (PENALTY_FACTORS[0] if limits.penalty is None else 1.0)
    size = _compared_size(trial, limits.most[kinds[0]], start, expected)
    state.least = max(LEAST_TRIED, 2 * size)
    widths_tried = kinds[0] == "fixed" and limits.width is None and machine.has_width
    grid = _Grid(
        limits, start, WIDTH_FACTORS if widths_tried else (1.0,), PENALTY_FACTORS if every else (1.0,)
    )
    grid.add(trial, size)
    base, found = grid.best()
    errors = {kinds[0]: found}
    state.setting, state.settings = base, {kinds[0]: base}
    report(f"width {base.width:.3g}, C {1 / base.penalty:.3g}: error {trial.mean(found):.4g}")
    for kind in kinds[1:]:
        allowed = min(size, limits.most[kind])
        state.settings[kind], errors[kind] = _best_around(trial, limits, base, kind, LEARNT_FACTORS, allowed)
        report(f"widths {kind}: error {trial.mean(errors[kind]):.4g}")
        gain = errors[kinds[0]] - errors[kind]
        good = not much_worse(trial, errors[kind], expected)
        if trial.mean(gain) < 0:
            del state.settings[kind]
        elif every and good and trial.mean(gain) > STAY * trial.standard_error(gain):
            del state.settings[kinds[0]]
    if kinds[0] in state.settings and every and not widths_tried and machine.data.Y.shape[1] == 1:
        grid.add(trial, min(2 * size, limits.most[kinds[0]]))
        state.settings[kinds[0]], _ = grid.best()
    state.setting = next(iter(state.settings.values()))


def _compared_size(trial: Trial, most: int, start: Setting, expected: float) -> int:
    """The size at which settings are compared: large enough for what ridge regression has found."""
    n_outputs = trial.machine.data.Y.shape[1]
    size = min(COMPARED_SIZE * int(np.ceil(np.sqrt(n_outputs))), most)
    largest = min(max(size, LARGEST_COMPARED), most)
    while size < largest:
        mistakes = trial.mistakes(trial.at(start, size)[0])
        enough = max(TOO_SMALL * expected, negligible(trial))
        if trial.mean(mistakes) <= enough + trial.standard_error(mistakes):
            break
        size = min(2 * size, largest)
    return size


class _Grid:
    """Settings around a first one, and their errors at one size or several."""

    def __init__(
        self, limits: Limits, start: Setting, width_factors: Sequence[float], penalty_factors: Sequence[float]
    ) -> None:
        free = limits.penalty is None
        self.settings = [
            [
                replace(start, width=start.width * a, penalty=start.penalty * (a * b if free else 1.0))
                for b in (penalty_factors if free else (1.0,))
            ]
            for a in width_factors
        ]
        self.mean = np.zeros((len(self.settings), len(self.settings[0])))
        self.errors: list[list[Array]] = []

    def add(self, trial: Trial, size: int) -> None:
        """Train models of this size with every setting."""
        self.errors = [[trial.at(setting, size)[1] for setting in row] for row in self.settings]
        self.mean += np.array([[trial.mean(errors) for errors in row] for row in self.errors])

    def best(self) -> tuple[Setting, Array]:
        """The best setting over the sizes so far, and its errors at the last of them."""
        i, j = _smoothed_best(self.mean)
        return self.settings[i][j], self.errors[i][j]


def _best_around(
    trial: Trial,
    limits: Limits,
    base: Setting,
    kind: str,
    factors: Sequence[tuple[float, float]],
    size: int,
) -> tuple[Setting, Array]:
    """The best of the settings these factors on width and penalty lead to, and its errors; what is given stays."""
    tried = list(
        dict.fromkeys(
            Setting(
                base.width * (a if limits.width is None else 1.0),
                base.penalty * (a * b if limits.penalty is None else 1.0),
                kind,
            )
            for a, b in factors
        )
    )
    results = [trial.at(setting, size)[1] for setting in tried]
    least = int(np.argmin([trial.mean(result) for result in results]))
    return tried[least], results[least]


def tune_on_more_rows(trial: Trial, limits: Limits, state: State, report: Callable[[str], None]) -> float:
    """More rows bear narrower kernels and less regularisation: go on while the error falls; the mistakes reached."""
    likely = min(TUNED_SIZE * trial.machine.data.Y.shape[1], LARGEST_TUNED)
    sizes = {kind: min(likely, limits.most[kind]) for kind in state.settings}
    outputs = [trial.at(setting, sizes[kind])[0] for kind, setting in state.settings.items()]
    trial.expect(min(trial.mean(trial.mistakes(found)) for found in outputs))
    for (kind, setting), found in zip(state.settings.items(), outputs, strict=True):
        errors = trial.errors(found)
        for _ in range(TUNING_ROUNDS):
            candidate, others = _best_around(trial, limits, setting, kind, TUNING_FACTORS, sizes[kind])
            gain = errors - others
            if not trial.mean(gain) > EARNED * trial.standard_error(gain):
                break
            setting, errors = candidate, others
            report(
                f"more rows, widths {kind}: width {setting.width:.3g}, C {1 / setting.penalty:.3g}, "
                f"error {trial.mean(errors):.4g}"
            )
        state.settings[kind] = setting
    return trial.expected


def _smoothed_best(grid: Array) -> tuple[int, int]:
    i, j = np.unravel_index(int(_smoothed(grid).argmin()), grid.shape)
    return int(i), int(j)


def _smoothed(grid: Array) -> Array:
    """Each entry averaged with its neighbours."""
    total, weight = 2.0 * grid, np.full(grid.shape, 2.0)
    for axis in (0, 1):
        for shift in (-1, 1):
            there = np.roll(grid, shift, axis)
            inside = np.ones(grid.shape, dtype=bool)
            edge = 0 if shift == 1 else -1
            inside[(edge, slice(None)) if axis == 0 else (slice(None), edge)] = False
            total += NEIGHBOUR * np.where(inside, there, 0.0)
            weight += NEIGHBOUR * inside
    return total / weight
