"""Models as ES modules: JavaScript without dependencies, for browsers and node."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse

from ..adapters.whole import as_model
from ..atomic import write_whole
from ..grid import Whole
from ..inputs import Column, Inputs
from ..kernels import RBF, Laplacian, Linear, Polynomial
from ..model import Model
from ..probability import Probability
from ..readout import (
    DensityReadout,
    InlierReadout,
    LargestReadout,
    Readout,
    SignReadout,
    ValueReadout,
    VotesReadout,
)
from ..rounding import Rounded, lossless, rounded
from ..rows import Array, dense
from . import javascript_parts as parts
from .geometry import EXPORTED, check_exportable
from .normal import ERFCX_MIDDLE, erfcx_polynomial

# What is added up and raised to powers stays below this.
LARGEST = 1e300
# JavaScript has whole numbers up to this.
LARGEST_WHOLE = 2**53
KINDS = {"float64": "Float64Array", "float32": "Single", "uint16": "Uint16Array", "int16": "Int16Array",
         "uint8": "Uint8Array", "int8": "Int8Array"}  # fmt: skip


def to_js(model: Any, path: Any = None, *, name: str = "model", number: str | None = None) -> str:
    """Write a model as one ES module without dependencies, for browsers and node.

    Parameters
    ----------
    model : fitted estimator, Pipeline, KernelExpansion or Model
        Everything `slimsvm.reduce` takes, every estimator of slimsvm, and pipelines whose other steps are scalers,
        one-hot encoders and column transformers of these.
    path : path or None, default=None
        A file to write; it is there whole or not at all.
    name : str, default="model"
        What the module calls itself in its errors.
    number : {"float64", "float32", "int16", "int8", "int4"} or None, default=None
        How the numbers are stored, as in `slimsvm.rounding`; None is the smallest format that loses nothing. All is
        computed in double precision.

    Returns
    -------
    str
        The module. It exports `predict(row)`, the answer of the model; `scores(row)` for classifiers and outlier
        detectors; `probabilities(row)` where there are any; `classes` for classifiers; `featureNames`, or null. A row
        is an array, or an object with the names of the features as keys.

    Examples
    --------
    >>> from slimsvm import EmpiricalSVC, to_js
    >>> from slimsvm.datasets import make_banana
    >>> module = to_js(EmpiricalSVC().fit(*make_banana(100, random_state=0)))
    >>> "export const predict" in module
    True
    """
    whole = as_model(model)
    check_exportable(whole, "to_js")
    text = _without_spaces("".join(_module(whole, name, number)))
    text = f"// Written by slimsvm {version('slimsvm')}.\n{text}"
    if path is not None:
        write_whole(path, text.encode())
    return text


def _without_spaces(module: str) -> str:
    """The module with one line for each constant, and no spaces but in texts and between words."""
    text = ""
    for statement in re.split(r"\n(?=(?:const|export) )", module):
        pieces = re.split(r"(\"[^\"]*\"|`[^`]*`)", statement)
        pieces[::2] = [_short(piece) for piece in pieces[::2]]
        short = "".join(pieces).strip()
        if short.startswith("const") and text.rpartition(";\n")[0].rpartition(";\n")[2].startswith("const"):
            text = f"{text[:-2]},\n"  # another one of the same statement
            short = short.removeprefix("const").lstrip()
        text += f"{short}\n"
    return text


def _short(code: str) -> str:
    """Code without texts, with no spaces but between words."""
    code = re.sub(r" ?([^\w\s$]) ?", r"\1", re.sub(r"\s+", " ", code))
    return re.sub(r"\((\w+)\)=>", r"\1=>", code)


def _json(value: Any) -> str:
    """A value as JavaScript that may stand in a page: no text can end the script."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for escaped in ("\\\\", '\\"', "<", ">", "`"):  # so that a quotation mark always ends a text
        text = text.replace(escaped, f"\\u{ord(escaped[-1]):04x}")
    return text


