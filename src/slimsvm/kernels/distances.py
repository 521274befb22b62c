"""Distances and products of rows, dense or CSR."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ..rows import Array, Rows, block_slices, dense, is_crowded, scale_columns, squared_norms


def row_products(X: Rows, Z: Rows) -> Array:  # (n, m)
    """Products of the rows of X with those of Z."""
    products = X @ Z.T
    return products.toarray() if sparse.issparse(products) else np.asarray(products)


def squared_distances(X: Rows, Z: Rows) -> Array:  # (n, d), (m, d) -> (n, m)
    """Squared distances in float64, of dense or crowded rows by differences: right however far the rows are."""
    if is_crowded(X) and is_crowded(Z):
        out = np.empty((X.shape[0], Z.shape[0]))
        vectors = dense(Z)
        for rows in block_slices(X.shape[0], 8 * X.shape[1]):
            out[rows] = cdist(dense(X[rows]), vectors, "sqeuclidean")
        return out
    with np.errstate(over="ignore"):
        norms = squared_norms(X)[:, None] + squared_norms(Z)[None, :]
        return np.maximum(norms - 2.0 * row_products(X, Z), 0.0)


# Distances of CSR rows are taken from norms and products, whose rounding is a share NORMS_ERROR of the norms at the
# very worst and a ten-thousandth of it as a rule. Norms up to SURE_NORMS leave an error of 1e-12 in the exponent; where
# they are larger, the differences themselves are needed, unless the kernel value is beyond the range of exp anyway.
SURE_NORMS = 2000.0
SURELY_ZERO = 746.0
NORMS_ERROR = 1e-10


def squared_differences(X: Rows, Z: Rows, pairs: tuple[Array, Array], root: Array) -> Array:
    """Squared distances of pairs of rows, by differences of their entries times `root`."""
    X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    out = np.empty(pairs[0].size)
    entries = 1 + (X.nnz + Z.nnz) // (X.shape[0] + Z.shape[0])
    for part in block_slices(out.size, 64 * entries):
        # a difference may overflow; that of the halves does not, and under a small width or none it counts little
        halves = sparse.csr_array(0.5 * X[pairs[0][part]] - 0.5 * Z[pairs[1][part]])
        out[part] = squared_norms(scale_columns(halves, 2.0 * root))
    return out
