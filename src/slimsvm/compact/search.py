"""Choosing width, penalty, kind of widths and size by cross-validation, with models that grow.

A first width and penalty come from ridge regression (`ridge`). Around them a small grid is tried with models of
one size; then models of every size are grown for the kinds of widths still in question. All choices compare
errors on the same held-out rows, so that what counts is the standard error of a difference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..rows import Array
from .machines import Machine, Setting

FOLDS = 5
# Rows for the search over settings, and for that over sizes; above, a random part of them serves.
SETTING_ROWS, SIZE_ROWS = 2_000, 10_000
# Folds that are used of the FOLDS when rows are many enough.
FEW_FOLDS = 2
# The grid around what ridge regression found: factors on the width (and on the penalty with it, because a wider
# kernel needs less), and on the penalty alone.
WIDTH_FACTORS = (0.25, 1.0, 4.0)
PENALTY_FACTORS = (1 / 16, 0.25, 1.0, 4.0)
# Factors on width and penalty (with it, and alone) where widths are learnt.
LEARNT_FACTORS = ((1.0, 0.25), (1.0, 1.0), (4.0, 0.25), (4.0, 1.0))
# When there are more rows than SETTING_ROWS: factors on width and penalty that are tried again, how often, and with
# how many vectors for each output, and at most.
TUNING_FACTORS = ((4.0, 1.0), (4.0, 0.25), (1.0, 0.25))
TUNING_ROUNDS = 2
TUNED_SIZE, LARGEST_TUNED = 32, 128
# Vectors of the models by which settings are compared, times the square root of the number of outputs.
COMPARED_SIZE = 8
# They are doubled, up to the second number, while their error is this many times that of ridge regression.
TOO_SMALL, LARGEST_COMPARED = 4.0, 64
# A neighbour on the grid counts with this weight against 2 of the point itself: the error is noisy, and flat.
NEIGHBOUR = 1.0
# At the compared size, a kind of widths that learns more is dropped if it is not better than one that learns less,
# and the other is dropped if it is better by this many standard errors.
STAY = 2.0
# A kind that learns more must be better by this many standard errors than one that learns less.
BETTER = 1.0
# The smallest model within this many standard errors of the best is chosen.
NEAR = 0.5
# Growing ends when this many sizes were not better than the best before them.
PATIENCE = 3
# More vectors than the square root of the number of rows, which is as many as theory asks for, must earn it:
# this many sizes, not PATIENCE, and by this many standard errors. A limit the user sets is as good as a wish.
LARGE_PATIENCE, CLEARLY_BETTER = 1, 2.0
# All sizes up to this are tried.
LEAST_TRIED = 16
# Without a budget, models grow to at most this many vectors.
LARGEST = 512


@dataclass(frozen=True)
class Choice:
    """What was chosen, and how it did on held-out rows.

    Parameters
    ----------
    machine : Machine
        With the chosen scaling.
    setting : Setting
    sizes : list of int
        Sizes to grow through; the last is the chosen one.
    outputs, groups, weight : arrays of shape (n_held, k), (n_held,), (n_held,)
        Held-out outputs of the chosen setting and size, with classes and weights.
    table : list of (kind of widths, size, error, standard error)
    interrupted : bool
    """

    machine: Machine
    setting: Setting
    sizes: list[int]
    outputs: Array
    groups: Array
    weight: Array
    table: list[tuple[str, int, float, float]] = field(default_factory=list)
    interrupted: bool = False


@dataclass(frozen=True)
class Limits:
    """What the user has fixed: None means that it is searched for.

    Parameters
    ----------
    max_vectors : int
    wished : bool
        Whether the user has named that number.
    width, penalty : float or None
    kinds : tuple of str
        Kinds of widths to choose from, the ones that learn less first.
    """

    max_vectors: int
    wished: bool
    width: float | None
    penalty: float | None
    kinds: tuple[str, ...]


def ladder(largest: int, *, halves: bool = True) -> list[int]:
    """Sizes 1, 2, 3, 4, 6, 8, 12, ... up to and including `largest`; without halves 1, 2, 4, 8, ...

    Examples
    --------
    >>> ladder(10)
    [1, 2, 3, 4, 6, 8, 10]
    """
    sizes = {largest, *(2**i for i in range(31)), *(3 * 2**i for i in range(30) if halves)}
    return sorted(size for size in sizes if size <= largest)


class _Trial:
    """Cross-validation of one machine, always on the same folds."""

    def __init__(self, machine: Machine, n_folds: int, seed: int, run: Callable[..., Iterable[Any]]) -> None:
        data = machine.data
        folds = data.folds(FOLDS, np.random.default_rng([seed, 0]))[:n_folds]
        self.machine, self.seed, self.run = machine, seed, run
        self.train = [train for train, _ in folds]
        self.held = [np.flatnonzero(held > 0) for _, held in folds]
        self.weight = np.concatenate([held[rows] for (_, held), rows in zip(folds, self.held, strict=True)])
        rows = np.concatenate(self.held)
        self.groups = data.groups[rows]
        self.one = (data.weight / data.count)[rows]  # weight of one observation

    def grown(self, setting: Setting, sizes: Sequence[int]) -> Iterator[tuple[Array, Array]]:
        """For each size, held-out outputs (n_held, k) and errors (n_held,), one after the other."""
        paths = [
            self.machine.path(setting, train, sizes, np.random.default_rng([self.seed, 1 + fold]))
            for fold, train in enumerate(self.train)
        ]

        def step(fold: int) -> tuple[Array, Array]:
            model = next(paths[fold])
            rows = self.held[fold]
            outputs = self.machine.outputs(model, rows)
            return outputs, self.machine.data.take(rows).errors(outputs)

        for _ in sizes:
            parts = list(self.run(step, range(len(paths))))
            yield np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def at(self, setting: Setting, sizes: Sequence[int]) -> Array:
        """Errors at the last of the sizes."""
        *_, (_, errors) = self.grown(setting, sizes)
        return errors

    def mean(self, errors: Array) -> float:
        return float(self.weight @ errors / self.weight.sum())

    def standard_error(self, difference: Array) -> float:
        away = difference - self.mean(difference)
        return float(np.sqrt(self.weight * self.one @ np.square(away)) / self.weight.sum())


def choose(
    machine: Machine,
    limits: Limits,
    rng: np.random.Generator,
    *,
    n_threads: int,
    report: Callable[[str], None],
) -> Choice:
    """Choose setting and size; Ctrl-C ends the search and what is known by then decides."""
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
            trial = _Trial(part, FOLDS if len(some) == data.n else FEW_FOLDS, seed, run)
            _search_settings(trial, limits, state, first, report)
            if data.n > SETTING_ROWS:
                part = machine.on(data.sample(SIZE_ROWS, rng))
                trial = _Trial(part, 1, seed, run)
                state.halves = False
                _tune_on_more_rows(trial, limits, state, report)
            _search_sizes(trial, limits, state, report)
        except KeyboardInterrupt:
            return state.choice(machine, interrupted=True)
    return state.choice(machine, interrupted=False)


class _State:
    """What the search knows so far."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.setting = Setting(limits.width or 1.0, limits.penalty or 0.25, limits.kinds[0])
        self.settings: dict[str, Setting] = {}
        self.size = min(COMPARED_SIZE, limits.max_vectors)
        self.least = LEAST_TRIED  # all sizes up to this are tried
        self.halves = True  # whether sizes between the powers of two are tried
        self.held: tuple[Array, Array, Array] | None = None
        self.table: list[tuple[str, int, float, float]] = []

    def choice(self, machine: Machine, *, interrupted: bool) -> Choice:
        held = self.held
        if held is None:
            none = np.zeros((0, machine.data.Y.shape[1]))
            held = none, np.zeros(0, dtype=np.intp), np.zeros(0)
        outputs, groups, weight = held
        halves = self.halves and self.setting.widths == "fixed"
        sizes = [size for size in ladder(self.limits.max_vectors, halves=halves) if size < self.size]
        return Choice(
            machine, self.setting, [*sizes, self.size], outputs, groups, weight, self.table, interrupted
        )


