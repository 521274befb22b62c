r"""Exact simplification: drop the vectors that are linear combinations of others.

If :math:`\phi(s_i) = \sum_{j \in J} \beta_{ji} \phi(s_j)` for the vectors outside an independent set J, then
the coefficients :math:`c_J + \beta c_D` give the same function (Downs, Gates and Masters, eq. 5).
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from ..rows import Array
from .prune import Pruned


def simplify(
    K: Array,  # (m, m)
    coef: Array,  # (m, k)
    *,
    tol: float | None = None,
    positive_definite: bool = True,
) -> Pruned:
    """Keep a largest independent set of vectors and hand it the coefficients of the rest.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix of the vectors; it is overwritten.
    coef : array of shape (m, k)
    tol : float or None
        A vector is dependent when what the others leave of k(s, s) is at most this share of the largest
        k(s, s); None means rounding, m times the machine epsilon.
    positive_definite : bool
        Whether K is (semi-)definite: a pivoted Cholesky factorisation then finds the set, otherwise a
        pivoted QR factorisation.

    Returns
    -------
    Pruned

    Examples
    --------
    The third row is the sum of the others, so under a linear kernel it is not needed.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> result = simplify(X @ X.T, np.array([[1.0], [2.0], [3.0]]))
    >>> len(result.rows), (X[result.rows].T @ result.coef).ravel().round(12)
    (2, array([4., 5.]))
    """
    m = len(K)
    share = m * np.finfo(np.float64).eps if tol is None else tol
    if positive_definite:
        kept, rest, beta = _by_cholesky(K, share)
    else:
        kept, rest, beta = _by_qr(K, share)
    coef = np.asarray(coef, dtype=np.float64)
    moved = coef[kept] + beta @ coef[rest]
    order = np.argsort(kept)
    return Pruned(kept[order], moved[order], np.sort(rest))


def _by_cholesky(K: Array, share: float) -> tuple[Array, Array, Array]:
    """Independent set, the rest, and the combinations (n_kept, n_rest)."""
    largest = float(np.diagonal(K).max())
    matrix = K if K.flags.f_contiguous else K.T
    factor, pivots, rank, _ = lapack.dpstrf(matrix, tol=share * largest, lower=1, overwrite_a=1)
    rank = max(int(rank), 1)
    pivots = pivots - 1
    L, below = factor[:rank, :rank], factor[rank:, :rank]
    beta = linalg.solve_triangular(L, below.T, lower=True, trans="T")  # K_JJ^-1 K_JD
    return pivots[:rank], pivots[rank:], beta


def _by_qr(K: Array, share: float) -> tuple[Array, Array, Array]:
    R, pivots = linalg.qr(K, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    rank = max(int((sizes > share * sizes[0]).sum()), 1)
    beta = linalg.solve_triangular(R[:rank, :rank], R[:rank, rank:])
    return pivots[:rank], pivots[rank:], beta
