"""Model files of LIBSVM, read: a machine trained elsewhere becomes a slim estimator.

LIBSVM's decision is the sum minus rho; a positive one means the first class of a pair. The file does not say how many
features there are, only which entries of the vectors are not zero.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from array import array
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from ..errors import ModelFormatError
from ..expansion import KernelExpansion
from ..inputs import Inputs
from ..kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from ..model import Model
from ..probability import Probability
from ..readout import InlierReadout, Readout, SignReadout, ValueReadout, VotesReadout
from ..rows import Array, Rows
from .models import pair_coefficients
from .slim import SlimModel, slim

MAX_BYTES = 2**31
# Of what stands before the vectors: the pairs of 1,000 classes take 12 MB.
MAX_HEADER_LINES = 32
MAX_CLASSES = 10_000
MAX_FEATURES = 2**31 - 1
MAX_DEGREE = 10_000
CLASSIFIERS = ("c_svc", "nu_svc")
REGRESSORS = ("epsilon_svr", "nu_svr")
KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
# How many entries each line of the header has; None is as many as there are classes or pairs.
KEYS = {
    "svm_type": 1, "kernel_type": 1, "degree": 1, "gamma": 1, "coef0": 1, "nr_class": 1, "total_sv": 1, "rho": None,
    "label": None, "probA": None, "probB": None, "prob_density_marks": None, "nr_sv": None,
}  # fmt: skip
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
WHOLE = re.compile(r"[+-]?\d{1,10}")


@dataclass(frozen=True)
class _Lines:
    """What a file says, line by line, with a name for messages."""

    what: str
    header: dict[str, list[str]]
    vectors: list[str]
    first_line: int

    def words(self, key: str, length: int | None = None) -> list[str]:
        """The words behind a key of the header."""
        if key not in self.header:
            raise ModelFormatError(f"{self.what}: there is no line {key!r}.")
        found = self.header[key]
        if length is not None and len(found) != length:
            raise ModelFormatError(f"{self.what}: {key} must have {length} entries, not {len(found)}.")
        return found

    def numbers(self, key: str, length: int) -> Array:
        """The numbers behind a key."""
        return np.array([number(word, f"{self.what}: {key}") for word in self.words(key, length)])

    def wholes(self, key: str, length: int, least: int, most: int) -> list[int]:
        """The whole numbers behind a key."""
        found = [whole(word, f"{self.what}: {key}") for word in self.words(key, length)]
        if found and not least <= min(found) <= max(found) <= most:
            raise ModelFormatError(f"{self.what}: {key} must be from {least} to {most}.")
        return found


def number(word: str, what: str) -> float:
    """A finite number as C writes it."""
    value = float(word) + 0.0 if NUMBER.fullmatch(word) else math.nan  # LIBSVM writes -0
    if not math.isfinite(value):
        raise ModelFormatError(f"{what}: {word[:40]!r} is not a finite number.")
    return value


def whole(word: str, what: str) -> int:
    """A whole number."""
    if not WHOLE.fullmatch(word):
        raise ModelFormatError(f"{what}: {word[:40]!r} is not a whole number.")
    return int(word)


def from_libsvm(
    path: str | os.PathLike[str], *, n_features: int | None = None, max_bytes: int = MAX_BYTES
) -> SlimModel:
    """Read a model file of LIBSVM: `svm-train`, LIBSVM's bindings, R's e1071 (`write.svm`).

    Parameters
    ----------
    path : path
    n_features : int or None, default=None
        Features of a row. None means the last one that is not zero in some vector: the file does not say.
    max_bytes : int, default=2**31
        A larger file is refused before any of it is read.

    Returns
    -------
    slim estimator
        Fitted: a classifier (c_svc, nu_svc), regressor (epsilon_svr, nu_svr) or outlier detector (one_class), which
        answers as `svm-predict` does, and which `slimsvm.reduce` takes. The labels of more than two classes are in the
        order of the file, on which LIBSVM's way with equal votes depends.

    Raises
    ------
    ModelFormatError
        The file is not a model file of LIBSVM, or its parts do not fit together, or its kernel is precomputed.
    MemoryError
        The coefficients for all pairs of the classes take more than 2 GiB, or than is left; nothing was taken yet.

    Warns
    -----
    UserWarning
        The file has probabilities that the model cannot have: those of several classes, of regression and of one class.

    Examples
    --------
    >>> import tempfile, os
    >>> text = '''svm_type c_svc
    ... kernel_type rbf
    ... gamma 0.5
    ... nr_class 2
    ... total_sv 2
    ... rho 0
    ... label 1 -1
    ... nr_sv 1 1
    ... SV
    ... 1 1:1 2:1
    ... -1 1:-1 2:-1
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.model")
    ...     with open(path, "w") as file:
    ...         print(text, end="", file=file)
    ...     model = from_libsvm(path)
    >>> model.predict([[2.0, 1.0], [-1.0, 0.0]])
    array([ 1, -1])
    """
    lines = _read(path, max_bytes)
    kind = lines.words("svm_type", 1)[0]
    if kind not in (*CLASSIFIERS, *REGRESSORS, "one_class"):
        raise ModelFormatError(f"{lines.what}: the svm_type {kind[:40]!r} is unknown.")
    kernel = _kernel(lines)
    n_classes = lines.wholes("nr_class", 1, 2, MAX_CLASSES)[0]
    if kind not in CLASSIFIERS and n_classes != 2:
        raise ModelFormatError(f"{lines.what}: nr_class must be 2 for {kind}.")
    n_vectors = lines.wholes("total_sv", 1, 0, 2**31 - 1)[0]
    coef, vectors = _vectors(lines, n_vectors, n_classes - 1, n_features)
    rho = lines.numbers("rho", n_classes * (n_classes - 1) // 2)
    try:
        model = _model(lines, kind, kernel, vectors, coef, rho)
    except ValueError as error:
        raise (
            error if isinstance(error, ModelFormatError) else ModelFormatError(f"{lines.what}: {error}")
        ) from None
    if isinstance(vectors, np.ndarray):  # a vector that was written once for each class is one again
        model = replace(model, expansion=model.expansion.compact())
    made = slim(model)
    made.n_features_in_ = model.inputs.n_features
    return made


def _read(path: str | os.PathLike[str], max_bytes: int) -> _Lines:
    """The lines of a file, header and vectors apart."""
    what = os.fspath(path)
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise ModelFormatError(
                f"{what} has {size} bytes, more than the {max_bytes} that are allowed; give from_libsvm a larger "
                "max_bytes if you trust it."
            )
        content = file.read(size)
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        raise ModelFormatError(f"{what} is not a model file of LIBSVM: it is not plain text.") from None
    if not text.startswith("svm_type"):
        raise ModelFormatError(f"{what} is not a model file of LIBSVM: it does not begin with svm_type.")
    header: dict[str, list[str]] = {}
    rows = text.split("\n")
    for i, row in enumerate(rows[:MAX_HEADER_LINES]):
        key, *words = row.split() or [""]
        if key == "SV" and not words:
            if rows[-1].strip():
                raise ModelFormatError(f"{what} is cut off: its last line does not end.")
            return _Lines(what, header, rows[i + 1 : -1], i + 2)
        if key not in KEYS or key in header or (KEYS[key] is not None and len(words) != KEYS[key]):
            raise ModelFormatError(
                f"{what}, line {i + 1}: {row[:40]!r} is no line of a model file of LIBSVM."
            )
        header[key] = words
    raise ModelFormatError(f"{what} is cut off: there is no line 'SV'.")


def _kernel(lines: _Lines) -> Kernel:
    name = lines.words("kernel_type", 1)[0]
    if name not in KERNELS:
        raise ModelFormatError(f"{lines.what}: the kernel_type {name[:40]!r} is unknown.")
    if name == "precomputed":
        raise ModelFormatError(
            f"{lines.what} has a precomputed kernel and cannot be read: it has no vectors, only numbers of training "
            "rows."
        )
    if name == "linear":
        return Linear()
    gamma = float(lines.numbers("gamma", 1)[0])
    if gamma == 0 and name != "rbf":  # a kernel of constants
        raise ModelFormatError(f"{lines.what}: gamma is 0, so that the kernel is the same for all rows.")
    try:
        if name == "rbf":
            return RBF(gamma)
        coef0 = float(lines.numbers("coef0", 1)[0])
        if name == "sigmoid":
            return Sigmoid(gamma, coef0)
        return Polynomial(gamma, coef0, lines.wholes("degree", 1, 0, MAX_DEGREE)[0])
    except ModelFormatError:
        raise
    except ValueError as error:
        raise ModelFormatError(f"{lines.what}: {error}") from None


def _vectors(lines: _Lines, m: int, n_coef: int, n_features: int | None) -> tuple[Array, Rows]:
    """Coefficients (n_coef, m) and vectors, CSR where that is smaller."""
    if len(lines.vectors) != m:
        raise ModelFormatError(f"{lines.what}: total_sv is {m}, but there are {len(lines.vectors)} vectors.")
    coef = np.empty((n_coef, m))
    indices, data = array("q"), array("d")
    indptr = np.zeros(m + 1, dtype=np.int64)
    for j, row in enumerate(lines.vectors):
        what = f"{lines.what}, line {lines.first_line + j}"
        words = row.split()
        if len(words) < n_coef:
            raise ModelFormatError(f"{what}: there must be {n_coef} coefficients.")
        coef[:, j] = [number(word, what) for word in words[:n_coef]]
        before = 0
        for word in words[n_coef:]:
            index, colon, value = word.partition(":")
            feature = whole(index, what) if colon else 0
            if not before < feature <= MAX_FEATURES:
                raise ModelFormatError(
                    f"{what}: {word[:40]!r} is not a feature and its value, with numbers that rise from 1."
                )
            before = feature
            indices.append(feature - 1)
            data.append(number(value, what))
        indptr[j + 1] = len(data)
    d = max(indices, default=0) + 1
    if n_features is not None and n_features < d:
        raise ValueError(f"n_features is {n_features}, but the vectors have {d} features.")
    d = d if n_features is None else int(n_features)
    csr = sparse.csr_array((np.array(data), np.array(indices), indptr), shape=(m, d))
    sparse_bytes = 12 * len(data) + 4 * m
    return coef, csr.toarray() if 8 * m * d <= max(sparse_bytes, 2**16) else csr


def _model(lines: _Lines, kind: str, kernel: Kernel, vectors: Rows, coef: Array, rho: Array) -> Model:
    inputs = Inputs(vectors.shape[1])
    if kind not in CLASSIFIERS:
        readout: Readout = ValueReadout() if kind in REGRESSORS else InlierReadout(float(rho[0]))
        _no_probabilities(lines)
        return Model(inputs, KernelExpansion(kernel, vectors, coef.T, 0.0 - rho), readout)
    n = len(coef) + 1
    labels = np.array(lines.wholes("label", n, -(2**31), 2**31 - 1))
    if len(set(labels.tolist())) != n:
        raise ModelFormatError(f"{lines.what}: a label stands there twice.")
    counts = np.array(lines.wholes("nr_sv", n, 0, coef.shape[1]))
    if counts.sum() != coef.shape[1]:
        raise ModelFormatError(f"{lines.what}: nr_sv does not add up to the {coef.shape[1]} vectors.")
    if n > 2:
        _no_probabilities(lines)
        expansion = KernelExpansion(kernel, vectors, pair_coefficients(coef, counts), 0.0 - rho)
        return Model(inputs, expansion, VotesReadout(labels))
    # positive means the first label, and zero the second; ours in the order of the labels
    falls = bool(labels[0] > labels[1])
    sign = 1.0 if falls else -1.0
    readout = SignReadout(np.sort(labels), _sigmoid(lines, sign), 0 if falls else 1)
    return Model(inputs, KernelExpansion(kernel, vectors, sign * coef.T + 0.0, 0.0 - sign * rho), readout)


def _sigmoid(lines: _Lines, sign: float) -> Probability | None:
    """LIBSVM's 1 / (1 + exp(A f + B)) of the first label, as the probability of the second of ours."""
    if "probA" not in lines.header:
        return None
    A, B = (float(lines.numbers(key, 1)[0]) for key in ("probA", "probB"))
    if A > 0:
        _warn(lines, "fall where the decision rises")
        return None
    return Probability("softmax", -A, (-sign * B,))


def _no_probabilities(lines: _Lines) -> None:
    if any(key in lines.header for key in ("probA", "prob_density_marks")):
        _warn(lines, "are not those of two classes")


def _warn(lines: _Lines, why: str) -> None:
    warnings.warn(
        f"the probabilities in {lines.what} are left out: they {why}, and a model here cannot have them; reduce it "
        "with X and y, or calibrate it with sklearn.calibration.CalibratedClassifierCV.",
        stacklevel=5,
    )
