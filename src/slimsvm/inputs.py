"""What a model expects of a row before it becomes numbers of the expansion."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Inputs:
    """The columns of a row.

    Parameters
    ----------
    n_features : int
    names : tuple of str or None
        Names of the columns, where the model was trained on a table.
    """

    n_features: int
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != self.n_features:
            raise ValueError(
                f"names has {len(self.names)} entries, but there are {self.n_features} features."
            )
