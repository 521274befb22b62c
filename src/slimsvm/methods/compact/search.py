"""Choosing width, penalty, metric and size among models with widths, by cross-validation.

Ridge regression says where to begin and how noisy the data are, and with that `plan_for` makes the plan. Each metric
looks there and around for its best setting, with models of one size; then models of every size are grown for the
metrics still in question. All choices compare errors on the same held-out rows (`Paired.clearly_better`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...losses import Squared
from ...rows import Array
from ...words import count
from .choice import Choice, Limits, Table
from .curve import BETTER, Curve
from .machines import LIKELIHOOD, First, Machine, Setting
from .plan import SOME_ROWS, Plan, ladder, plan_for
from .telling import METRICS, reached, why
from .trial import Trial

# Factors on width and penalty that lead to the neighbours of a setting. A narrower kernel needs more penalty, so both
# change together. One width that is learnt begins where ridge regression has found it.
NEIGHBOURS = {
    "fixed": ((4.0, 1.0), (0.25, 1.0), (1.0, 0.25), (1.0, 4.0)),
    "one": ((1.0, 0.25), (1.0, 4.0)),
    "per_feature": ((1.0, 0.25), (4.0, 0.25), (4.0, 1.0)),
}
# A setting that is tried later must be better by this many standard errors.
EARNED = 0.5
# Growing does not end while mistakes are this many times those of ridge regression.
MUCH_WORSE = 2.0
# Of the variance of targets nobody misses this share: no test would notice. Half a standard error of squared errors,
# which a few large ones make, is ten times that share and would be missed.
NEGLIGIBLE = 1e-3
# A fit with more mistakes on its own rows than the folds had on others, by so many standard errors, has failed.
BAD_LUCK = 2.0
# The last fit of a model with fewer mistakes than this goes on to the end; more iterations would fit the noise.
FEW_MISTAKES = 0.05


def choose(
    machine: Machine,
    limits: Limits,
    rng: np.random.Generator,
    *,
    n_threads: int,
    report: Callable[[str], None],
    keeps: tuple[type[BaseException], ...] = (),
    score: Callable[[Array, Array], float] | None = None,
) -> tuple[Choice, Trial | None]:
    """Choose setting and size, and where; one of the exceptions `keeps` ends the search and what is known decides.

    What is chosen without limits is chosen with them where it is within them; else the best that is.

    Parameters
    ----------
    score : callable or None
        From held-out outputs and the numbers of their rows to what is to be large, in the place of the errors.
    """
    search = _Search(machine, limits, rng, report)
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            search.prepare(pool.map if n_threads > 1 else map, score)
            largest = max(limits.largest, limits.most)
            free = limits.free(min(machine.data.n, largest))
            if free.budgets == limits.budgets:
                search.go(limits)
            else:
                search.go(free)
                if not search.fits:
                    report(f"that is not allowed; now with at most {count(limits.most, 'vector')}")
                    search.go(limits)
        except keeps:
            return search.choice(interrupted=True), search.trial
    return search.choice(interrupted=False), search.trial


class _Found(NamedTuple):
    """The best setting of a metric, its errors, and the size they are of."""

    setting: Setting
    errors: Array
    size: int


class _Search:
    """The search; `setting` and `size` are the best so far, and `at` says where they were found."""

    def __init__(
        self, machine: Machine, limits: Limits, rng: np.random.Generator, report: Callable[[str], None]
    ) -> None:
        self.machine, self.limits, self.rng, self.report = machine, limits, rng, report
        self.trial: Trial | None = None
        self.setting = Setting(limits.width or 1.0, limits.penalty or 0.25, limits.metrics[0])
        self.size = 1
        self.why = "nothing was compared"
        self.at: tuple[Curve, int] | None = None  # where it was found
        self.table: Table = []
        self._settings: dict[tuple[str, int, int], _Found] = {}

    def prepare(self, run: Any, score: Any) -> None:
        """Ridge regression, the plan, and the folds."""
        limits, rng, data = self.limits, self.rng, self.machine.data
        seed = int(rng.integers(2**63))
        some = data.sample(SOME_ROWS, rng)
        part = self.machine.on(some) if len(some) < data.n else self.machine
        self.firsts: list[First] = part.first(limits.width, limits.penalty, rng)
        self.scaling = min(range(len(self.firsts)), key=lambda at: self.firsts[at].error)
        first = self.firsts[self.scaling]
        self.noise = first.mistakes
        guess = reached(first.mistakes, classify=data.classify)
        gamma = f"gamma = {first.width:.3g} on scaled columns and " if self.machine.has_width else ""
        self.report(
            f"a first guess, by ridge regression: {guess} on rows left out, with {gamma}C = {1 / first.penalty:.3g}"
        )
        most = min(data.n, max(limits.largest, limits.most))
        self.plan: Plan = plan_for(
            n_rows=data.n, n_outputs=data.Y.shape[1], classify=data.classify, noise=self.noise,
            metrics=limits.metrics, most=most,
        )  # fmt: skip
        self.report(str(self.plan))
        if self.plan.trusted:
            self.machine = self.machine.with_loss(Squared())
        rows = data.sample(self.plan.rows, rng)
        part = self.machine.on(rows) if len(rows) < data.n else self.machine
        self.setting = self._start(self.plan.metrics[0], self.scaling)
        self.trial = Trial(part, rows, self.plan.folds, seed, self.noise, run, score)

    def _reached(self, errors: Array) -> str:
        assert self.trial is not None
        scored = self.trial.score is not None
        return reached(self.trial.mean(errors), classify=self.machine.data.classify, scored=scored)

    def _start(self, metric: str, scaling: int) -> Setting:
        first = self.firsts[max(scaling, 0)]
        return Setting(first.width, first.penalty, metric, scaling)

    @property
    def fits(self) -> bool:
        """Whether what was found is allowed."""
        return self.at is not None and self.size <= self.limits.allowed(self.setting)

    @property
    def _unseen(self) -> float:
        targets = not self.machine.data.classify and self.trial is not None and self.trial.score is None
        return NEGLIGIBLE if targets else 0.0  # a given score may have any unit

    def go(self, limits: Limits) -> None:
        """Look for the best within these limits."""
        assert self.trial is not None
        trial = self.trial
        # whether it is known that the model would be larger without these limits
        binding = self.at is not None
        settings = self._best_settings(limits)
        self.at = None
        best: Array | None = None
        for setting in settings:
            curve = self._grown(setting, limits, np.inf if binding else np.sqrt(trial.machine.data.n))
            allowed = curve.upto(limits.allowed(setting))
            chosen = curve.best(allowed)
            least = curve.errors[chosen]
            # one metric after the other, each learning more; within a limit the best is wanted
            z = 0.0 if binding else BETTER
            if best is None or trial.clearly_better(least, best, z, self._unseen):
                best = least
                self._take(curve, chosen if binding else curve.smallest_enough(allowed, self._unseen), chosen)
            else:
                self.report(f"{METRICS[setting.widths]}: not clearly better")
            self.table += [
                (
                    setting.widths,
                    curve.sizes[at],
                    trial.mean(curve.mistakes[at]),
                    trial.standard_error(curve.mistakes[at]),
                )
                for at in curve.upto(limits.most)
            ]

    def _take(self, curve: Curve, at: int, best: int) -> None:
        self.setting, self.size, self.at = curve.setting, curve.sizes[at], (curve, at)
        found, most = [self._reached(errors) for errors in curve.errors], self.limits.allowed(curve.setting)
        self.why = why(curve.sizes, found, at, best, most)
        wished = self.limits.allowed(curve.setting)
        if self.limits.wished and self.size == max(curve.sizes) and not curve.trial.machine.can_try(wished):
            self.size = max(self.size, wished)

    def _best_settings(self, limits: Limits) -> list[Setting]:
        """The best setting of each metric that is still in question, the simplest first."""
        assert self.trial is not None
        trial = self.trial
        left: list[_Found] = []
        for metric in self.plan.metrics:
            scalings = self._scalings(metric, limits)
            if not scalings:
                continue
            rival = left[-1] if left else None
            best: _Found | None = None
            for scaling in scalings:
                found = self._best_from(metric, scaling, limits, rival)
                if found is not None and (best is None or trial.mean(found.errors) < trial.mean(best.errors)):
                    best = rival = found
            if best is None:
                self.report(f"{METRICS[metric]}: clearly worse, given up")
                continue
            setting, errors = best.setting, best.errors
            how = f"with {count(best.size, 'vector')} and C = {1 / setting.penalty:.3g}"
            self.report(f"{METRICS[metric]}: {self._reached(errors)} {how}")
            if left and trial.mean(errors) > trial.mean(left[-1].errors):
                continue  # learns more for nothing
            if (
                left
                and trial.clearly_better(errors, left[-1].errors, BETTER)
                and not self._much_worse(errors)
            ):
                left = []
            left.append(best)
        return [found.setting for found in left]

    def _scalings(self, metric: str, limits: Limits) -> list[int]:
        """Where a metric begins: the spread of each feature is never left out where each has its width."""
        every = range(len(limits.budgets))
        if metric == "per_feature":
            starts = [0] if self.plan.trusted or self.limits.width is not None else [0, LIKELIHOOD]
            return [scaling for scaling in starts if limits.budgets[0][metric]]
        allowed = [scaling for scaling in every if limits.budgets[scaling][metric]]
        if self.scaling in allowed:
            most = limits.budgets[self.scaling][metric]
            # a scaling that takes fewer numbers may allow more vectors
            return [self.scaling] + [other for other in allowed if limits.budgets[other][metric] > most]
        return allowed

    def _best_from(self, metric: str, scaling: int, limits: Limits, rival: _Found | None) -> _Found | None:
        """The best setting among ridge regression's and its neighbours; None where the first is clearly worse."""
        assert self.trial is not None
        trial = self.trial
        setting, errors = self._start(metric, scaling), None if rival is None else rival.errors
        size = min(self.plan.compared, limits.allowed(setting))
        if rival is not None and rival.size == size and trial.against(setting, size, errors) is None:
            return None
        size = self._compared(setting, size, limits)
        known = self._settings.get((metric, scaling, size))
        if known is not None:
            return known
        own = trial.against(setting, size, errors)
        if own is None or (errors is not None and trial.clearly_better(errors, own, BETTER)):
            return None
        if not self.plan.trusted:
            setting, own = self._best_near(setting, own, size)
        found = self._settings[metric, scaling, size] = _Found(setting, own, size)
        return found

    def _best_near(self, setting: Setting, errors: Array, size: int) -> tuple[Setting, Array]:
        """The best neighbour of a setting if it is clearly better than the setting, with its errors."""
        assert self.trial is not None
        trial, limits = self.trial, self.limits
        free = limits.width is None and self.machine.has_width and setting.scaling != LIKELIHOOD
        around = [
            replace(
                setting,
                width=setting.width * (a if free else 1.0),
                penalty=setting.penalty * (a * b if limits.penalty is None else 1.0),
            )
            for a, b in NEIGHBOURS[setting.widths]
        ]
        tried = [
            (each, trial.against(each, size, errors)) for each in dict.fromkeys(around) if each != setting
        ]
        found = [(each, its) for each, its in tried if its is not None]
        if found:
            best, least = found[trial.best([its for _, its in found])]
            if trial.clearly_better(least, errors, EARNED, self._unseen):
                return best, least
        return setting, errors

    def _compared(self, setting: Setting, size: int, limits: Limits) -> int:
        """The size at which settings are compared: large enough for what ridge regression has found."""
        assert self.trial is not None
        most = min(limits.allowed(setting), 8 * size)
        while size < most and self._much_worse(self.trial.at(setting, size)):
            size = min(2 * size, most)
        return size

    def _much_worse(self, errors: Array) -> bool:
        """Whether a model is much worse than ridge regression: then it is too small."""
        assert self.trial is not None
        trial = self.trial
        if trial.score is not None:
            return False
        limit = max(MUCH_WORSE * self.noise, self._unseen)
        return trial.mean(errors) - trial.standard_error(errors) > limit

    def _grown(self, setting: Setting, limits: Limits, sensible: float) -> Curve:
        """Models of growing size until that does not help any more."""
        assert self.trial is not None
        trial = self.trial
        curve = Curve(trial, setting, sensible)
        most, own = limits.allowed(setting), self.limits.allowed(setting)
        sizes = [*(size for size in self.plan.sizes if size < most), most]
        sizes = [size for size in sizes if size == 1 or trial.machine.can_try(size)]
        for size, outputs in zip(sizes, trial.grown(setting, sizes), strict=True):
            curve.add(size, outputs)
            self.report(
                f"{count(size, 'vector')}, {METRICS[setting.widths]}: {self._reached(curve.errors[-1])}"
            )
            if size > 2 * self.plan.compared and not (curve.falls or self._much_worse(curve.mistakes[-1])):
                break
            if own < size < most:
                within = [curve.errors[at] for at in curve.upto(own)]
                if not within or trial.clearly_better(curve.errors[-1], within[trial.best(within)], 1.0):
                    break  # nothing that is allowed is good enough
        return curve

    def choice(self, *, interrupted: bool) -> Choice:
        """What was chosen, with no more vectors than are allowed."""
        setting, size, limits = self.setting, self.size, self.limits
        if not limits.allowed(setting):  # ended before anything that is allowed was tried
            setting, size = next(
                (replace(setting, widths=metric, scaling=scaling), 1)
                for scaling, budget in enumerate(limits.budgets)
                for metric in limits.metrics
                if budget[metric]
            )
        size = min(size, limits.allowed(setting))
        data, trial = self.machine.data, self.trial
        if trial is not None and trial.machine.data.n < data.n:
            more = np.sqrt(
                data.n / trial.machine.data.n
            )  # all rows bear more vectors than the part that was searched
            size = min(limits.allowed(setting), int(more * size))
        sizes = [smaller for smaller in ladder(size) if smaller < size]
        held = errors = None
        to_the_end, expected = True, np.inf
        if self.at is not None and trial is not None:
            curve, at = self.at
            held, errors = trial.held_out(curve.outputs[at]), curve.errors[at]
            clean = trial.score is None and trial.mean(curve.mistakes[at]) <= FEW_MISTAKES
            # too small is not too noisy
            clean = (clean and setting.widths != "per_feature") or self._much_worse(curve.mistakes[at])
            to_the_end = clean or data.n > SOME_ROWS
            if trial.score is None:
                mistakes = curve.mistakes[at]
                expected = trial.mean(mistakes) + BAD_LUCK * trial.standard_error(mistakes)
        return Choice(
            self.machine,
            setting,
            [*sizes, size],
            held,
            errors,
            self.table,
            interrupted,
            to_the_end,
            expected,
            self.why,
        )
