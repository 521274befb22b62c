"""A trained machine as one value: inputs, expansion, readout.

Nothing else is needed to predict, reduce, export or draw it, and nothing here knows how it was trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .expansion import KernelExpansion
from .inputs import Inputs
from .readout import Readout
from .rows import Array


@dataclass(frozen=True, eq=False)
class Model:
    """Inputs, expansion and readout.

    Parameters
    ----------
    inputs : Inputs
    expansion : KernelExpansion
    readout : Readout

    Examples
    --------
    >>> from slimsvm.kernels import RBF
    >>> from slimsvm.readout import SignReadout
    >>> f = KernelExpansion(RBF(1.0), [[0.0], [1.0]], [1.0, -1.0], 0.0)
    >>> Model(Inputs(1), f, SignReadout(["far", "near"]))([[0.2], [0.9]]).tolist()
    ['near', 'far']
    """

    inputs: Inputs
    expansion: KernelExpansion
    readout: Readout

    def __call__(self, X: Any, *, n_threads: int = 1) -> Array:
        """Answer for each row of X: its class, its value, whatever the readout gives."""
        return self.readout.answer(self.outputs(X, n_threads=n_threads))

    def outputs(self, X: Any, *, n_threads: int = 1) -> Array:  # (n, n_outputs)
        """Outputs of the expansion for raw rows."""
        return self.expansion(self.inputs(X), n_threads=n_threads)

    def __repr__(self) -> str:
        return f"Model({self.expansion!r}, {type(self.readout).__name__})"
