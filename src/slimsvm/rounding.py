"""Number formats: what the numbers of a model are stored as, and the model that they make.

"float64" and "float32" are what they say. The integer formats store whole numbers and a few steps in float32, so that
the inner loop of an evaluation can be one of whole numbers: what is rounded together has one step in the metric of the
kernel.

==================================  ======================================================================
vectors, kernel of distances        a base for each feature, and one step for all in the units of the kernel;
                                    the base of CSR vectors is 0, so that their zeros stay zeros
vectors behind a projection         one step for all in the units of the kernel
vectors, kernel of products         a step for each feature
matrix of a projection              a step for each row; the shift stays float32
coefficients                        a step for each output; the intercept stays float32
==================================  ======================================================================

Widths and other parameters of the kernel stay float32. What is on a grid stays on it: rounding twice is rounding once,
bit for bit. So vectors and projection can be rounded first (`rounded_geometry`), the coefficients solved for them, and
the whole rounded then.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .expansion import KernelExpansion
from .grid import LARGEST, Whole, about_zero, above_a_base, by_column, of_csr, single
from .kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from .projection import Projection
from .rows import Array, Rows

BITS = {"float64": 64, "float32": 32, "int16": 16, "int8": 8, "int4": 4}
NUMBERS = tuple(BITS)


@dataclass(frozen=True, eq=False)
class Rounded:
    """An expansion whose numbers have a format.

    Parameters
    ----------
    number : str
        One of `NUMBERS`.
    expansion : KernelExpansion
        With the rounded values: float64 for "float64", float32 for all others.
    vectors, coef, matrix : Whole or None
        What the integer formats store; `matrix` is that of the projection.

    Examples
    --------
    >>> f = KernelExpansion(RBF(1.0), [[0.0, 1.0], [0.6, 0.1], [0.3, 0.2]], [1.0, -0.5, 0.2], 0.1)
    >>> small = rounded(f, "int8")
    >>> small.nbytes, rounded(f, "float32").nbytes
    (33, 44)
    >>> small.vectors.whole.tolist()
    [[0, 255], [170, 0], [85, 28]]
    >>> float(abs(small.expansion(f.vectors) - f(f.vectors)).max()) < 0.01
    True
    """

    number: str
    expansion: KernelExpansion
    vectors: Whole | None = None
    coef: Whole | None = None
    matrix: Whole | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all numbers of the model: whole numbers, steps, base, shift, intercept, kernel."""
        f = self.expansion
        plain = kernel_values(f.kernel).size + f.intercept.size
        if self.vectors is None or self.coef is None:
            plain += f.vectors.shape[0] * f.vectors.shape[1] + f.coef.size
            plain += 0 if f.projection is None else f.projection.matrix.size + f.projection.rank
            return plain * BITS[self.number] // 8
        plain += 0 if f.projection is None else f.projection.rank
        whole = [part for part in (self.vectors, self.coef, self.matrix) if part is not None]
        return 4 * plain + sum(part.nbytes for part in whole)


def checked(number: str, kernel: Any = None) -> str:
    """A number format, which this kernel can have."""
    if number not in NUMBERS:
        raise ValueError(f"number must be one of {', '.join(map(repr, NUMBERS))}, got {number!r}.")
    if BITS[number] < 32 and not isinstance(kernel, RBF | Laplacian | Linear | Polynomial | Sigmoid | None):
        raise ValueError(
            f"number={number!r} needs vectors that are rows and a built-in kernel, not {kernel!r}; take 'float32'."
        )
    return number


def kernel_values(kernel: object) -> Array:  # (w,)
    """The numbers a kernel consists of; a kernel that is code has none to store."""
    if not is_dataclass(kernel):
        return np.empty(0)
    values = [np.asarray(getattr(kernel, field.name)) for field in fields(kernel)]
    return np.concatenate([value.ravel() for value in values if value.dtype.kind in "iuf"] or [np.empty(0)])


