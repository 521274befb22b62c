"""Choosing width, penalty, kind of widths and size by cross-validation, with models that grow.

A first width and penalty come from ridge regression (`ridge`). Around them a small grid is tried with models of
one size, and of twice that; then models of every size are grown for the kinds of widths still in question. All
choices compare errors on the same held-out rows, so that what counts is the standard error of a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import itemgetter

import numpy as np

from ...losses import Squared
from ...rows import Array
from ...words import count
from .choice import Choice, Limits, ladder
from .curve import Curve, much_worse, negligible
from .machines import Machine, Setting
from .ridge import FEW_ROWS
from .trial import FOLDS, Trial

# Rows for the search over settings, and for that over sizes; above, a random part of them serves.
SETTING_ROWS = 2_000
SIZE_ROWS = 10_000
# Folds that are used of the FOLDS when rows are many enough.
FEW_FOLDS = 2
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
# Vectors of the models by which settings are compared, times the square root of the number of outputs.
COMPARED_SIZE = 8
# They are doubled, up to the second number, while their error is this many times that of ridge regression.
TOO_SMALL, LARGEST_COMPARED = 4.0, 64
# A neighbour on the grid counts with this weight against 2 of the point itself: the error is noisy, and flat.
NEIGHBOUR = 1.0
# At the compared size, a kind of widths that learns more is dropped if it is not better than one that learns less,
# and the other is dropped if it is better by this many standard errors.
STAY = 3.0
# A kind that learns more must be better by this many standard errors than one that learns less.
BETTER = 2.0
# Where ridge regression makes more mistakes than this, a width that is learnt fits the noise, and so does a search.
NOISY = 0.15
# The last fit of a model with one width and no more mistakes than this goes on to the end, and so does that of more
# rows than SETTING_ROWS.
FEW_MISTAKES = 0.05
# All sizes up to this are tried.
LEAST_TRIED = 16
# Without a budget, models grow to at most this many vectors.
LARGEST = 512


def choose(
    machine: Machine,
    limits: Limits,
    rng: np.random.Generator,
    *,
    n_threads: int,
    report: Callable[[str], None],
    keeps: tuple[type[BaseException], ...] = (),
) -> Choice:
    """Choose setting and size; one of the exceptions `keeps` ends the search and what is known by then decides."""
    data = machine.data
    seed = int(rng.integers(2**63))
    state = _State(limits)
    with ThreadPoolExecutor(n_threads) as pool:
        run = pool.map if n_threads > 1 else map
        try:
            some = data.sample(SETTING_ROWS, rng)
            part = machine.on(some) if len(some) < data.n else machine
            scaling, *first = part.first(limits.width, limits.penalty, rng)
            machine, part = machine.scaled(scaling), part.scaled(scaling)
            report(f"ridge regression: scaling {scaling}, width {first[0]:.3g}, C {1 / first[1]:.3g}")
            noisy = first[2] > NOISY
            known = data.classify and (data.n <= FEW_ROWS or (noisy and data.n <= SETTING_ROWS))
            if known or noisy:
                limits = replace(limits, kinds=tuple("fixed" if k == "one" else k for k in limits.kinds))
            if known:
                # five folds say less than ridge regression knows: its width and penalty stay, and so its loss
                limits = replace(limits, width=first[0], penalty=first[1])
                machine, part = machine.with_loss(Squared()), part.with_loss(Squared())
            trial = Trial(part, FOLDS if len(some) == data.n else FEW_FOLDS, seed, first[2], run)
            _search_settings(trial, limits, state, first, report)
            if data.n > SETTING_ROWS:
                part = machine.on(data.sample(SIZE_ROWS, rng))
                state.halves = False
                trial = Trial(part, FEW_FOLDS, seed, first[2], run)
                reached = _tune_on_more_rows(trial, limits, state, report)
                trial = Trial(part, 1, seed, reached, run)
            _search_sizes(trial, limits, state, report)
            more = np.sqrt(data.n / part.data.n)  # all rows bear more vectors than the part that was searched
            state.size = min(limits.max_vectors, int(more * state.size))
        except keeps:
            return state.choice(machine, interrupted=True)
    return state.choice(machine, interrupted=False)


class _State:
    """What the search knows so far."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.setting = Setting(limits.width or 1.0, limits.penalty or 0.25, limits.kinds[0])
        self.settings: dict[str, Setting] = {}
        self.weakest = self.setting.penalty  # of those tried
        self.expected = np.inf  # mistakes of ridge regression
        self.size = min(COMPARED_SIZE, limits.max_vectors)
        self.least = LEAST_TRIED  # all sizes up to this are tried
        self.halves = True  # whether sizes between the powers of two are tried
        self.to_the_end = True
        self.held: tuple[Array, Array, Array] | None = None
        self.table: list[tuple[str, int, float, float]] = []

    def ladder(self, kind: str) -> list[int]:
        """Sizes to try with this kind of widths."""
        return ladder(self.limits.max_vectors, halves=self.halves and kind != "per_feature")

    def choice(self, machine: Machine, *, interrupted: bool) -> Choice:
        held = self.held
        if held is None:
            none = np.zeros((0, machine.data.Y.shape[1]))
            held = none, np.zeros(0, dtype=np.intp), np.zeros(0)
        outputs, groups, weight = held
        sizes = [size for size in self.ladder(self.setting.widths) if size < self.size]
        return Choice(
            machine, self.setting, [*sizes, self.size], outputs, groups, weight, self.table, interrupted,
            self.to_the_end,
        )  # fmt: skip


