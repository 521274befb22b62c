"""The expansion in a description: its numbers in one of the five formats, its vectors dense or CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelFormatError
from ..expansion import KernelExpansion
from ..grid import Whole, one_in_a_byte, two_in_a_byte
from ..kernels import Polynomial
from ..kernels.built_in import WidthKernel
from ..projection import Projection
from ..rounding import BITS, NUMBERS, Rounded, restored
from ..rows import Array, Rows
from . import checks
from .values import CannotBeStored, Reader, Writer, least_whole

# Features of dense vectors that are none: more would take memory that no byte of the file stands for.
MAX_FEATURES_WITHOUT_VECTORS = 2**22
# Powers beyond overflow whatever the rows.
MAX_DEGREE = 10_000


def write_expansion(whole: Rounded, writer: Writer) -> dict[str, Any]:
    """An expansion in a number format."""
    f = whole.expansion
    stored: dict[str, Any] = {"number": whole.number, "n_outputs": f.n_outputs}
    try:
        stored["kernel"] = writer.kernel(f.kernel, "kernel")
    except CannotBeStored:
        raise ModelFormatError(
            f"a model with the kernel {f.kernel!r} cannot be saved: a file holds the kernels rbf, linear, poly, "
            "sigmoid and laplacian, not functions or kernel matrices."
        ) from None
    shape = [int(n) for n in f.vectors.shape]
    if sparse.issparse(f.vectors):
        csr = f.vectors
        writer.tensors["vectors.indices"] = least_whole(csr.indices, shape[1])
        writer.tensors["vectors.indptr"] = least_whole(csr.indptr, csr.nnz)
    _write_numbers("vectors", f.vectors, whole.vectors, writer)
    _write_numbers("coef", f.coef, whole.coef, writer)
    writer.tensors["intercept"] = f.intercept
    stored |= {"shape": shape, "csr": sparse.issparse(f.vectors), "n_features": None}
    if f.projection is not None:
        stored["n_features"] = f.projection.n_features
        _write_numbers("projection", f.projection.matrix, whole.matrix, writer)
        writer.short(f.projection.shift, "projection.shift")
    return stored


def _write_numbers(name: str, plain: Rows, whole: Whole | None, writer: Writer) -> None:
    if whole is None:
        writer.tensors[name] = plain.data if sparse.issparse(plain) else plain
        return
    q = whole.whole.data if sparse.issparse(whole.whole) else whole.whole
    writer.tensors[name] = two_in_a_byte(q) if whole.bits == 4 else q
    writer.tensors[f"{name}.step"] = whole.step
    if whole.base.size and not sparse.issparse(plain):
        writer.tensors[f"{name}.base"] = whole.base


def read_expansion(stored: Any, reader: Reader) -> KernelExpansion:
    """The expansion that was written."""
    what = "the expansion"
    entry = checks.table(stored, what, ("number", "n_outputs", "kernel", "shape", "csr", "n_features"))
    number = checks.text(entry["number"], f"{what}: number", NUMBERS)
    csr = checks.flag(entry["csr"], f"{what}: csr")
    m, d = (checks.whole(n, f"{what}: shape") for n in checks.listed(entry["shape"], f"{what}: shape", 2))
    k = checks.whole(entry["n_outputs"], f"{what}: n_outputs", 1)
    kernel = reader.kernel(entry["kernel"], "the kernel")
    _check_kernel(kernel, d)
    if d < 1 or (m == 0 and not csr and d > MAX_FEATURES_WITHOUT_VECTORS):
        raise ModelFormatError(f"the vectors have the shape ({m}, {d}), which is no shape of vectors.")
    dtype = np.dtype(np.float64 if number == "float64" else np.float32)
    intercept = _plain("intercept", (k,), dtype, reader)
    matrix: Any = None
    shift = None
    features = None
    if entry["n_features"] is not None:
        features = checks.whole(entry["n_features"], f"{what}: n_features", 1)
        shift = reader.finite("projection.shift", "the projection", (d,)).astype(np.float64)
    try:
        if BITS[number] >= 32:
            if features is not None:
                matrix = _plain("projection", (d, features), dtype, reader)
            rows = _plain("vectors", (None,) if csr else (m, d), dtype, reader)
            rows = reader.csr(_csr_entry(m, d), rows, "the vectors") if csr else rows
            coef = _plain("coef", (m, k), dtype, reader)
            projection = None if matrix is None else Projection(matrix, np.asarray(shift))
            return KernelExpansion(kernel, rows, coef, intercept, projection)
        bits = BITS[number]
        if features is not None:
            matrix = _whole("projection", (d, features), bits, reader, steps=d)
        by_distance, images = isinstance(kernel, WidthKernel), features is not None
        based = by_distance and not images and not csr
        vectors = _whole(
            "vectors",
            (m, d),
            bits,
            reader,
            steps=1 if by_distance else d,
            signed=not based,
            based=based,
            csr=csr,
        )
        return restored(
            kernel, vectors, _whole("coef", (m, k), bits, reader, steps=k), intercept, matrix, shift
        )
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(
            f"the parts of the expansion do not fit together: {checks.said(error)}"
        ) from None


def _check_kernel(kernel: Any, d: int) -> None:
    if isinstance(kernel, WidthKernel) and isinstance(kernel.gamma, tuple) and len(kernel.gamma) != d:
        raise ModelFormatError(f"the kernel has {len(kernel.gamma)} widths for {d} features.")
    if isinstance(kernel, Polynomial) and kernel.degree > MAX_DEGREE:
        raise ModelFormatError(f"the kernel has the degree {kernel.degree}, more than {MAX_DEGREE}.")


def _csr_entry(m: int, d: int) -> dict[str, Any]:
    return {"shape": [m, d], "indices": "vectors.indices", "indptr": "vectors.indptr"}


def _plain(name: str, shape: tuple[int | None, ...], dtype: np.dtype[Any], reader: Reader) -> Array:
    array = reader.finite(name, name, shape)
    if array.dtype != dtype:
        raise ModelFormatError(f"{name} has numbers of type {array.dtype}, not {dtype}.")
    return array


def _whole(
    name: str,
    shape: tuple[int, int],
    bits: int,
    reader: Reader,
    *,
    steps: int,
    signed: bool = True,
    based: bool = False,
    csr: bool = False,
) -> Whole:
    """Whole numbers with their steps, and a base for each column."""
    step = _plain(f"{name}.step", (steps,), np.dtype(np.float32), reader)
    if not (step > 0).all():
        raise ModelFormatError(f"{name} has a step that is not positive.")
    base = np.empty(0, np.float32)
    if based:
        base = _plain(f"{name}.base", (shape[1],), np.dtype(np.float32), reader)
    if bits == 4:
        packed = reader.take(name, name, "u", (None,))
        size = reader.size_of("vectors.indices") if csr else shape[0] * shape[1]
        if packed.dtype != np.uint8 or packed.size != -(-size // 2):
            raise ModelFormatError(f"{name} does not have the bytes of {size} numbers of four bits.")
        q = one_in_a_byte(packed, size, signed=signed)
        q = q if csr else q.reshape(shape)
    else:
        q = reader.take(name, name, "i" if signed else "u", (None,) if csr else shape)
        if q.dtype.itemsize * 8 != bits:
            raise ModelFormatError(f"{name} has numbers of type {q.dtype}, not of {bits} bits.")
    if csr:
        return Whole(reader.csr(_csr_entry(*shape), q, name), step, base, bits)
    return Whole(q, step, base, bits)