def _module(model: Model, name: str, number: str | None) -> Iterator[str]:
    small = lossless(model.expansion) if number is None else rounded(model.expansion, number)
    readout: Any = model.readout
    yield f"const name = {_json(str(name))};\n"
    names = model.inputs.names
    yield f"export const featureNames = {_json(None if names is None else list(names))};\n"
    if hasattr(readout, "classes"):
        yield f"export const classes = {_json(_labels(readout.classes))};\n"
    yield parts.FLOATS
    if not (isinstance(small.expansion.kernel, RBF | Laplacian) and small.expansion.projection is None):
        yield parts.CLAMP
    yield from _expansion(small)
    yield f"const n = {model.inputs.n_features};\n"
    yield parts.READ
    yield from _inputs(model.inputs)
    if small.expansion.projection is not None:
        yield parts.PROJECTED
    yield from _function(small)
    yield from _answers(readout)


def _labels(classes: Array) -> list[Any]:
    labels = classes.tolist()
    if not all(isinstance(label, str | int | float | bool) for label in labels):
        raise TypeError("classes must be texts or numbers to be written as JavaScript.")
    if any(isinstance(label, int) and abs(label) > LARGEST_WHOLE for label in labels):
        raise ValueError(f"classes has whole numbers beyond {LARGEST_WHOLE}, which JavaScript does not have.")
    return labels


# ---------------------------------------------------------------------------- numbers


def _array(values: Array) -> str:
    """An array of numbers; in single precision where that is the same."""
    values = np.ascontiguousarray(values)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if values.dtype == np.float64 and (values == single).all():
        values = single
    text = base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()
    return f'numbers("{text}", {KINDS[values.dtype.name]})'


def _whole(part: Whole, *, root: str = "[]", by_row: bool = False) -> str:
    """The values whole numbers stand for: one step for all, or one for each column or row."""
    whole = part.whole.toarray() if sparse.issparse(part.whole) else part.whole
    if part.bits == 4:
        text = base64.b64encode(part.packed()).decode()
        sign_bit = 8 if whole.dtype.kind == "i" else 0
        stored = f'nibbles("{text}", {whole.size}, {sign_bit})'
    else:
        stored = _array(whole)
    base = _array(part.base) if part.base.size else "[]"
    return f"values({stored}, {whole.shape[1]}, {_array(part.step)}, {base}, {root}, {int(by_row)})"


def _expansion(small: Rounded) -> Iterator[str]:
    """The numbers of the expansion."""
    f = small.expansion
    yield f"const intercept = {_array(f.intercept)};\n"
    if isinstance(f.kernel, Linear):
        yield f"const weights = {_array(_weights(f))};\n"
        return
    if small.vectors is not None:
        yield parts.WHOLE
        if small.vectors.bits == 4:
            yield parts.NIBBLES
    yield f"const d = {f.vectors.shape[1]};\n"
    root = "[]"
    if isinstance(f.kernel, RBF | Laplacian) and not isinstance(f.kernel.gamma, float):
        yield f"const gamma = {_array(np.array(f.kernel.gamma))};\n"
        root = "Array.from(gamma, Math.sqrt)" if isinstance(f.kernel, RBF) else "gamma"
    if small.vectors is None or small.coef is None:
        yield f"const vectors = {_array(dense(f.vectors))};\nconst coef = {_array(f.coef)};\n"
    else:
        yield f"const vectors = {_whole(small.vectors, root=root)};\n"
        yield f"const coef = {_whole(small.coef)};\n"
    if f.projection is not None:
        matrix = f.projection.matrix
        stored = _array(matrix) if small.matrix is None else _whole(small.matrix, by_row=True)
        yield f"const matrix = {stored};\nconst origin = {_array(f.projection.shift)};\n"


def _weights(f: Any) -> Array:  # (k, d)
    """The linear machine as one weight for each feature and output."""
    return np.ascontiguousarray(f.coef.astype(np.float64).T @ dense(f.vectors).astype(np.float64))


# ---------------------------------------------------------------------------- functions


def _inputs(inputs: Inputs) -> Iterator[str]:
    """How a row becomes numbers."""
    if inputs.columns is None:
        yield parts.PLAIN_ROW
        return
    yield f"const columns = {_json([_column(column) for column in inputs.columns])};\n"
    if inputs.allowed:
        yield f"const allowed = {_json(list(inputs.allowed))};\n"
    if inputs.fill:
        yield f"const fill = new Map({_json(list(inputs.fill))});\n"
    steps = (parts.FILL if inputs.fill else "") + (parts.ALLOWED if inputs.allowed else "")
    yield parts.COLUMNS_ROW % steps