def rounded(expansion: KernelExpansion, number: str, *, middle: Array | None = None) -> Rounded:
    """The expansion with its numbers rounded to a format.

    Parameters
    ----------
    expansion : KernelExpansion
        For the integer formats with a built-in kernel other than "precomputed".
    number : {"float64", "float32", "int16", "int8", "int4"}
    middle : array of shape (d,) or None, default=None
        A row in the middle of the data: the image of this row stays where it was when the matrix of a projection is
        rounded. None is right for rows whose middle is near zero.

    Returns
    -------
    Rounded
    """
    f, vectors, matrix = _geometry(expansion, number, middle)
    if vectors is None:
        return Rounded(number, f)
    coef, values = by_column(f.coef, BITS[number])
    return Rounded(number, replace(f, coef=values), vectors, coef, matrix)


def rounded_geometry(
    expansion: KernelExpansion, number: str, *, middle: Array | None = None
) -> KernelExpansion:
    """The expansion with vectors, kernel and projection as in `rounded`, and the coefficients not yet rounded.

    Coefficients solved for this expansion make up for what rounding did to the vectors; `rounded` then leaves all else
    as it is.

    Parameters
    ----------
    expansion, number, middle
        As in `rounded`.

    Returns
    -------
    KernelExpansion
    """
    return _geometry(expansion, number, middle)[0]


def _geometry(
    f: KernelExpansion, number: str, middle: Array | None
) -> tuple[KernelExpansion, Whole | None, Whole | None]:
    """The expansion with its geometry rounded, and the whole numbers of the vectors and of the matrix."""
    bits = BITS[checked(number, f.kernel)]
    if number == "float64":
        return f.astype(np.float64), None, None
    _check_range(f, number)
    projection, matrix = f.projection, None
    if projection is not None and bits < 32:
        projection, matrix = _projection(projection, bits, middle)
    if projection is not None:
        projection = Projection(projection.matrix, single(projection.shift))
    f = replace(f.astype(np.float32), kernel=_single_kernel(f.kernel, number), projection=projection)
    if bits == 32:
        return f, None, None
    vectors, rows = _vectors(f, bits)
    return replace(f, vectors=rows), vectors, matrix


def _check_range(f: KernelExpansion, number: str) -> None:
    parts = {
        "vectors": f.vectors.data if sparse.issparse(f.vectors) else f.vectors,
        "coef": f.coef,
        "intercept": f.intercept,
        "kernel": kernel_values(f.kernel),
    }
    if f.projection is not None:
        parts["projection"] = np.column_stack([f.projection.matrix, f.projection.shift])
    for name, values in parts.items():
        if np.abs(values).max(initial=0) > LARGEST:
            raise ValueError(f"{name} has numbers beyond {LARGEST:.2g}, which number={number!r} cannot hold.")


def _projection(projection: Projection, bits: int, middle: Array | None) -> tuple[Projection, Whole]:
    by_row, values = by_column(projection.matrix.T, bits, cut=True)
    matrix, shift = np.ascontiguousarray(values.T), projection.shift
    if middle is not None:
        shift = shift + (matrix.astype(np.float64) - projection.matrix) @ np.asarray(middle, dtype=np.float64)
    return Projection(matrix, shift), replace(by_row, whole=np.ascontiguousarray(by_row.whole.T))


