"""A linear map to fewer dimensions, learnt together with the vectors that lie in its image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from . import _core
from .rows import Array, Rows, block_slices, frozen

_NO_WIDTHS = np.empty(0)


@dataclass(frozen=True, eq=False)
class Projection:
    """The map x -> matrix x - shift.

    Parameters
    ----------
    matrix : array of shape (r, d)
    shift : array of shape (r,)
        The image of the middle of the data, so that what is left after it has been taken off is of the size of the
        vectors.

    Notes
    -----
    The products are added up in double precision, in an order that does not depend on the other rows: data far from the
    origin lose nothing in float32, and a row alone has the image it has among others. CSR rows are never made dense.

    Examples
    --------
    >>> Projection(np.array([[1.0, 2.0]]), np.array([3.0]))(np.array([[1.0, 1.0], [0.0, 2.0]]))
    array([[0.],
           [1.]])
    """

    matrix: Array
    shift: Array

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix)
        matrix = np.ascontiguousarray(
            matrix, dtype=matrix.dtype if matrix.dtype == np.float32 else np.float64
        )
        shift = np.asarray(self.shift, dtype=np.float64)
        if matrix.ndim != 2 or shift.shape != matrix.shape[:1]:
            raise ValueError(
                f"a projection has a matrix of shape (r, d) and a shift of shape (r,), got {matrix.shape} and "
                f"{shift.shape}."
            )
        if not (np.isfinite(matrix).all() and np.isfinite(shift).all()):
            raise ValueError("projection must be finite.")
        self._settle(matrix, shift)

    def _settle(self, matrix: Array, shift: Array) -> None:
        for name, array in (("matrix", matrix), ("shift", shift), ("_wide", matrix.astype(np.float64))):
            object.__setattr__(self, name, frozen(array))

    def __getstate__(self) -> dict[str, Any]:
        return {"matrix": self.matrix, "shift": self.shift}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._settle(state["matrix"], state["shift"])

    def __call__(self, X: Rows, *, n_threads: int = 1) -> Array:  # (n, r)
        """Images of the rows of X, in float32 if the matrix and X are."""
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but the model has {self.n_features}.")
        dtype = np.dtype(np.float32 if X.dtype == self.matrix.dtype == np.float32 else np.float64)
        out = np.empty((X.shape[0], self.rank), dtype=dtype)
        for rows in block_slices(X.shape[0], 8 * (X.shape[1] + self.rank)):
            out[rows] = self._image(X[rows], dtype, n_threads)
        return out

    def _image(self, X: Rows, dtype: np.dtype[Any], n_threads: int) -> Array:
        wide: Array = self._wide  # type: ignore[attr-defined]
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(X):
                image = np.asarray(X.astype(np.float64) @ wide.T)
                known = X.data
            else:
                rows = np.require(X, np.float64, ("C", "A"))
                image = _core.gram("linear", 1.0, 0.0, 1, _NO_WIDTHS, rows, wide, n_threads)
                known = rows
            image = image - self.shift
        largest = float(np.finfo(dtype).max)
        if not (np.abs(image) <= largest).all() and np.isfinite(known).all():
            # so far away that no kernel value but 0 is possible: any large number will do
            image = np.clip(np.nan_to_num(image, nan=largest), -largest, largest)
        return image

    @property
    def rank(self) -> int:
        """Dimensions of the image."""
        return int(self.matrix.shape[0])

    @property
    def n_features(self) -> int:
        """Features of a row."""
        return int(self.matrix.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of matrix and shift, as many for each number as the matrix has."""
        return (self.matrix.size + self.shift.size) * self.matrix.itemsize

    def astype(self, dtype: DTypeLike) -> Projection:
        """The projection with its matrix in float32 or float64."""
        return Projection(self.matrix.astype(dtype), self.shift)

    def same_as(self, other: Projection | None) -> bool:
        """Whether the other projection has the same numbers."""
        return (
            other is not None
            and np.array_equal(self.matrix, other.matrix)
            and np.array_equal(self.shift, other.shift)
        )

    def __repr__(self) -> str:
        return f"Projection({self.n_features} features to {self.rank})"
