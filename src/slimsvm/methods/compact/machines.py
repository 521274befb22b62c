"""What the search asks of a machine that trains models of growing size for one setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...refinement import SmoothLoss
from ...rows import Array
from .observations import Observations
from .ridge import PENALTIES, WIDTHS

# Which widths a model may learn.
KINDS = ("fixed", "one", "per_feature")
# The number of the scaling that stands for widths found by maximum likelihood, on the rows that are trained on.
LIKELIHOOD = -1


@dataclass(frozen=True)
class Setting:
    """What the search chooses besides the size.

    Parameters
    ----------
    width : float
        Gamma on the scaled inputs; not used by machines without one.
    penalty : float
        The inverse of C.
    widths : {"fixed", "one", "per_feature"}
        Which widths are learnt.
    scaling : int
        Number of the scaling of the machine that the widths begin with, or LIKELIHOOD.
    """

    width: float
    penalty: float
    widths: str = "fixed"
    scaling: int = 0


@dataclass(frozen=True, order=True)
class First:
    """What ridge regression likes with one scaling: the error on rows left out, and where; of the least, `mistakes`."""

    error: float
    width: float
    penalty: float
    mistakes: float


class Model(Protocol):
    """A trained model."""

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        ...


class Machine(Protocol):
    """Trains on the rows of some observations, weighted; `weight` is zero for rows left out."""

    data: Observations
    has_width: bool

    def on(self, rows: Array) -> Machine:
        """The same machine for these rows alone."""
        ...

    def first(self, width: float | None, penalty: float | None, rng: np.random.Generator) -> list[First]:
        """For each scaling what ridge regression likes; what is given stays."""
        ...

    def with_loss(self, loss: SmoothLoss) -> Machine:
        """The machine that minimises this loss."""
        ...

    def can_try(self, size: int) -> bool:
        """Whether a model of this size is trained soon enough to be tried on folds."""
        ...

    def path(
        self, setting: Setting, weight: Array, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[Model]:
        """Models of these sizes, each grown from the one before."""
        ...

    def outputs(self, model: Any, rows: Array) -> Array:
        """Outputs of the model at these rows, of shape (rows, k)."""
        ...

    def last(
        self,
        setting: Setting,
        sizes: Sequence[int],
        rng: np.random.Generator,
        report: Callable[[str], None],
        *,
        to_the_end: bool,
    ) -> Iterator[tuple[Model, int]]:
        """Models for all rows, of the last of the sizes, each better than the one before; with iterations.

        Without `to_the_end` the last is trained as those of the same size were in the folds.
        """
        ...


def first_grids(width: float | None, penalty: float | None, n_features: int) -> tuple[Array, Array]:
    """Widths and penalties for ridge regression; what is given stays."""
    return (
        WIDTHS / n_features if width is None else np.array([width]),
        PENALTIES if penalty is None else np.array([penalty]),
    )