def _column(column: Column) -> list[Any]:
    category = [] if column.category is None else [column.category]
    return [column.source, column.shift, column.scale, *category]


def _function(small: Rounded) -> Iterator[str]:
    """From a row to the outputs."""
    f, kernel = small.expansion, small.expansion.kernel
    assert isinstance(kernel, EXPORTED)
    if isinstance(kernel, Linear):
        yield parts.LINEAR % _most(_weights(f))
        return
    if isinstance(kernel, RBF | Laplacian):
        # a width of 0 times an infinite difference is 0
        width = repr(kernel.gamma) if isinstance(kernel.gamma, float) else "gamma[j] && gamma[j]"
        yield parts.DISTANCES % (f"{width} * t * t" if isinstance(kernel, RBF) else f"{width} * t")
    else:
        inner = f"{kernel.gamma!r} * sum + {kernel.coef0!r}"
        value = f"Math.tanh({inner})"
        if isinstance(kernel, Polynomial):
            weight = 1.0 + float(np.abs(f.coef.astype(np.float64)).sum())
            most = (LARGEST / weight) ** (1.0 / max(1, kernel.degree))
            value = f"clamp({inner}, {most!r}) ** {kernel.degree}"
        gamma = max(1.0, kernel.gamma)
        yield parts.PRODUCTS % {"most": _most(gamma * dense(f.vectors).astype(np.float64)), "value": value}
    yield parts.EXPANSION % ("read(row)" if f.projection is None else "image(read(row))")


def _most(weights: Array) -> str:  # (..., d)
    """Size of features whose weighted sums do not overflow."""
    return repr(LARGEST / max(1.0, float(np.abs(weights).sum(axis=-1).max(initial=0.0))))


def _answers(readout: Readout) -> Iterator[str]:
    """From the outputs to the answers."""
    if isinstance(readout, InlierReadout):
        yield parts.INLIER
    elif isinstance(readout, DensityReadout):
        yield parts.DENSITY % (f" + ({readout.log_unit!r})" if readout.log_unit else "")
    elif isinstance(readout, SignReadout | LargestReadout | VotesReadout):
        yield from _classes(readout)
    elif isinstance(readout, ValueReadout) and readout.one_target:
        yield parts.ONE_VALUE
    else:
        yield parts.ALL_VALUES


def _classes(readout: SignReadout | LargestReadout | VotesReadout) -> Iterator[str]:
    scores = "outputs(row)"
    if isinstance(readout, SignReadout):
        yield parts.SIGN_WINNER % (">=" if readout.zero else ">")
        scores = "outputs(row)[0]"
    elif isinstance(readout, LargestReadout):
        yield parts.HALF_DIGITS_WINNER if readout.half_digits else parts.LARGEST + parts.LARGEST_WINNER
    else:
        by_outputs = readout.break_ties and not readout.one_for_each_pair
        yield parts.LARGEST
        yield parts.VOTES % ("1" if by_outputs else "0")
        scores = scores if readout.one_for_each_pair else "votes(outputs(row), 1)"
    yield parts.CLASSES % scores
    if readout.probability is not None:
        yield from _probabilities(readout, readout.probability)


def _probabilities(readout: Readout, probability: Probability) -> Iterator[str]:
    each = "out"
    if isinstance(readout, SignReadout):
        each = "[0, out[0]]"
    elif isinstance(readout, VotesReadout):
        each = "ranked(out, w)"
    yield parts.SHARES
    if isinstance(readout, VotesReadout):
        yield parts.CLASS_SCORES
    if probability.link == "softmax":
        offset = probability.offset
        offset = (0.0, *offset) if len(offset) == 1 else offset
        yield f"const factor = {probability.factor!r};\nconst offset = {_json(list(offset))};\n"
        yield parts.AHEAD + parts.SOFTMAX_PROBABILITIES % each
        return
    if probability.link == "normal":
        yield f"const middle = {ERFCX_MIDDLE!r};\nconst series = {_json(erfcx_polynomial().tolist())};\n"
        yield parts.NORMAL
    else:
        yield parts.LOGISTIC
    yield parts.TWO_PROBABILITIES if isinstance(readout, SignReadout) else parts.SCALED_PROBABILITIES % each
