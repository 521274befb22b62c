"""One fit of `CompactSVC` or `CompactSVR`: budgets, scaling, the search, and the model it found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...budget import bytes_for, kernel_numbers, max_vectors_for
from ...errors import BudgetError
from ...expansion import KernelExpansion
from ...kernels import RBF, Kernel, Laplacian, as_kernel, one_if_equal, resolve_gamma
from ...refinement import RbfModel
from ...refinement.shipped import shipped
from ...rows import Array, Rows, dense, dense_if_crowded
from ...training import Trained, TrainingSet, in_range
from ...words import count
from ..base import Run
from .choice import KEEPS, PATH_FIELDS, Choice, EndedByCallback, HeldOut, Limits
from .curve import BETTER
from .latency import fastest
from .linear import PENALTY, RANKS, LinearLimits, LinearMaps
from .linear_fit import last_shipped
from .machines import KINDS, Machine
from .moved import MovedVectors
from .notices import warn_of_interruption, warn_of_one_class
from .observations import Observations, of_mean_one, points_of
from .plan import LARGEST, LEARNT_FEATURES, metrics_in_question
from .scaling import can_be_dense, centre_of, spread_of, widths_for
from .search import choose
from .selected import RowModel, SelectedRows
from .trial import Trial

# Features whose variances are within this factor are on one scale already.
SAME_SCALE = 2.0
# Attempts at the last fit, whose objective has many minima.
TRIES = 3
# Factor on the penalty in the next attempt at a model whose numbers were rounded.
GENTLER = 100.0
# What a fit consists of, as callbacks see it.
STAGES = ("search of settings and sizes", "last refinement")


@dataclass
class CompactFit:
    """One fit of `CompactSVC` or `CompactSVR`: budgets, scaling, the search, and the model it found.

    Parameters
    ----------
    model : estimator
        Its parameters say what is given and what is searched.
    data : TrainingSet
        Labels, or targets of variance one.
    loss : SmoothLoss
    run : Run
    target_scale : pair
        What the outputs are multiplied by, and what is added to them, to be in the units of the targets.
    score : callable or None
        From held-out outputs and numbers of their rows to what the search is to make large, where that is not the share
        of right answers.
    """

    model: Any
    data: TrainingSet
    loss: Any
    run: Run
    target_scale: tuple[Any, Any] = (1.0, 0.0)
    score: Any = None

    def __post_init__(self) -> None:
        # the penalties that are tried suit weights around one; `C` and `C_` count weights as they were given
        weight, self.weight_unit = of_mean_one(self.data.weight)
        self.data = replace(self.data, weight=weight)

    @cached_property
    def moved(self) -> bool:
        """Whether the vectors move."""
        return self.model.refine and self.model.kernel == "rbf" and can_be_dense(self.data.X)

    def say(self, text: str) -> None:
        """Print what was found, if that is wanted."""
        self.run.say(text)

    def train(self) -> tuple[Trained, HeldOut | None]:
        """Search, then train what was chosen; with its outputs on held-out rows."""
        progress = self.run.progress
        progress.stage(STAGES[0])
        choice: Choice | None = None
        trial: Trial | None = None
        if self._widths:
            machine: Machine = self._moved() if self.moved else self._selected()
            limits = Limits(
                tuple(self._budgets), self._given_width(), self._penalty, self._widths,
                wished=self.model.max_vectors is not None, largest=self._largest,
            )  # fmt: skip
            choice, trial = choose(
                machine, limits, self.run.rng, n_threads=self.run.n_threads, report=self._report, keeps=self._keeps,
                score=self.score,
            )  # fmt: skip
        if "linear" in self._metrics and not (choice and choice.interrupted):
            linear = self._linear(choice, trial)
            if linear is not None:
                return linear
        assert choice is not None
        return self._last(choice), choice.held

    @property
    def _number(self) -> str:
        """What bytes are counted in."""
        return self.model.number or "float32"

    def _shipped(self, expansion: KernelExpansion, loss: Any, penalty: float) -> KernelExpansion:
        """The expansion in the numbers that ship."""
        number, threads = self.model.number, self.run.n_threads
        return (
            expansion
            if number is None
            else shipped(expansion, number, self.data, loss, penalty, n_threads=threads)
        )

    def _finished(self, expansion: KernelExpansion) -> KernelExpansion:
        """The expansion with outputs in the units of the targets."""
        # a factor for all coefficients of an output keeps them on their grid
        unit, centre = self.target_scale
        dtype = expansion.coef.dtype
        coef, intercept = (in_range(part, dtype, unit) for part in (expansion.coef, expansion.intercept))
        return replace(expansion, coef=coef, intercept=(intercept + centre).astype(dtype))

    @property
    def _keeps(self) -> tuple[type[BaseException], ...]:
        return KEEPS[self.model.on_interrupt]

    @property
    def _penalty(self) -> float | None:
        return None if self.model.C is None else 1.0 / (self.model.C * self.weight_unit)

    def _report(self, text: str) -> None:
        self.say(text)
        # a callback may ask to stop once there is something to keep
        if self.run.progress.step(text):
            raise EndedByCallback

    def _linear(self, choice: Choice | None, trial: Trial | None) -> tuple[Trained, HeldOut] | None:
        """The model with a projection, if it is clearly better than what was chosen among those with widths."""
        model, data, rng = self.model, self.data, self.run.rng
        penalty = PENALTY if self._penalty is None else self._penalty
        maps = LinearMaps(
            self._observations(dense_if_crowded(data.X)), self.spread,
            LinearLimits(model.rank, model.max_vectors, model.max_bytes, penalty, self._number),
            n_threads=self.run.n_threads, report=self._report, score=self.score,
        )  # fmt: skip
        try:
            found, held = maps.choose(rng, trial)
        except self._keeps:
            if choice is None:
                raise
            return None
        if choice is not None and choice.errors is not None and trial is not None:
            errors = trial.errors(held.outputs)
            if not trial.clearly_better(errors, choice.errors, BETTER):
                self.say("a projection: not clearly better")
                return None
        self.say(f"chosen: {found.shape}" + (", clearly better than widths" if choice is not None else ""))
        self.run.progress.stage(STAGES[1])
        table = (choice.table if choice is not None else []) + maps.table
        interrupted, ships = False, partial(self._shipped, loss=self.loss, penalty=penalty)
        try:
            expansion, n_steps = last_shipped(maps, found, held, rng, ships if model.number else None)
        except self._keeps:
            expansion, n_steps, interrupted = ships(maps.expansion(found.model, found.shape)), 0, True
            warn_of_interruption(self.run.name, expansion.n_vectors)
        if data.classify and not interrupted:
            warn_of_one_class(self.run.name, expansion(data.X, n_threads=self.run.n_threads))
        expansion = self._finished(expansion)
        extras = {"C_": 1.0 / (penalty * self.weight_unit), "path_": np.array(table, dtype=PATH_FIELDS)}
        return Trained(expansion, None, max(1, n_steps), extras=extras), held

    def _last(self, choice: Choice) -> Trained:
        """The model that was chosen among those with widths, trained on all rows."""
        progress, machine, data = self.run.progress, choice.machine, choice.machine.data
        best: tuple[Any, int] | None = None  # model and iterations
        kept: tuple[KernelExpansion, Array | None, int] | None = None  # with its numbers rounded
        self.say(f"chosen: {choice}")
        interrupted = progress.stage(STAGES[1]) or choice.interrupted
        setting, least = choice.setting, np.inf

        def report(text: str) -> None:
            self.say(text)
            if progress.step(text) and best is not None:
                raise EndedByCallback

        try:
            for _ in range(1 if interrupted else TRIES):
                for best in machine.last(
                    setting, choice.sizes, self.run.rng, report, to_the_end=choice.to_the_end
                ):
                    if interrupted:
                        break
                    if progress.step(f"a model of {count(best[0].n_vectors, 'vector')}"):
                        raise EndedByCallback
                assert best is not None
                expansion, support = self._expansion(best[0])
                expansion = self._shipped(expansion, data.loss, setting.penalty)
                rounds = self.model.number is not None
                outputs = expansion(self.data.X) if rounds else machine.outputs(best[0], np.arange(data.n))
                mistakes = float(data.weight @ data.mistakes(outputs)) / data.n
                if kept is None or mistakes < least:
                    kept, least = (expansion, support, best[1]), mistakes
                if least <= choice.expected:
                    break  # else it is worse on its own rows than its like on others
                if rounds:  # smaller coefficients survive rounding
                    setting = replace(setting, penalty=GENTLER * setting.penalty)
        except self._keeps:
            if best is None:
                raise
            interrupted = True
        if kept is None:
            assert best is not None
            expansion, support = self._expansion(best[0])
            kept = self._shipped(expansion, data.loss, setting.penalty), support, best[1]
        expansion, support, n_iter = kept
        if interrupted:
            warn_of_interruption(self.run.name, expansion.n_vectors)
        elif data.classify:
            warn_of_one_class(self.run.name, outputs)
        chosen_C = 1.0 / (choice.setting.penalty * self.weight_unit)
        extras = {"C_": chosen_C, "path_": np.array(choice.table, dtype=PATH_FIELDS)}
        return Trained(self._finished(expansion), support, max(1, int(n_iter)), extras=extras)

    @cached_property
    def _metrics(self) -> tuple[str, ...]:
        """Metrics to choose from, the simplest first."""
        model, wanted = self.model, self.model.metric
        learnt = model.kernel == "rbf" and model.refine and model.max_latency_us is None
        if wanted == "linear" and (not learnt or model.gamma is not None):
            raise ValueError(
                "metric='linear' learns the widths of kernel='rbf' in the image of its projection: it goes with "
                "refine=True and gamma=None, and its budgets are max_vectors and max_bytes."
            )
        n, d = self.data.X.shape
        found = metrics_in_question(
            wanted, n_rows=n, n_features=d, moved=self.moved, width_given=model.gamma is not None
        )
        found = found if learnt else tuple(metric for metric in found if metric != "linear")
        return found or ("one" if self.moved else "fixed",)

    @property
    def _widths(self) -> tuple[str, ...]:
        return tuple(metric for metric in self._metrics if metric != "linear")

    def _given_width(self) -> float | None:
        """The width that `gamma` names; one width for each feature is the scaling's, and the factor on it 1."""
        gamma = self.model.gamma
        if gamma is None:
            return None
        if np.ndim(gamma) == 1:
            return 1.0
        # on scaled inputs "scale" is "auto"
        return float(resolve_gamma("auto", self.data.X) if isinstance(gamma, str) else gamma)

    def _given_widths(self) -> Array | None:  # (d,)
        """The widths of the features that `gamma` names, if it does."""
        if np.ndim(self.model.gamma) != 1:
            return None
        given = np.asarray(resolve_gamma(self.model.gamma, self.data.X))
        if len(given) != self.data.X.shape[1]:
            raise ValueError(f"gamma has {len(given)} entries, but X has {self.data.X.shape[1]} features.")
        return given

    @cached_property
    def spread(self) -> Array:  # (d,)
        """What the features are divided by."""
        if not (self.model.scale or self.moved):
            return np.ones(self.data.X.shape[1])
        spread = spread_of(self._dense if self.moved else self.data.X, self.data.weight)
        return spread if self.model.scale else np.ones_like(spread)

    @cached_property
    def _dense(self) -> Array:  # (n, d)
        return np.ascontiguousarray(dense(self.data.X), dtype=np.float64)

    @cached_property
    def _centre(self) -> Array:  # (d,)
        return centre_of(self._dense, self.data.weight)

    def _moved(self) -> MovedVectors:
        """Vectors that move, on inputs that are centred and scaled."""
        spread = self.spread  # first: it refuses rows out of the range of numbers
        scaled = (self._dense - self._centre) / spread
        return MovedVectors(self._observations(scaled), self._shapes, self.run.n_threads)

    @cached_property
    def _shapes(self) -> list[Array]:  # (d,) each
        """Scalings to choose from where vectors move: the width of each feature, relative to its spread."""
        given = self._given_widths()
        if given is not None:
            return [np.maximum(given, 1e-12 * given.max())]
        own = np.ones(len(self.spread))
        if not self.model.scale:
            return [own]
        raw = np.maximum(np.square(self.spread), 1e-12 * np.square(self.spread).max())
        all_by_one = raw / raw.mean()
        # ridge regression decides; features on one scale need one number
        return [own, all_by_one] if raw.max() > SAME_SCALE * raw.min() else [all_by_one]

    def _selected(self) -> SelectedRows:
        """Vectors among the training rows."""
        named = self.model.kernel if isinstance(self.model.kernel, str) else ""
        return SelectedRows(
            self._observations(self.data.X),
            self._kernel_of,
            has_width=named in ("rbf", "laplacian", "poly", "sigmoid"),
            n_features=self.data.X.shape[1],
            n_threads=self.run.n_threads,
        )

    def _observations(self, X: Rows) -> Observations:
        data = self.data
        point = np.arange(data.n) if data.distinct else points_of(data.X)
        return Observations(X, data.Y, data.weight, point, data.classify, self.loss)

    @cached_property
    def _shape(self) -> Array | None:  # (d,)
        """Width of each feature relative to that of the setting, in the units of X."""
        if self.model.kernel not in ("rbf", "laplacian"):
            return None
        shape = 1.0 / (self.spread if self.model.kernel == "laplacian" else np.square(self.spread))
        given = self._given_widths()
        return shape if given is None else shape * given

    def _kernel_of(self, width: float) -> Kernel:
        """The kernel of training rows at a width."""
        if self._shape is not None:
            widths = one_if_equal(width * np.minimum(self._shape, 1e308 / max(width, 1.0)))  # a number
            return RBF(widths) if self.model.kernel == "rbf" else Laplacian(widths)
        return as_kernel(self.model.kernel, width, self.model.degree, self.model.coef0)

    @property
    def _largest(self) -> int:
        """The most vectors without a limit and without a projection.

        Distances to m vectors are distances in their span, which has m dimensions: beyond as many as a projection has,
        the projection is the smaller model.
        """
        wide = self.data.X.shape[1] > LEARNT_FEATURES
        return RANKS[-1] if wide and "linear" in self._metrics else LARGEST

    @cached_property
    def _budgets(self) -> list[dict[str, int]]:
        """For each scaling the most vectors that the budgets allow, by kind of widths."""
        model = self.model
        n, d = self.data.X.shape
        most = model.max_vectors or self._largest
        largest = min(n, most if self._largest == LARGEST else min(most, self._largest))
        numbers = [self._kernel_numbers(shape) for shape in (self._shapes if self.moved else [None])]
        budgets = [dict.fromkeys(KINDS, largest) for _ in numbers]
        if model.max_bytes is not None:
            d, k = 1 if self.data.precomputed else d, self.data.Y.shape[1]
            shape = {"n_features": d, "n_outputs": k, "number": self._number}
            budgets = [
                {
                    kind: min(largest, max_vectors_for(bytes=model.max_bytes, n_widths=stored[kind], **shape))
                    for kind in KINDS
                }
                for stored in numbers
            ]
            if not any(budget[kind] for budget in budgets for kind in self._widths):
                least = min(stored[kind] for stored in numbers for kind in self._widths)
                raise BudgetError(
                    f"max_bytes={model.max_bytes} is too small: a model of one vector with {count(d, 'feature')} and "
                    f"{count(k, 'output')} takes {bytes_for(1, n_widths=least, **shape)} bytes in "
                    f"{self._number}. Raise it, choose fewer features, or a smaller number format."
                )
        if model.max_latency_us is not None:
            most = fastest(
                model, self.data, max(budget[kind] for budget in budgets for kind in KINDS), moved=self.moved
            )
            budgets = [{kind: min(own, most) for kind, own in budget.items()} for budget in budgets]
        return budgets

    def _kernel_numbers(self, shape: Array | None) -> dict[str, int]:
        """How many numbers the kernel of a model takes, by kind of widths; `shape` is the scaling of moved vectors."""
        if shape is None:
            return dict.fromkeys(KINDS, kernel_numbers(self._kernel_of(1.0)))
        in_proportion = np.size(one_if_equal(shape / np.square(self.spread)))
        return {"fixed": in_proportion, "one": in_proportion, "per_feature": len(shape)}

    def _expansion(self, found: Any) -> tuple[KernelExpansion, Array | None]:
        """What was found, in the units of X, and the rows its vectors were."""
        if isinstance(found, RbfModel):
            dtype = self.data.X.dtype
            widths = widths_for(found.log_widths, self.spread)
            vectors = (found.vectors * self.spread + self._centre).astype(dtype)
            coef, intercept = in_range(found.coef, dtype), in_range(found.intercept, dtype)
            return KernelExpansion(RBF(widths), vectors, coef, intercept).compact(), None
        assert isinstance(found, RowModel)
        trained = Trained.on_rows(self.data, found.kernel, found.coef, found.intercept, chosen=found.rows)
        return trained.expansion, trained.support