def _search_settings(
    trial: Trial,
    limits: Limits,
    state: _State,
    first: Sequence[float],
    report: Callable[[str], None],
) -> None:
    machine, kinds = trial.machine, limits.kinds
    width, penalty, expected = first
    every = len(trial.train) == FOLDS  # whether these are all the rows there are
    start = state.setting = Setting(width, penalty, kinds[0])
    state.expected = expected
    state.weakest = penalty * (PENALTY_FACTORS[0] if limits.penalty is None else 1.0)
    size = _compared_size(trial, limits, start, expected)
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
        state.settings[kind], errors[kind] = _best_around(trial, limits, base, kind, LEARNT_FACTORS, size)
        report(f"widths {kind}: error {trial.mean(errors[kind]):.4g}")
        gain = errors[kinds[0]] - errors[kind]
        good = not much_worse(trial, errors[kind], expected)
        if trial.mean(gain) < 0:
            del state.settings[kind]
        elif every and good and trial.mean(gain) > STAY * trial.standard_error(gain):
            del state.settings[kinds[0]]
    if kinds[0] in state.settings and every and not widths_tried and machine.data.Y.shape[1] == 1:
        grid.add(trial, min(2 * size, limits.max_vectors))
        state.settings[kinds[0]], _ = grid.best()
    state.setting = next(iter(state.settings.values()))


def _compared_size(trial: Trial, limits: Limits, start: Setting, expected: float) -> int:
    """The size at which settings are compared: large enough for what ridge regression has found."""
    n_outputs = trial.machine.data.Y.shape[1]
    size = min(COMPARED_SIZE * int(np.ceil(np.sqrt(n_outputs))), limits.max_vectors)
    largest = min(max(size, LARGEST_COMPARED), limits.max_vectors)
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


def _tune_on_more_rows(trial: Trial, limits: Limits, state: _State, report: Callable[[str], None]) -> float:
    """More rows bear narrower kernels and less regularisation: go on while the error falls; the mistakes reached."""
    likely = limits.max_vectors if limits.wished else TUNED_SIZE * trial.machine.data.Y.shape[1]
    size = min(likely, limits.max_vectors, LARGEST_TUNED)
    outputs = [trial.at(setting, size)[0] for setting in state.settings.values()]
    trial.expect(min(trial.mean(trial.mistakes(found)) for found in outputs))
    for (kind, setting), found in zip(state.settings.items(), outputs, strict=True):
        errors = trial.errors(found)
        for _ in range(TUNING_ROUNDS):
            candidate, others = _best_around(trial, limits, setting, kind, TUNING_FACTORS, size)
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


def _search_sizes(trial: Trial, limits: Limits, state: _State, report: Callable[[str], None]) -> None:
    sensible = limits.max_vectors if limits.wished else np.sqrt(trial.machine.data.n)
    chosen: Array | None = None  # errors at the best size of the chosen kind
    for kind in limits.kinds:
        if kind not in state.settings:
            continue
        curve = Curve(trial, state.settings[kind], state.expected, sensible)
        _grow(curve, state, report)
        errors = curve.errors[curve.best]
        if chosen is None or (not curve.too_small and _clearly_better(trial, chosen - errors)):
            chosen = errors
            _take(curve, state)
        state.table += [
            (kind, size, trial.mean(mistakes), trial.standard_error(mistakes))
            for size, mistakes in sorted(zip(curve.sizes, curve.mistakes, strict=True), key=itemgetter(0))
        ]


def _clearly_better(trial: Trial, gain: Array) -> bool:
    return trial.mean(gain) > BETTER * trial.standard_error(gain)


def _grow(curve: Curve, state: _State, report: Callable[[str], None]) -> None:
    """Models of growing size until that does not help any more."""
    trial, setting = curve.trial, curve.setting
    sizes = [size for size in state.ladder(setting.widths) if size == 1 or trial.machine.can_try(size)]
    for size, (outputs, errors) in zip(sizes, trial.grown(setting, sizes), strict=True):
        curve.add(size, outputs, errors)
        report(f"{count(size, 'vector')}, widths {setting.widths}: error {trial.mean(errors):.4g}")
        if size > state.least and not curve.improves:
            break


def _take(curve: Curve, state: _State) -> None:
    """The smallest size of the curve that is enough becomes the choice."""
    trial, setting = curve.trial, curve.setting
    many = trial.machine.data.n > SETTING_ROWS
    if curve.too_small:  # the folds have nothing to say, and noise is not the trouble
        at = len(curve.sizes) - 1
        setting = replace(setting, penalty=state.weakest)
    else:
        # among many rows more vectors than are needed do no harm
        wished = curve.largest_near if many else curve.best
        at = wished if state.limits.wished else curve.smallest_near
        if not state.limits.wished and state.halves and setting.widths != "per_feature":
            at = curve.try_between(at)
    state.setting, state.size = setting, curve.sizes[at]
    if (
        state.limits.wished
        and state.size == max(curve.sizes)
        and not trial.machine.can_try(state.limits.max_vectors)
    ):
        state.size = state.limits.max_vectors
    state.held = curve.outputs[at], trial.groups, trial.weight
    clean = setting.widths != "per_feature" and trial.mean(curve.mistakes[at]) <= FEW_MISTAKES
    state.to_the_end = curve.too_small or clean or many
