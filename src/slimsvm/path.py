"""Models of growing size and what each costs and scores, as a value."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from .rows import Array


@dataclass(frozen=True, eq=False)
class VectorPath:
    """Models of growing size and what each costs and scores; entry i of every array belongs to `sizes[i]`.

    Attributes
    ----------
    sizes : int array of shape (n_sizes,)
        Numbers of vectors asked for, ascending.
    n_vectors : float array of shape (n_sizes,)
        Vectors really used, mean over the folds.
    scores, errors : float arrays of shape (n_sizes,)
        Mean score over the folds, and the standard error of that mean.
    fold_scores : float array of shape (n_sizes, n_folds)
    bytes : float array of shape (n_sizes,)
        `slimsvm.budget.stored_bytes`, mean over the folds.
    latency_us : float array of shape (n_sizes,)
        Microseconds to evaluate one row (`slimsvm.budget.single_row_latency_us`), median over the folds.
    chosen : int
        Position of the chosen size: the smallest whose mean score is within one standard error of the best.
    score_name : str
        What the scores are.
    """

    sizes: Array
    n_vectors: Array
    scores: Array
    errors: Array
    fold_scores: Array
    bytes: Array
    latency_us: Array
    chosen: int
    score_name: str = "score"

    @property
    def best(self) -> int:
        """Position of the best mean score; of equal ones the smallest size."""
        return int(np.argmax(self.scores))

    @property
    def chosen_size(self) -> int:
        """The chosen number of vectors."""
        return int(self.sizes[self.chosen])

    def to_frame(self) -> Any:
        """The path as a pandas DataFrame, one row for each size.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas

        columns = {
            "n_vectors": self.n_vectors, self.score_name: self.scores, "standard_error": self.errors,
            "bytes": self.bytes, "latency_us": self.latency_us, "chosen": np.arange(len(self.sizes)) == self.chosen,
        }  # fmt: skip
        return pandas.DataFrame(columns, index=pandas.Index(self.sizes, name="size"))

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        return f"VectorPath(sizes {sizes}; chosen {self.chosen_size}: {self.score_name} {self.scores[self.chosen]:.4f})"

    def _repr_html_(self) -> str:
        titles = ("size", "vectors", html.escape(self.score_name), "standard error", "bytes", "us a row")
        rows = []
        for i, size in enumerate(self.sizes):
            cells = (
                f"{size}", f"{self.n_vectors[i]:.1f}", f"{self.scores[i]:.4f}", f"{self.errors[i]:.4f}",
                f"{self.bytes[i]:.0f}", f"{self.latency_us[i]:.1f}",
            )  # fmt: skip
            mark = ' style="font-weight: bold"' if i == self.chosen else ""
            rows.append(f"<tr{mark}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        head = "".join(f"<th>{title}</th>" for title in titles)
        return f"<table><caption>VectorPath; chosen in bold</caption><tr>{head}</tr>{''.join(rows)}</table>"

    def __str__(self) -> str:
        lines = [f"{'size':>6} {'vectors':>8} {self.score_name:>22} {'bytes':>9} {'us a row':>9}"]
        for i, size in enumerate(self.sizes):
            score = f"{self.scores[i]:.4f} +- {self.errors[i]:.4f}"
            lines.append(
                f"{size:6d} {self.n_vectors[i]:8.1f} {score:>22} {self.bytes[i]:9.0f} "
                f"{self.latency_us[i]:9.1f}{'  <- chosen' if i == self.chosen else ''}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class FullModel:
    """What a path is measured by: a model with as many vectors as it likes.

    Attributes
    ----------
    n_vectors : float
        Mean over the folds.
    score, error : float
        Mean score over the folds, and the standard error of that mean.
    """

    n_vectors: float
    score: float
    error: float = 0.0


def within_one_error(scores: Array, errors: Array) -> int:
    """Position of the first score that is within one standard error, that of the best, of the best.

    Parameters
    ----------
    scores, errors : arrays of shape (n_sizes,)
        Means and their standard errors, from the smallest size to the largest.

    Returns
    -------
    int

    Examples
    --------
    >>> within_one_error([0.5, 0.88, 0.90, 0.89], [0.1, 0.01, 0.02, 0.01])
    1
    """
    scores = np.asarray(scores)
    best = int(np.argmax(scores))
    return int(np.flatnonzero(scores >= scores[best] - np.asarray(errors)[best])[0])
