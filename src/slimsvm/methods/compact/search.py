"""Choosing width, penalty, kind of widths and size by cross-validation, with models that grow.

A first width and penalty come from ridge regression (`ridge`). Around them a small grid is tried with models of
one size, and of twice that; then models of every size are grown for the kinds of widths still in question. All
choices compare errors on the same held-out rows, so that what counts is the standard error of a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from ...losses import Squared
from ...rows import Array
from ...words import count
from .choice import Choice, Limits
from .curve import Curve
from .machines import Machine
from .ridge import FEW_ROWS
from .settings import search_settings, tune_on_more_rows
from .state import State
from .trial import FOLDS, Trial

# Rows for the search over settings, and for that over sizes; above, a random part of them serves.
SETTING_ROWS = 2_000
SIZE_ROWS = 10_000
# Folds that are used of the FOLDS when rows are many enough.
FEW_FOLDS = 2
# A kind that learns more must be better by this many standard errors than one that learns less.
BETTER = 2.0
# Where ridge regression makes more mistakes than this, a width that is learnt fits the noise, and so does a search.
NOISY = 0.15
# The last fit of a model with one width and no more mistakes than this goes on to the end, and so does that of more
# rows than SETTING_ROWS.
FEW_MISTAKES = 0.05
# Without a budget, models grow to at most this many vectors.
LARGEST = 512


def choose(
    machine: Machine,
    limits: Limits,
    budgets: Sequence[Mapping[str, int]],
    rng: np.random.Generator,
    *,
    n_threads: int,
    report: Callable[[str], None],
    keeps: tuple[type[BaseException], ...] = (),
) -> Choice:
    """Choose setting and size; one of the exceptions `keeps` ends the search and what is known by then decides.

    Parameters
    ----------
    budgets : sequence of mappings
        For each scaling of the machine the most vectors that are allowed, by kind of widths.
    limits : Limits
        Of models that are looked at, allowed or not: what is chosen without a budget is chosen with one where it fits.
    """
    data = machine.data
    search = _Search(machine, limits, int(rng.integers(2**63)), rng, report)
    free = all(budget[kind] >= limits.most[kind] for budget in budgets for kind in limits.kinds)
    with ThreadPoolExecutor(n_threads) as pool:
        search.run = pool.map if n_threads > 1 else map
        try:
            search.look_at_first()
            if free or data.n <= SETTING_ROWS:
                search.within(search.scaling, replace(limits, wished=limits.wished and free), budgets)
            if not (free or search.fits(budgets)):
                search.again(budgets, binding=data.n <= SETTING_ROWS)
        except keeps:
            return search.choice(budgets, interrupted=True)
    return search.choice(budgets, interrupted=False)


class _Search:
    """Searches for all rows, each with a scaling and limits; `state` is what is best so far."""

    run: Callable[..., Iterable[Any]]

    def __init__(
        self,
        machine: Machine,
        limits: Limits,
        seed: int,
        rng: np.random.Generator,
        report: Callable[[str], None],
    ) -> None:
        self.machine, self.limits, self.seed, self.rng, self.report = machine, limits, seed, rng, report
        self.state = State(machine, 0, limits)
        self.many: Array | None = None  # rows for the search over sizes, always the same

    def look_at_first(self) -> None:
        """The scaling, width and penalty that ridge regression likes."""
        data, limits = self.machine.data, self.limits
        some = data.sample(SETTING_ROWS, self.rng)
        self.part = self.machine.on(some) if len(some) < data.n else self.machine
        self.scaling, *self.first = self.part.first(limits.width, limits.penalty, self.rng)
        width, penalty, _ = self.first
        self.report(f"ridge regression: scaling {self.scaling}, width {width:.3g}, C {1 / penalty:.3g}")

    def fits(self, budgets: Sequence[Mapping[str, int]]) -> bool:
        """Whether a choice was made that is allowed."""
        state = self.state
        return state.trial is not None and state.size <= budgets[state.scaling][state.setting.widths]

    def again(self, budgets: Sequence[Mapping[str, int]], *, binding: bool) -> None:
        """Look for what is allowed, and also with a scaling that takes fewer numbers where that allows more vectors."""
        limits = replace(self.limits, binding=binding)
        allowed = [k for k, budget in enumerate(budgets) if any(budget[kind] for kind in limits.kinds)]
        scaling = self.scaling if self.scaling in allowed else allowed[0]
        self.within(scaling, limits.within(budgets[scaling]), budgets)
        found = self.state
        kind = found.setting.widths
        if found.size < budgets[scaling][kind]:
            return
        for other in allowed:
            if budgets[other][kind] > budgets[scaling][kind]:
                self.within(other, limits.within(budgets[other]), budgets)
                if not self.state.is_better_than(found):
                    self.state = found

    def within(self, scaling: int, limits: Limits, budgets: Sequence[Mapping[str, int]]) -> None:
        """Choose with one scaling; up to these limits, or a little beyond the budget to see whether it matters."""
        data, rng, report = self.machine.data, self.rng, self.report
        machine, part, first = self.machine.scaled(scaling), self.part.scaled(scaling), self.first
        if scaling != self.scaling:
            _, *first = part.first(limits.width, limits.penalty, rng)
        noisy = first[2] > NOISY
        known = data.classify and (data.n <= FEW_ROWS or (noisy and data.n <= SETTING_ROWS))
        if known or noisy:
            limits = replace(limits, kinds=tuple("fixed" if k == "one" else k for k in limits.kinds))
        if known:
            # five folds say less than ridge regression knows: its width and penalty stay, and so its loss
            limits = replace(limits, width=first[0], penalty=first[1])
            machine, part = machine.with_loss(Squared()), part.with_loss(Squared())
        state = self.state = State(machine, scaling, limits)
        state.budget = budgets[scaling]
        every = part.data.n == data.n
        trial = Trial(part, FOLDS if every else FEW_FOLDS, self.seed, first[2], self.run)
        search_settings(trial, limits, state, first, report)
        if data.n > SETTING_ROWS:
            self.many = data.sample(SIZE_ROWS, rng) if self.many is None else self.many
            part = machine.on(self.many)
            state.halves = False
            trial = Trial(part, FEW_FOLDS, self.seed, first[2], self.run)
            reached = tune_on_more_rows(trial, limits, state, report)
            trial = Trial(part, 1, self.seed, reached, self.run)
        _search_sizes(trial, limits, state, report)
        more = np.sqrt(data.n / part.data.n)  # all rows bear more vectors than the part that was searched
        state.size = min(limits.most[state.setting.widths], int(more * state.size))
        state.trial = trial

    def choice(self, budgets: Sequence[Mapping[str, int]], *, interrupted: bool) -> Choice:
        """What was chosen, with no more vectors than are allowed."""
        state = self.state
        held = state.held
        if held is None:
            none = np.zeros((0, self.machine.data.Y.shape[1]))
            held = none, np.zeros(0, dtype=np.intp), np.zeros(0)
        outputs, groups, weight = held
        machine, setting = state.machine, state.setting
        budget = budgets[state.scaling]
        if not budget[setting.widths]:  # ended before anything that is allowed was tried
            kinds = [kind for kind in state.limits.kinds if any(budget[kind] for budget in budgets)]
            setting = replace(setting, widths=kinds[0])
            scaling = max(range(len(budgets)), key=lambda k: budgets[k][kinds[0]])
            machine, budget = self.machine.scaled(scaling).with_loss(machine.data.loss), budgets[scaling]
        size = min(state.size, budget[setting.widths])
        sizes = [smaller for smaller in state.ladder(setting.widths) if smaller < size]
        return Choice(
            machine,
            setting,
            [*sizes, size],
            outputs,
            groups,
            weight,
            state.table,
            interrupted,
            state.to_the_end,
        )


def _search_sizes(trial: Trial, limits: Limits, state: State, report: Callable[[str], None]) -> None:
    sensible = np.inf if limits.binding else np.sqrt(trial.machine.data.n)
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


def _grow(curve: Curve, state: State, report: Callable[[str], None]) -> None:
    """Models of growing size until that does not help any more."""
    trial, setting = curve.trial, curve.setting
    sizes = [size for size in state.ladder(setting.widths) if size == 1 or trial.machine.can_try(size)]
    for size, (outputs, errors) in zip(sizes, trial.grown(setting, sizes), strict=True):
        curve.add(size, outputs, errors)
        report(f"{count(size, 'vector')}, widths {setting.widths}: error {trial.mean(errors):.4g}")
        if size > state.least and not curve.improves:
            break
        if size > state.budget[setting.widths] and not curve.has_near(state.budget[setting.widths]):
            break  # nothing that is allowed is good enough


def _take(curve: Curve, state: State) -> None:
    """The smallest size of the curve that is enough becomes the choice."""
    trial, setting = curve.trial, curve.setting
    limits, most = state.limits, state.limits.most[setting.widths]
    many = trial.machine.data.n > SETTING_ROWS
    if curve.too_small:  # the folds have nothing to say, and noise is not the trouble
        at = len(curve.sizes) - 1
        setting = replace(setting, penalty=state.weakest)
    else:
        at = curve.best if limits.binding else curve.smallest_near
        if not limits.binding and state.halves and setting.widths != "per_feature":
            at = curve.try_between(at)
    state.setting, state.size = setting, curve.sizes[at]
    if limits.wished and state.size == max(curve.sizes) and not trial.machine.can_try(most):
        state.size = most
    state.held = curve.outputs[at], trial.groups, trial.weight
    clean = setting.widths != "per_feature" and trial.mean(curve.mistakes[at]) <= FEW_MISTAKES
    state.to_the_end = curve.too_small or clean or many
