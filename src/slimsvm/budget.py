"""What a model costs: the bytes of its numbers and the time of one evaluation, as limits count them."""

from __future__ import annotations

import time

import numpy as np

from .expansion import KernelExpansion
from .kernels import RBF, Laplacian, Precomputed
from .rounding import BITS, checked, kernel_values
from .rows import Rows

# Calls before the clock counts: the first ones load code and data into the caches.
WARM_UP_CALLS = 3
# A latency is the median of at most this many calls,
MAX_TIMED_CALLS = 301
# of which no more are begun once this much time has passed,
TIMING_SECONDS = 0.05
# but at least this many are made, so that one interruption does not decide.
MIN_TIMED_CALLS = 5


def bytes_for(
    n_vectors: int,
    *,
    n_features: int,
    n_outputs: int = 1,
    number: str = "float32",
    n_widths: int = 1,
    rank: int | None = None,
    distances: bool = True,
) -> int:
    """Bytes of a model of this size: `stored_bytes` before the model is there.

    Parameters
    ----------
    n_vectors, n_features, n_outputs : int
        Number of vectors, of their features, and of outputs.
    number : {"float64", "float32", "int16", "int8", "int4"}, default="float32"
        What each number is stored as.
    n_widths : int, default=1
        Numbers of the kernel: 1 for an RBF kernel of one width, `n_features` for one of a width per feature,
        0 for the linear kernel.
    rank : int or None, default=None
        Dimensions of the image of a projection, in which the vectors lie; None for a model without one.
    distances : bool, default=True
        Whether the kernel measures distances ("rbf", "laplacian"): integer formats then store a base for each feature
        and one step, and otherwise a step for each feature.

    Returns
    -------
    int

    Examples
    --------
    >>> bytes_for(10, n_features=2), bytes_for(10, n_features=64, rank=4)
    (128, 1248)
    >>> bytes_for(10, n_features=2, number="int8"), bytes_for(10, n_features=64, rank=4, number="int8")
    (54, 354)
    """
    bits = BITS[checked(number)]
    width = n_features if rank is None else rank
    tables = [n_vectors * width, n_vectors * n_outputs]
    plain = n_outputs + n_widths  # intercept, kernel
    if rank is not None:
        tables.append(rank * n_features)
        plain += rank  # the shift
    if bits >= 32:
        return int((sum(tables) + plain) * bits // 8)
    plain += n_outputs  # steps of the coefficients
    if rank is not None:
        plain += rank + 1  # steps of the matrix and of the vectors
    else:
        plain += n_features + int(distances)
    return int(4 * plain + sum(-(-table * bits // 8) for table in tables))


def stored_bytes(expansion: KernelExpansion, number: str | None = None) -> int:
    r"""Bytes of the numbers a model consists of.

    These are the vectors, the coefficients, the intercept and the numbers of the kernel (for RBF its one width
    or its width per feature): for m vectors of d features, k outputs and w widths

    .. math:: (m\,d + m\,k + k + w) \cdot \mathrm{itemsize} ,

    and behind a projection to r dimensions :math:`m\,r + r\,d + r` in the place of :math:`m\,d`. In the integer formats
    the vectors, the coefficients and the matrix of the projection are whole numbers, and the rest is float32, together
    with their steps (`slimsvm.rounding`).

    This is what an export to C writes as tables of constants. It leaves out what is not a number of the model:
    the code that evaluates it, the names of classes and features, and the packaging of a model file.

    Parameters
    ----------
    expansion : KernelExpansion
        CSR vectors are counted with their zeros, because constant tables hold them.
    number : {"float64", "float32", "int16", "int8", "int4"} or None, default=None
        What each number is stored as; None is the expansion's own dtype.

    Returns
    -------
    int

    Examples
    --------
    >>> from slimsvm.kernels import RBF
    >>> f = KernelExpansion(RBF(1.0), [[0.0, 0.0], [1.0, 0.0]], [1.0, -1.0], 0.5)
    >>> stored_bytes(f), stored_bytes(f.astype("float32")), stored_bytes(f, "int8")
    (64, 32, 30)
    """
    projection = expansion.projection
    return bytes_for(
        expansion.n_vectors,
        n_features=expansion.n_features,
        n_outputs=expansion.n_outputs,
        number=expansion.coef.dtype.name if number is None else checked(number, expansion.kernel),
        n_widths=kernel_numbers(expansion.kernel),
        rank=None if projection is None else projection.rank,
        distances=isinstance(expansion.kernel, RBF | Laplacian),
    )


def kernel_numbers(kernel: object) -> int:
    """How many numbers a kernel consists of; a kernel that is code has none to store."""
    return int(kernel_values(kernel).size)


def max_vectors_for(
    *,
    bytes: int,
    n_features: int,
    n_outputs: int = 1,
    number: str = "float32",
    n_widths: int = 1,
    rank: int | None = None,
    distances: bool = True,
) -> int:
    """Largest number of vectors whose stored bytes fit.

    Parameters
    ----------
    bytes : int
        The limit; 1 kB is 1,024 bytes.
    n_features, n_outputs, number, n_widths, rank, distances
        As in `bytes_for`.

    Returns
    -------
    int
        0 if not even one vector fits.

    Examples
    --------
    >>> max_vectors_for(bytes=4096, n_features=16), max_vectors_for(bytes=60, n_features=16)
    (60, 0)
    >>> max_vectors_for(bytes=4096, n_features=16, number="int8")
    236
    """

    def size(n_vectors: int) -> int:
        return bytes_for(
            n_vectors,
            n_features=n_features,
            n_outputs=n_outputs,
            number=number,
            n_widths=n_widths,
            rank=rank,
            distances=distances,
        )

    none = size(0)
    two = size(2) - none  # of two vectors no table ends within a byte
    most = 2 * max(0, int(bytes) - none) // two
    return most if size(most) <= bytes else max(0, most - 1)


def single_row_latency_us(
    expansion: KernelExpansion, *, n_features: int | None = None, row: Rows | None = None
) -> float:
    """Microseconds of one call of the expansion on one row, in one thread.

    The median of repeated calls after a few that do not count, so that interruptions by other programs do not
    show. An estimator's `predict` adds what does not depend on the model: one or two microseconds for an RBF kernel
    and a plain array of the model's dtype, scikit-learn's input checks for everything else.

    Parameters
    ----------
    expansion : KernelExpansion
        The model.
    n_features : int or None, default=None
        Length of the row of zeros; None takes that of the vectors. With a precomputed kernel a row has one entry for
        each training row.
    row : array or CSR of shape (1, d) or None, default=None
        The row itself, where zeros would not do.

    Returns
    -------
    float
    """
    if row is None and n_features is None:
        precomputed = isinstance(expansion.kernel, Precomputed)
        n_features = int(expansion.vectors.max(initial=0)) + 1 if precomputed else expansion.n_features
    if row is None:
        row = np.zeros((1, n_features), dtype=expansion.coef.dtype)
    for _ in range(WARM_UP_CALLS):
        expansion(row)
    nanoseconds: list[int] = []
    end = time.perf_counter() + TIMING_SECONDS
    while len(nanoseconds) < MIN_TIMED_CALLS or (
        len(nanoseconds) < MAX_TIMED_CALLS and time.perf_counter() < end
    ):
        start = time.perf_counter_ns()
        expansion(row)
        nanoseconds.append(time.perf_counter_ns() - start)
    return float(np.median(nanoseconds)) / 1000.0