def _single_kernel(kernel: Kernel, number: str) -> Kernel:
    """The kernel with its parameters in float32."""
    if not isinstance(kernel, RBF | Laplacian | Polynomial | Sigmoid):
        return kernel
    values = {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    short = {
        name: value if name == "degree" else single(np.asarray(value)).tolist()
        for name, value in values.items()
    }
    if not np.any(short["gamma"]):
        raise ValueError(f"kernel: gamma={values['gamma']!r} is too small for number={number!r}.")
    return type(kernel)(**short)


def _vectors(f: KernelExpansion, bits: int) -> tuple[Whole, Rows]:
    """The vectors of an expansion in float32 as whole numbers, and as they are then."""
    csr = sparse.issparse(f.vectors)
    if not isinstance(f.kernel, RBF | Laplacian):
        if not csr:
            return by_column(f.vectors, bits)
        return of_csr(f.vectors, np.ones(f.vectors.nnz), f.vectors.indices, f.vectors.shape[1], bits)
    d = f.vectors.shape[1]
    root = units(f.kernel, d)
    if csr:
        whole, rows = of_csr(
            f.vectors, root[f.vectors.indices], np.zeros(f.vectors.nnz, dtype=np.intp), 1, bits
        )
        return (whole if f.projection is not None else replace(whole, base=np.zeros(d, np.float32))), rows
    if f.projection is None:
        return above_a_base(f.vectors, root, bits)
    group = np.zeros(f.vectors.size, dtype=np.intp)
    shape, roots = f.vectors.shape, np.tile(root, len(f.vectors))
    q, values, step = about_zero(f.vectors.ravel(), roots, group, 1, bits, cut=True)
    return Whole(q.reshape(shape), step, np.empty(0, np.float32), bits), values.reshape(shape)


def units(kernel: Kernel, d: int) -> Array:  # (d,)
    """The units of the kernel per unit of each of d features; with one width they are those of the vectors."""
    if not isinstance(kernel, RBF | Laplacian) or isinstance(kernel.gamma, float):
        return np.ones(d)
    return kernel.widths(d) ** (0.5 if isinstance(kernel, RBF) else 1.0)


def restored(
    kernel: Kernel,
    vectors: Whole,
    coef: Whole,
    intercept: Array,  # (n_outputs,)
    matrix: Whole | None = None,
    shift: Array | None = None,  # (r,)
) -> KernelExpansion:
    """The expansion that whole numbers stand for: that of the `Rounded` they come from, bit for bit."""
    projection = None
    if matrix is not None and shift is not None:
        by_column = replace(matrix, whole=matrix.whole.T)
        projection = Projection(by_column.values(np.ones(matrix.whole.shape[0])).T, shift)
    rows, values = (
        part.values(root)
        for part, root in (
            (vectors, units(kernel, vectors.whole.shape[1])),
            (coef, np.ones(coef.whole.shape[1])),
        )
    )
    return KernelExpansion(kernel, rows, values, intercept.astype(np.float32), projection)


def lossless(f: KernelExpansion) -> Rounded:
    """The expansion in the smallest format that has all its numbers, bit for bit."""
    if f.coef.dtype == np.float64:
        return Rounded("float64", f)
    for number in ("int4", "int8", "int16") if f.n_vectors else ():
        if not _same(by_column(f.coef, BITS[number])[1], f.coef):  # they are few, and so is the work
            continue
        try:
            small = rounded(f, number)
        except ValueError:  # a kernel, or numbers, that the format cannot have
            continue
        if same_expansion(small.expansion, f):
            return small
    return Rounded("float32", f)


def same_expansion(f: KernelExpansion, g: KernelExpansion) -> bool:
    """Whether two expansions are equal to the last bit."""
    if sparse.issparse(f.vectors) != sparse.issparse(g.vectors) or f.kernel != g.kernel:
        return False
    if (f.projection is None) != (g.projection is None):
        return False
    return all(_same(a, b) for a, b in zip(_arrays(f), _arrays(g), strict=True))


def _arrays(f: KernelExpansion) -> list[Array]:
    rows = (
        [f.vectors.data, f.vectors.indices, f.vectors.indptr] if sparse.issparse(f.vectors) else [f.vectors]
    )
    return [
        *rows,
        f.coef,
        f.intercept,
        *(() if f.projection is None else (f.projection.matrix, f.projection.shift)),
    ]


def _same(a: Array, b: Array) -> bool:
    """Equal as bits: 0.0 is not -0.0."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
