"""Cross-validation of growing models, for comparisons on the same held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...rows import Array
from .choice import HeldOut
from .compare import Paired
from .machines import Machine, Setting
from .observations import blur_for
from .plan import FOLDS

# A candidate is given up after this many folds if what it is compared with is better by so many standard errors.
LOOKED_AT, GIVEN_UP = 2, 1.0


class Trial(Paired):
    """Cross-validation of one machine, always on the same folds."""

    def __init__(
        self,
        machine: Machine,
        rows: Array,
        n_folds: int,
        seed: int,
        noise: float,
        run: Callable[..., Iterable[Any]],
        score: Callable[[Array, Array], float] | None = None,
    ) -> None:
        """`n_folds` of the FOLDS are used; `run` maps a function over them, in threads or not.

        `rows` are the numbers of the machine's rows among all rows. The mistakes of ridge regression, `noise`, say how
        much blur is right. `score` from outputs and numbers of held-out rows takes the place of errors, one for each
        fold.
        """
        data = machine.data
        folds = data.folds(FOLDS, np.random.default_rng([seed, 0]))[:n_folds]
        self.machine, self.seed, self.run, self.score = machine, seed, run, score
        self.train = [train for train, _ in folds]
        self.held = [np.flatnonzero(held > 0) for _, held in folds]
        held = np.concatenate(self.held)
        weights = [part[rows] for (_, part), rows in zip(folds, self.held, strict=True)]
        self.held_weight = np.concatenate(weights)
        super().__init__(self.held_weight if score is None else np.array([part.sum() for part in weights]))
        self.rows = rows[held]
        # numbers of the rows that are trained on and held out
        self.folds = [
            (rows[train > 0], rows[held]) for train, held in zip(self.train, self.held, strict=True)
        ]
        self._all_rows = rows
        self._tried: dict[tuple[Setting, int], list[Array]] = {}  # outputs of one size, fold after fold
        self.blur = blur_for(noise, data.n)

    def held_out(self, outputs: Array) -> HeldOut:
        """These outputs with the rows they belong to."""
        return HeldOut(outputs, self.rows, self.held_weight)

    def grown(self, setting: Setting, sizes: Sequence[int]) -> Iterator[Array]:
        """For each size, held-out outputs (n_held, k), one after the other.

        Nothing is computed before it is asked for.
        """
        paths = [self._path(setting, fold, sizes) for fold in range(len(self.train))]

        def step(fold: int) -> Array:
            return self.machine.outputs(next(paths[fold]), self.held[fold])

        for _ in sizes:
            yield np.concatenate(list(self.run(step, range(len(paths)))))

    def _path(self, setting: Setting, fold: int, sizes: Sequence[int]) -> Iterator[Any]:
        return self.machine.path(
            setting, self.train[fold], sizes, np.random.default_rng([self.seed, 1 + fold])
        )

    def at(self, setting: Setting, size: int) -> Array:
        """Errors at one size."""
        found = self.against(setting, size, None)
        assert found is not None
        return found

    def against(self, setting: Setting, size: int, rival: Array | None) -> Array | None:
        """Errors at one size; given up after a few folds, as None, where the errors `rival` are clearly less."""
        done = self._tried.setdefault((setting, size), [])

        def step(fold: int) -> Array:
            return self.machine.outputs(next(self._path(setting, fold, [size])), self.held[fold])

        if rival is not None and len(done) < LOOKED_AT < len(self.train):
            done += self.run(step, range(len(done), LOOKED_AT))
            errors = self._errors(done)
            seen = Paired(self.weight[: len(errors)])
            if seen.clearly_better(rival[: len(errors)], errors, GIVEN_UP):
                return None
        done += self.run(step, range(len(done), len(self.train)))
        return self._errors(done)

    def _errors(self, parts: Sequence[Array]) -> Array:
        """What the outputs of the first folds cost: of each row with blur, or of each fold by `score`."""
        pairs = list(zip(self.held, parts, strict=False))
        if self.score is not None:
            return np.array([-self.score(part, self._all_rows[rows]) for rows, part in pairs])
        return np.concatenate([self.machine.data.take(rows).errors(part, self.blur) for rows, part in pairs])

    def errors(self, outputs: Array) -> Array:  # (n_held, k) -> (n_held,) or (n_folds,)
        """What these held-out outputs cost, with blur."""
        ends = np.cumsum([len(rows) for rows in self.held])[:-1]
        return self._errors(np.split(outputs, ends))

    def mistakes(self, outputs: Array) -> Array:  # (n_held, k) -> (n_held,) or (n_folds,)
        """What these held-out outputs cost without blur: 1 for a wrong class."""
        if self.score is not None:
            return self.errors(outputs)
        return self.machine.data.take(np.concatenate(self.held)).mistakes(outputs)
