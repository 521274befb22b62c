"""What only some methods know of a fitted estimator: which attributes a file may have, and what they must be."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelFormatError
from ..expansion import KernelExpansion
from ..kernels import RBF
from ..methods.greedy.path import GreedyPath, Output
from ..path import VectorPath
from ..problem import KernelGram
from ..reduction.task import Reduction
from ..rows import Array
from . import checks
from .values import CannotBeStored, Reader, Writer

# Attributes that are stored in a way of their own.
ELSEWHERE = ("expansion_", "readout_", "n_features_in_", "feature_names_in_")
# Arrays: kind of numbers and shape, with m vectors, k outputs and d features; "any" may hold infinity and NaN.
ARRAYS: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "support_": ("whole", ("m",)),
    "n_columns_": ("whole", (None,)),
    "weights_": ("finite", ("m",)),
    "covariance_": ("finite", ("k", "m+1", "m+1")),
    "noise_": ("finite", ("k",)),
    "precision_": ("any", ("k", "m")),
    "intercept_precision_": ("any", ("k",)),
    "log_marginal_likelihood_": ("any", ("k",)),
    "factor_": ("finite", ("m", "m")),
    "forward_loss_": ("any", (None,)),
    "press_": ("any", (None,)),
    "cv_scores_": ("any", (None,)),
    "validation_scores_": ("any", (None,)),
    "scores_": ("finite", ("d",)),
}
NUMBERS = ("C_", "gap_", "loss_", "bandwidth_")
OTHERS = ("n_iter_", "path_", "classes_", "reduction_")
KNOWN = (*ARRAYS, *NUMBERS, *OTHERS)
# What an estimator cannot answer without.
NEEDED = {"SparseKernelDensity": ("weights_", "bandwidth_"), "ZeroNormSelector": ("scores_", "classes_")}
# How far the weights of a density may be from what its coefficients say: the digits of float32, and some.
DENSITY_TOLERANCE = 1e-4
# |L X - 1| <= c m eps |L| |X| for X that solves L X = 1, with c of about 1 (Higham, Accuracy and Stability, 8.1);
# blocked solvers need some more.
FACTOR_ROUNDING = 64


def write_extras(estimator: Any, writer: Writer) -> dict[str, Any]:
    """The fitted attributes of an estimator that a file can have; it is said which are left out."""
    stored = {}
    for name, value in sorted(vars(estimator).items()):
        if not name.endswith("_") or name.startswith("_") or name in ELSEWHERE:
            continue
        try:
            if name not in KNOWN:
                raise CannotBeStored("a file has no place for it")
            if isinstance(value, GreedyPath):
                stored[name] = _write_greedy_path(value, estimator.expansion_, writer)
            elif name == "classes_":
                stored[name] = writer.items(value)
            else:
                stored[name] = writer.value(value, f"extras.{name}")
        except CannotBeStored as error:
            warnings.warn(
                f"save: the attribute {name} of {type(estimator).__name__} is left out ({error}).",
                stacklevel=5,
            )
    return stored


def read_extras(
    stored: Any, estimator: str, f: KernelExpansion | None, d: int, reader: Reader
) -> dict[str, Any]:
    """The attributes that were written, for an estimator with this expansion and d features."""
    entries = checks.table(stored, "the extras", NEEDED.get(estimator, ()), KNOWN)
    found: dict[str, Any] = {}
    for name, entry in entries.items():
        what = f"the extra {name}"
        if isinstance(entry, dict) and entry.get("type") == "GreedyPath":
            if name != "path_" or f is None:
                raise ModelFormatError(f"{what} cannot be a path.")
            found[name] = _read_greedy_path(entry, f, reader)
        else:
            found[name] = reader.value(entry, what)
        _check(name, found[name], f, d, what)
    _check_together(found, f)
    return found


def _check(name: str, value: Any, f: KernelExpansion | None, d: int, what: str) -> None:
    """Refuse a value that is not what the attribute of this name is."""
    if name in ARRAYS:
        sizes = (
            {"d": d} if f is None else {"d": d, "m": f.n_vectors, "k": f.n_outputs, "m+1": f.n_vectors + 1}
        )
        _check_array(value, *ARRAYS[name], sizes, what)
    elif name == "n_iter_":
        checks.whole(int(value) if isinstance(value, np.integer) else value, what, most=2**62)
    elif name in NUMBERS:
        plain = value.item() if isinstance(value, np.floating) else value
        if isinstance(plain, bool) or not isinstance(plain, int | float):
            raise ModelFormatError(f"{what} is not a number.")
        if name == "bandwidth_" and checks.number(plain, what) <= 0:
            raise ModelFormatError(f"{what} is not positive.")
    elif name == "classes_":
        if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
            raise ModelFormatError(f"{what} must have two classes or more.")
    elif name == "reduction_":
        if not isinstance(value, Reduction):
            raise ModelFormatError(f"{what} is not a report of a reduction.")
        _check_report(value, what)
    elif not isinstance(value, np.ndarray | VectorPath | GreedyPath):
        raise ModelFormatError(f"{what} is not a path.")
    elif isinstance(value, VectorPath):
        _check_vector_path(value, what)
    elif isinstance(value, np.ndarray) and not value.dtype.names:
        raise ModelFormatError(f"{what} is not a path.")


def _check_array(
    value: Any, kind: str, shape: tuple[str | None, ...], sizes: dict[str, int], what: str
) -> None:
    if not isinstance(value, np.ndarray) or value.ndim != len(shape):
        raise ModelFormatError(f"{what} is not an array of {len(shape)} dimensions.")
    if any(size is not None and sizes.get(size) != n for size, n in zip(shape, value.shape, strict=True)):
        raise ModelFormatError(f"{what} has the shape {value.shape}, which does not fit the model.")
    if kind == "whole":
        if value.dtype.kind not in "iu" or value.min(initial=0) < 0:
            raise ModelFormatError(f"{what} must have whole numbers of at least 0.")
    elif value.dtype.kind != "f" or (kind == "finite" and not np.isfinite(value).all()):
        raise ModelFormatError(f"{what} must have numbers{' that are finite' if kind == 'finite' else ''}.")


def _check_report(value: Reduction, what: str) -> None:
    for name in ("method", "measure"):
        checks.text(getattr(value, name), f"{what}: {name}")
    for name in ("n_before", "n_after"):
        number = getattr(value, name)
        checks.whole(int(number) if isinstance(number, np.integer) else number, f"{what}: {name}")
    checks.number(value.seconds, f"{what}: seconds")
    for name in ("sizes", "values", "removed"):
        if not isinstance(getattr(value, name), np.ndarray):
            raise ModelFormatError(f"{what}: {name} is not an array.")


def _check_vector_path(path: VectorPath, what: str) -> None:
    n = len(path.sizes) if isinstance(path.sizes, np.ndarray) and path.sizes.ndim == 1 else -1
    for part in fields(path):
        value = getattr(path, part.name)
        if part.name not in ("chosen", "score_name") and (
            not isinstance(value, np.ndarray) or len(value) != n
        ):
            raise ModelFormatError(f"{what}: {part.name} does not have one entry for each size.")
    checks.whole(path.chosen, f"{what}: chosen", most=n - 1)
    checks.text(path.score_name, f"{what}: score_name")


def _check_together(found: dict[str, Any], f: KernelExpansion | None) -> None:
    """Refuse attributes that contradict each other or the expansion."""
    if ("covariance_" in found) != ("noise_" in found):
        raise ModelFormatError("the extras covariance_ and noise_ must be there both or not at all.")
    if f is None:
        return
    if "factor_" in found and not _is_factor_of(found["factor_"], f.coef):
        raise ModelFormatError("the extra factor_ does not fit the coefficients.")
    if "weights_" in found:
        weights, coef = found["weights_"], f.coef[:, 0].astype(np.float64)
        one_width = isinstance(f.kernel, RBF) and isinstance(f.kernel.gamma, float)
        fits = one_width and weights.min(initial=0) >= 0 and coef.min(initial=0) >= 0 and f.n_vectors > 0
        if fits and "bandwidth_" in found:
            fits = np.isclose(f.kernel.gamma * 2 * found["bandwidth_"] ** 2, 1.0, rtol=DENSITY_TOLERANCE)  # type: ignore[attr-defined]
        with np.errstate(all="ignore"):
            largest = coef.max(initial=0.0)
            shares = coef / largest if largest > 0 else coef
            close = np.abs(weights / max(weights.max(initial=0.0), 1e-300) - shares) <= DENSITY_TOLERANCE
            summed = abs(weights.sum() - 1.0) <= DENSITY_TOLERANCE
        # the coefficients of many features underflow, and then only the weights tell
        if not (fits and summed and (largest < np.finfo(f.coef.dtype).tiny or close.all())):
            raise ModelFormatError("the extras weights_ and bandwidth_ do not fit the expansion.")


def _is_factor_of(factor: Array, coef: Array) -> bool:  # (m, m), (m, k)
    """Whether L is lower triangular, and the coefficients are L^-T as it was solved for, or the identity."""
    m = len(factor)
    if coef.shape != (m, m) or not np.diagonal(factor).all() or np.triu(factor, 1).any():
        return False
    if (coef == np.eye(m)).all():
        return True
    inverse, unit = coef.T.astype(np.float64), np.finfo(coef.dtype)
    with np.errstate(all="ignore"):
        digits = np.abs(factor) @ (unit.eps * np.abs(inverse) + unit.tiny)
        return bool((np.abs(factor @ inverse - np.eye(m)) <= FACTOR_ROUNDING * m * digits).all())


# The path of a greedy fit: its kernel is that of the expansion, and so are its vectors, mostly


def _write_greedy_path(path: GreedyPath, f: KernelExpansion, writer: Writer) -> dict[str, Any]:
    if path.gram.kernel != f.kernel:
        raise CannotBeStored("it has another kernel than the model")
    name = "extras.path_"
    outputs = [
        {
            "vectors": writer.array(output.vectors, f"{name}.vectors.{o}"),
            "y": writer.array(output.y, f"{name}.y.{o}"),
            "ridge": writer.array(output.ridge, f"{name}.ridge.{o}"),
            "mean": float(output.mean),
        }
        for o, output in enumerate(path.outputs)
    ]
    return {
        "type": "GreedyPath",
        "X": None if _same_rows(path.gram.X, f.vectors) else writer.rows(path.gram.X, f"{name}.X"),
        "rows": writer.array(path.rows, f"{name}.rows"),
        "objective": writer.array(path.objective, f"{name}.objective"),
        "outputs": outputs,
    }


def _same_rows(X: Any, vectors: Any) -> bool:
    if X.shape != vectors.shape or X.dtype != vectors.dtype or sparse.issparse(X) != sparse.issparse(vectors):
        return False
    return not (X != vectors).nnz if sparse.issparse(X) else np.array_equal(X, vectors)


def _read_greedy_path(stored: dict[str, Any], f: KernelExpansion, reader: Reader) -> GreedyPath:
    what = "the extra path_"
    entry = checks.table(stored, what, ("type", "X", "rows", "objective", "outputs"))
    X = f.vectors if entry["X"] is None else reader.rows(entry["X"], f"{what}: X")
    if X.shape[1] != f.vectors.shape[1]:
        raise ModelFormatError(f"{what}: its rows have {X.shape[1]} features.")
    n = X.shape[0]
    rows = _named(reader, entry["rows"], "i", (n,), f"{what}: rows")
    objective = _named(reader, entry["objective"], "f", (None, f.n_outputs), f"{what}: objective")
    outputs = []
    for part in checks.listed(entry["outputs"], f"{what}: outputs", f.n_outputs):
        part = checks.table(part, what, ("vectors", "y", "ridge", "mean"))
        vectors = _named(reader, part["vectors"], "i", (None,), f"{what}: vectors")
        y, ridge = (_named(reader, part[key], "f", vectors.shape, f"{what}: {key}") for key in ("y", "ridge"))
        if vectors.min(initial=0) < 0 or vectors.max(initial=-1) >= n:
            raise ModelFormatError(f"{what}: its vectors are none of its rows.")
        if not (np.isfinite(y).all() and np.isfinite(ridge).all() and (ridge >= 0).all()):
            raise ModelFormatError(f"{what} has numbers that are not finite.")
        outputs.append(Output(vectors, y, ridge, checks.number(part["mean"], f"{what}: mean")))
    return GreedyPath(KernelGram(f.kernel, X), rows, tuple(outputs), objective)


def _named(reader: Reader, stored: Any, kinds: str, shape: tuple[int | None, ...], what: str) -> Array:
    entry = checks.table(stored, what, ("type", "tensor"), ("order",))
    return reader.take(entry["tensor"], what, kinds, shape).copy()
