"""What a fit warns of."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from ...errors import warn_user
from ...rows import Array
from ...words import count


def warn_of_interruption(name: str, n_vectors: int) -> None:
    """Say that a fit was interrupted and what it has."""
    warn_user(
        f"{name} was interrupted; the model has {count(n_vectors, 'vector')}, chosen by what was known by then. Fit "
        "again without interruption for the best one.",
        ConvergenceWarning,
    )


def warn_of_one_class(name: str, outputs: Array) -> None:  # (n, k)
    """Say so if every row is given the same class."""
    given = outputs[:, 0] > 0 if outputs.shape[1] == 1 else outputs.argmax(axis=1)
    if (given == given[0]).all():
        warn_user(
            f"{name} predicts one class only, for all rows it was trained on. If the others matter, "
            'class_weight="balanced" lets every class count alike, in training and in the search.',
            UserWarning,
        )
