"""The model as a value: kernel, vectors, coefficients, intercept.

Every method of the library ends in a `KernelExpansion`; predicting, reducing, storing, exporting and
drawing start from one and know nothing of how it was trained.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from . import _core
from .errors import ModelFormatError, check_version
from .kernels import KERNELS, RBF, Kernel, Laplacian, Precomputed
from .projection import Projection
from .rows import Array, Rows, as_rows, cast, distinct_rows, frozen
from .words import count, size_in_words

FORMAT_VERSION = 1
# A kernel whose text is longer (one with a width per feature) is named only.
LONGEST_KERNEL = 80


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    r"""The function :math:`f_o(x) = \sum_j c_{jo}\, k(v_j, x) + b_o` for outputs o.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    vectors : array or CSR of shape (m, d)
        The vectors v; for a `Precomputed` kernel the column numbers, of shape (m, 1).
    coef : array of shape (m, n_outputs)
        Coefficients; a one-dimensional array means one output.
    intercept : array of shape (n_outputs,)
        Added to each output.
    projection : Projection or None
        A linear map that rows go through before they are compared with the vectors, which lie in its image and
        have the shape (m, r); for kernels of distances (rbf and laplacian).

    Notes
    -----
    The arrays cannot be written to; methods return new expansions.

    Examples
    --------
    >>> f = KernelExpansion(RBF(1.0), [[0.0], [1.0]], [1.0, -1.0], 0.5)
    >>> f([[0.0], [0.5]]).round(3)
    array([[1.132],
           [0.5  ]])
    >>> f.n_vectors, f.n_outputs, f.nbytes
    (2, 1, 40)
    """

    kernel: Kernel
    vectors: Rows
    coef: Array
    intercept: Array
    projection: Projection | None = None
    # the parts the short way takes; None where there is none
    _plain: ClassVar[tuple[Array, Array, Array, Array] | None] = None

    def __post_init__(self) -> None:
        if isinstance(self.kernel, Precomputed):
            vectors = np.asarray(self.vectors)
            if vectors.dtype.kind not in "iu" or vectors.shape[1:] != (1,) or (vectors < 0).any():
                raise ValueError("vectors must be column numbers of shape (m, 1) for a precomputed kernel.")
            vectors = vectors.astype(np.int64)
            dtype = np.asarray(self.coef).dtype
            dtype = dtype if dtype == np.float32 else np.dtype(np.float64)
        else:
            vectors = as_rows(self.vectors, "vectors")
            dtype = vectors.dtype
        coef = np.asarray(self.coef, dtype=dtype)
        coef = np.ascontiguousarray(coef[:, None] if coef.ndim == 1 else coef)
        if coef.ndim != 2 or coef.shape[0] != vectors.shape[0]:
            raise ValueError(
                f"coef must have one row for each of the {vectors.shape[0]} vectors, got shape {coef.shape}."
            )
        intercept = np.atleast_1d(np.asarray(self.intercept, dtype=dtype))
        if intercept.shape != (coef.shape[1],):
            raise ValueError(
                f"intercept must have one entry for each of the {coef.shape[1]} outputs, "
                f"got shape {intercept.shape}."
            )
        for name, array in (("vectors", vectors), ("coef", coef), ("intercept", intercept)):
            values = array.data if sparse.issparse(array) else array
            if not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite.")
            object.__setattr__(self, name, array)
        self._check_projection()
        self._settle()

    def _check_projection(self) -> None:
        if self.projection is None:
            return
        if not isinstance(self.kernel, RBF | Laplacian):
            raise ValueError(
                f"a projection goes with the kernels 'rbf' and 'laplacian' only, which measure distances, not with "
                f"{self.kernel!r}."
            )
        if self.projection.rank != self.vectors.shape[1]:
            raise ValueError(
                f"the vectors must lie in the image of the projection, which has {self.projection.rank} dimensions, "
                f"but they have {self.vectors.shape[1]}."
            )
        object.__setattr__(self, "projection", self.projection.astype(self.coef.dtype))

    def _settle(self) -> None:
        """Make the arrays unwritable, and ready what the short way needs."""
        for name in ("vectors", "coef", "intercept"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        plain = None
        if type(self.kernel) is RBF and type(self.vectors) is np.ndarray:
            gamma, d = np.asarray(self.kernel.gamma, dtype=np.float64), self.vectors.shape[1]
            if gamma.shape in ((), (d,)):
                plain = (
                    np.ascontiguousarray(np.broadcast_to(gamma, (d,))),
                    self.vectors,
                    self.coef,
                    self.intercept,
                )
        object.__setattr__(self, "_plain", plain)

    def __getstate__(self) -> dict[str, Any]:
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**parts, "format_version": FORMAT_VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = dict(state)
        check_version(parts.pop("format_version", None), FORMAT_VERSION, "the pickled expansion")
        names = [field.name for field in fields(self)]
        if sorted(parts) != sorted(names):
            raise ModelFormatError(f"the pickled expansion must consist of {', '.join(names)}.")
        vars(self).update(parts)
        try:
            self.__post_init__()
        except ModelFormatError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            raise ModelFormatError(
                f"the parts of the pickled expansion do not fit together: {error}"
            ) from error

    def __repr__(self) -> str:
        name = getattr(self.kernel, "name", type(self.kernel).__name__)
        width = "" if isinstance(self.kernel, Precomputed) else f" x {count(self.n_features, 'feature')}"
        if self.projection is not None:
            width = f" x {self.projection.rank} of {count(self.n_features, 'feature')}"
        return (
            f"KernelExpansion({name}, {count(self.n_vectors, 'vector')}{width}, {count(self.n_outputs, 'output')}, "
            f"{size_in_words(self.nbytes)})"
        )

    def _repr_html_(self) -> str:
        kernel = html.escape(
            repr(self.kernel) if len(repr(self.kernel)) < LONGEST_KERNEL else type(self.kernel).__name__
        )
        rows = {
            "kernel": kernel, "vectors": self.n_vectors, "features": self.n_features,
            "outputs": self.n_outputs, "numbers": self.coef.dtype.name, "size": size_in_words(self.nbytes),
        }  # fmt: skip
        cells = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in rows.items())
        return f"<table><caption>KernelExpansion</caption>{cells}</table>"

    def __call__(self, X: Any, *, n_threads: int = 1) -> Array:  # (n, n_outputs)
        """Evaluate f at the rows of X."""
        outputs = self.plain_outputs(X, n_threads)
        if outputs is not None:
            return outputs
        X = as_rows(X)
        if self.projection is not None:
            X = self.projection(X, n_threads=n_threads)
        dtype = self.coef.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        out = self.kernel.expand(X, self.vectors, cast(self.coef, dtype), self.intercept, n_threads=n_threads)
        return out

    def plain_outputs(self, X: Any, n_threads: int = 1) -> Array | None:  # (n, n_outputs)
        """Outputs by the short way, for rows that need no conversion; None where they do.

        scikit-learn's input checks take longer than many rows through a small model. They have nothing to do for a
        plain NumPy array that already has the dtype, order and number of features of an RBF expansion; whether its
        values are finite is seen on the way. The bits are those of the careful way.
        """
        plain = self._plain
        if plain is None or type(X) is not np.ndarray or X.ndim != 2:
            return None
        widths, vectors, coef, intercept = plain
        if (
            X.dtype != coef.dtype
            or not X.flags.c_contiguous
            or not X.flags.aligned
            or X.shape[1] != self.n_features
            or X.shape[0] == 0
        ):
            return None
        if self.projection is not None:
            X = self.projection(X, n_threads=n_threads)
        return _core.finite_expansion(widths, X, vectors, coef, intercept, n_threads)

    def unchecked_outputs(self, X: Array) -> Array:  # (n, n_outputs)
        """Outputs of an RBF expansion for finite, C-contiguous rows of its dtype; nothing is checked."""
        if self._plain is None:
            raise ValueError("outputs without checks are there for kernel='rbf' and dense vectors only.")
        return _core.expansion("rbf", 0.0, 0.0, 0, *self._plain[:1], X, *self._plain[1:], 1)

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        return int(self.coef.shape[0])

    @property
    def n_features(self) -> int:
        """Features of a row; for a precomputed kernel 1, the number of a column."""
        return int(self.vectors.shape[1]) if self.projection is None else self.projection.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.coef.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays: vectors, coefficients, intercept and projection."""
        parts = [self.coef, self.intercept]
        if sparse.issparse(self.vectors):
            parts += [self.vectors.data, self.vectors.indices, self.vectors.indptr]
        else:
            parts.append(self.vectors)
        return sum(int(part.nbytes) for part in parts) + (
            0 if self.projection is None else self.projection.nbytes
        )

    def take(self, indices: ArrayLike) -> KernelExpansion:
        """Keep the vectors with these numbers, in this order."""
        indices = np.asarray(indices)
        indices = indices if indices.size else indices.astype(np.intp)  # an empty list has no whole numbers
        return replace(self, vectors=self.vectors[indices], coef=self.coef[indices])

    def compact(self) -> KernelExpansion:
        """Drop vectors whose coefficients are all zero, and merge equal vectors; f stays as it is."""
        return self.compact_with_rows()[0]

    def compact_with_rows(self) -> tuple[KernelExpansion, Array]:
        """Return `compact()` and, for each vector it keeps, the number it had."""
        first, group = distinct_rows(self.vectors)
        coef = np.zeros((first.size, self.n_outputs), dtype=self.coef.dtype)
        np.add.at(coef, group, self.coef)
        used = np.flatnonzero((coef != 0).any(axis=1))
        used = used[np.argsort(first[used])]  # in the order of the vectors
        kept = first[used]
        return replace(self, vectors=self.vectors[kept], coef=coef[used]), kept

    @staticmethod
    def merge(expansions: Sequence[KernelExpansion]) -> KernelExpansion:
        """Put several expansions of one kernel on one set of vectors, their outputs side by side."""
        if not expansions:
            raise ValueError("expansions must hold at least one expansion.")
        kernel = expansions[0].kernel
        if any(e.kernel != kernel for e in expansions):
            raise ValueError("expansions must all have the same kernel.")
        projection = expansions[0].projection
        if any(
            e.projection is not projection and (projection is None or not projection.same_as(e.projection))
            for e in expansions
        ):
            raise ValueError("expansions must all have the same projection.")
        stack = sparse.vstack if any(sparse.issparse(e.vectors) for e in expansions) else np.vstack
        widths = np.cumsum([0] + [e.n_outputs for e in expansions])
        heights = np.cumsum([0] + [e.n_vectors for e in expansions])
        coef = np.zeros((heights[-1], widths[-1]), dtype=np.result_type(*(e.coef for e in expansions)))
        for e, row, column in zip(expansions, heights[:-1], widths[:-1], strict=True):
            coef[row : row + e.n_vectors, column : column + e.n_outputs] = e.coef
        vectors = stack([e.vectors for e in expansions])
        vectors = vectors if isinstance(kernel, Precomputed) else cast(as_rows(vectors), coef.dtype)
        intercept = np.concatenate([e.intercept for e in expansions])
        return KernelExpansion(kernel, vectors, coef, intercept, projection).compact()

    def astype(self, dtype: DTypeLike) -> KernelExpansion:
        """Return the expansion in float32 or float64."""
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
        vectors = self.vectors if isinstance(self.kernel, Precomputed) else cast(self.vectors, dtype)
        return replace(
            self,
            vectors=vectors,
            coef=self.coef.astype(dtype),
            intercept=self.intercept.astype(dtype),
        )

    def rkhs_norm(self) -> Array:  # (n_outputs,)
        """Norm of each output, without its intercept, in the kernel's function space."""
        if isinstance(self.kernel, Precomputed):
            raise ValueError(
                "rkhs_norm needs kernel values between the vectors; a precomputed kernel has none."
            )
        f = self.astype(np.float64)
        values = f.kernel.expand(f.vectors, f.vectors, f.coef)  # the vectors are in the image already
        return np.sqrt(np.maximum(np.einsum("jo,jo->o", f.coef, values), 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Return the expansion as a dictionary of plain values and arrays."""
        name = getattr(self.kernel, "name", None)
        if KERNELS.get(name or "") is not type(self.kernel):
            raise ModelFormatError(
                f"a model with the kernel {self.kernel!r} cannot be written: only the built-in kernels "
                f"({', '.join(KERNELS)}) have a stored form."
            )
        parameters = {field.name: getattr(self.kernel, field.name) for field in fields(self.kernel)}  # type: ignore[arg-type]
        out = {
            "format_version": FORMAT_VERSION,
            "kernel": {"name": name, **parameters},
            "coef": self.coef,
            "intercept": self.intercept,
        }
        if self.projection is not None:
            out["projection"] = {"matrix": self.projection.matrix, "shift": self.projection.shift}
        if sparse.issparse(self.vectors):
            csr = self.vectors
            out |= {
                "data": csr.data,
                "indices": csr.indices,
                "indptr": csr.indptr,
                "shape": csr.shape,
            }
        else:
            out["vectors"] = self.vectors
        return out

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> KernelExpansion:
        """Rebuild an expansion from `to_dict`; anything that does not fit is a `ModelFormatError`."""
        try:
            check_version(stored["format_version"], FORMAT_VERSION, "the model")
            parameters = dict(stored["kernel"])
            name = parameters.pop("name")
            if name not in KERNELS:
                raise ModelFormatError(f"the model's kernel {name!r} is unknown.")
            kernel = KERNELS[name](**parameters)
            vectors = _stored_csr(stored) if "indptr" in stored else np.asarray(stored["vectors"])
            coef, intercept = np.asarray(stored["coef"]), np.asarray(stored["intercept"])
            for part, array in (("vectors", vectors), ("coef", coef), ("intercept", intercept)):
                if array.dtype.kind not in "fi":
                    raise ModelFormatError(f"{part}: the model stores {array.dtype}, not numbers.")
            projection = None
            if stored.get("projection") is not None:
                parts = stored["projection"]
                projection = Projection(np.asarray(parts["matrix"]), np.asarray(parts["shift"]))
            made = cls(kernel, vectors, coef, intercept, projection)
            if isinstance(kernel, RBF | Laplacian):
                kernel.check_features(made.vectors.shape[1])
        except ModelFormatError:
            raise
        except KeyError as error:
            raise ModelFormatError(f"the model lacks the entry {error}.") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelFormatError(f"the model's parts do not fit together: {error}") from error
        return made


def _stored_csr(stored: Mapping[str, Any]) -> Rows:
    data, indices, indptr = (np.asarray(stored[key]) for key in ("data", "indices", "indptr"))
    m, d = (int(size) for size in stored["shape"])
    if m < 0 or d < 0 or indptr.shape != (m + 1,) or data.ndim != 1 or data.shape != indices.shape:
        raise ModelFormatError("the arrays of the sparse vectors have shapes that do not fit together.")
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise ModelFormatError("the indices of the sparse vectors are not whole numbers.")
    if indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
        raise ModelFormatError("indptr of the sparse vectors does not rise from 0 to the number of entries.")
    if indices.size and (indices.min() < 0 or indices.max() >= d):
        raise ModelFormatError(f"indices of the sparse vectors lie outside 0 .. {d - 1}.")
    return sparse.csr_array((data, indices, indptr), shape=(m, d))