def _search_settings(
    trial: _Trial,
    limits: Limits,
    state: _State,
    first: Sequence[float],
    report: Callable[[str], None],
) -> None:
    machine = trial.machine
    width, penalty, expected = first
    n_outputs = machine.data.Y.shape[1]
    sizes = [min(COMPARED_SIZE * int(np.ceil(np.sqrt(n_outputs))), limits.max_vectors)]
    largest = min(max(sizes[0], LARGEST_COMPARED), limits.max_vectors)
    start = Setting(width, penalty, limits.kinds[0])
    while sizes[0] < largest:  # until the models are large enough for what ridge regression has found
        reached = trial.at(start, sizes)
        if trial.mean(reached) <= TOO_SMALL * expected + trial.standard_error(reached):
            break
        sizes = [min(2 * sizes[0], largest)]
    state.least = max(LEAST_TRIED, 2 * sizes[0])
    kinds = limits.kinds
    state.setting = Setting(width, penalty, kinds[0])

    width_factors = WIDTH_FACTORS if limits.width is None and machine.has_width else (1.0,)
    penalty_factors = PENALTY_FACTORS if limits.penalty is None else (1.0,)
    grid = np.empty((len(width_factors), len(penalty_factors)))
    settings = {}
    found = {}
    for i, a in enumerate(width_factors):
        for j, b in enumerate(penalty_factors):
            along = a if limits.penalty is None else 1.0
            settings[i, j] = Setting(width * a, penalty * along * b, kinds[0])
            found[i, j] = trial.at(settings[i, j], sizes)
            grid[i, j] = trial.mean(found[i, j])
    best = _smoothed_best(grid)
    state.setting = settings[best]
    report(f"width {state.setting.width:.3g}, C {1 / state.setting.penalty:.3g}: error {grid[best]:.4g}")

    base = state.setting
    errors = {kinds[0]: found[best]}
    state.settings = {kinds[0]: base}
    for kind in kinds[1:]:
        factors = LEARNT_FACTORS if kind == "per_feature" else ((1.0, 1.0),)
        state.settings[kind], errors[kind] = _best_around(trial, limits, base, kind, factors, sizes)
        report(f"widths {kind}: error {trial.mean(errors[kind]):.4g}")
    for less, more in itertools.combinations(kinds, 2):
        if less in state.settings and more in state.settings:
            gain = errors[less] - errors[more]
            if trial.mean(gain) < 0:
                del state.settings[more]
            elif trial.mean(gain) > STAY * trial.standard_error(gain):
                del state.settings[less]
    state.setting = next(iter(state.settings.values()))


def _best_around(
    trial: _Trial,
    limits: Limits,
    base: Setting,
    kind: str,
    factors: Sequence[tuple[float, float]],
    sizes: Sequence[int],
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
    results = [trial.at(setting, sizes) for setting in tried]
    least = int(np.argmin([trial.mean(result) for result in results]))
    return tried[least], results[least]


def _tune_on_more_rows(trial: _Trial, limits: Limits, state: _State, report: Callable[[str], None]) -> None:
    """More rows bear narrower kernels and less regularisation: go on while the error falls."""
    size = min(TUNED_SIZE * trial.machine.data.Y.shape[1], limits.max_vectors, LARGEST_TUNED)
    for kind, setting in state.settings.items():
        errors = trial.at(setting, [size])
        for _ in range(TUNING_ROUNDS):
            candidate, found = _best_around(trial, limits, setting, kind, TUNING_FACTORS, [size])
            if not trial.mean(found) < trial.mean(errors):
                break
            setting, errors = candidate, found
            report(
                f"more rows, widths {kind}: width {setting.width:.3g}, C {1 / setting.penalty:.3g}, "
                f"error {trial.mean(errors):.4g}"
            )
        state.settings[kind] = setting


def _smoothed_best(grid: Array) -> tuple[int, int]:
    total, weight = 2.0 * grid, np.full(grid.shape, 2.0)
    for axis in (0, 1):
        for shift in (-1, 1):
            there = np.roll(grid, shift, axis)
            inside = np.ones(grid.shape, dtype=bool)
            edge = 0 if shift == 1 else -1
            inside[(edge, slice(None)) if axis == 0 else (slice(None), edge)] = False
            total += NEIGHBOUR * np.where(inside, there, 0.0)
            weight += NEIGHBOUR * inside
    i, j = np.unravel_index(int((total / weight).argmin()), grid.shape)
    return int(i), int(j)


def _improves(trial: _Trial, errors: list[Array], *, large: bool) -> bool:
    """Whether one of the last sizes is better than all before them; for large models, clearly better."""
    patience = LARGE_PATIENCE if large else PATIENCE
    before = min(errors[:-patience], key=trial.mean)
    gain = before - min(errors[-patience:], key=trial.mean)
    return trial.mean(gain) > (CLEARLY_BETTER * trial.standard_error(gain) if large else 0.0)


def _search_sizes(trial: _Trial, limits: Limits, state: _State, report: Callable[[str], None]) -> None:
    sensible = limits.max_vectors if limits.wished else np.sqrt(trial.machine.data.count.sum())
    chosen: Array | None = None  # errors at the best size of the chosen kind
    for kind in limits.kinds:
        if kind not in state.settings:
            continue
        sizes = ladder(limits.max_vectors, halves=state.halves and kind == "fixed")
        outputs, errors = [], []
        for size, (output, error) in zip(sizes, trial.grown(state.settings[kind], sizes), strict=False):
            outputs.append(output)
            errors.append(error)
            state.table.append((kind, size, trial.mean(error), trial.standard_error(error)))
            report(f"{size} vectors, widths {kind}: error {trial.mean(error):.4g}")
            if size > state.least and not _improves(trial, errors, large=size > sensible):
                break
        best = int(np.argmin([trial.mean(e) for e in errors]))
        if chosen is not None:
            gain = chosen - errors[best]
            if trial.mean(gain) <= BETTER * trial.standard_error(gain):
                continue
        chosen = errors[best]
        for at, error in enumerate(errors):
            behind = error - errors[best]
            if trial.mean(behind) <= NEAR * trial.standard_error(behind):
                break
        state.setting, state.size = state.settings[kind], sizes[at]
        state.held = outputs[at], trial.groups, trial.weight
