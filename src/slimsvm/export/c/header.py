"""`to_c`: one C99 header from a model."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...adapters.whole import as_model
from ...atomic import write_whole
from ...model import Model
from ...readout import DensityReadout, ValueReadout
from ...rounding import checked
from ...rows import as_rows
from ...threads import one_blas_thread
from ...words import count
from ..geometry import check_exportable
from . import fixed, floating
from .answers import LABELS, n_scores, write_answers
from .finished import finished, score_of
from .inputs import categories_of, write_inputs
from .selftest import write_selftest
from .text import Code, comment

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while".split()
)


@dataclass(frozen=True, eq=False)
class CHeader:
    """A model as a C header.

    Parameters
    ----------
    name : str
        What all names in it begin with.
    number : str
        Format of the stored numbers.
    source : str
        The text.
    flash_bytes : int
        Constant data that predictions read.
    ram_bytes : int
        Arrays on the stack while a prediction runs; nothing else is held in memory.
    score : float or None
        Share of right answers, or R^2, on the rows that were given.
    answered : float or None
        Share of the given rows that have an answer, with a threshold.
    model : Model
        What the header answers, as a value in Python.
    """

    name: str
    number: str
    source: str = field(repr=False)
    flash_bytes: int
    ram_bytes: int
    score: float | None
    answered: float | None
    model: Model

    def __repr__(self) -> str:
        known = "" if self.score is None else f", score {self.score:.3f}"
        flash, ram = count(self.flash_bytes, "byte", ",d"), count(self.ram_bytes, "byte", ",d")
        return f"CHeader({self.name}, {self.number}, {flash} of flash, {ram} of RAM{known})"


def to_c(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    X: Any = None,
    y: Any = None,
    name: str = "model",
    number: str = "float32",
    exp: str = "libm",
    progmem: bool = False,
    threshold: float | None = None,
) -> CHeader:
    """Write a model as one C99 header, which is C++ as well.

    It needs no memory beyond the stack, and of the libraries no more than `expf`. `<name>_predict(x)` gives the number
    of the class, the value, or 1 for an inlier and -1 for an outlier; `<name>_scores(x, out)` what `decision_function`
    gives; `<name>_probabilities(x, out)` is there where the model has probabilities.

    Parameters
    ----------
    model : fitted estimator, Pipeline, KernelExpansion or Model
        What `slimsvm.reduce` takes and gives. Scalers and one-hot encoders of a pipeline are folded in; a column of
        text takes the number of the value in the list that stands in the header.
    path : path or None, default=None
        The file to write. None writes none.
    X : array-like or None, default=None
        Raw rows: in the integer formats the coefficients are solved for again on them, together with `y`, after vectors
        and projection were rounded, unless the model has numbers of this format already; some of them become the
        self-test.
    y : array-like or None, default=None
        Labels or targets of `X`, on which the header states its score.
    name : str, default="model"
        What all names begin with.
    number : {"float32", "float64", "int16", "int8", "int4"}, default="float32"
        What the numbers are stored as. The integer formats calculate in whole numbers.
    exp : {"libm", "table"}, default="libm"
        Whether exponentials are those of the C library, or a table of 16 numbers and three terms, to 2e-6.
    progmem : bool, default=False
        Whether an AVR reads the numbers from flash; elsewhere it changes nothing.
    threshold : float or None, default=None
        For classes: the answer is -1, none, where the probability of the class that wins is lower, or its score where
        the model has no probabilities (for two classes the score without its sign).

    Returns
    -------
    CHeader

    Examples
    --------
    >>> from slimsvm import CompactSVC, to_c
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> fitted = CompactSVC(max_vectors=4, random_state=0).fit(X, y)
    >>> header = to_c(fitted, X=X, y=y, name="banana", number="int8")
    >>> header.flash_bytes <= 48, header.score > 0.8, "int banana_predict(const float *x)" in header.source
    (True, True, True)
    """
    whole = as_model(model)
    _check(whole, name=name, number=number, exp=exp, threshold=threshold)
    if y is not None and X is None:
        raise ValueError("y is given without X; give the rows it belongs to.")
    if y is not None and len(y) != (X.shape[0] if hasattr(X, "shape") else len(X)):
        raise ValueError(
            f"y has {len(y)} entries, but X has another number of rows; give one entry for each row."
        )
    with one_blas_thread():
        ready, small = finished(whole, number, X, y)
    code = Code(name, "double" if number == "float64" else "float", progmem)
    write_inputs(code, ready.inputs)
    floating.write_finite(code)
    floating.write_exp(code, table=exp == "table")
    if small.vectors is None:
        floating.write_outputs(code, ready.expansion)
    else:
        fixed.write_outputs(code, small, fine_outputs=isinstance(ready.readout, DensityReadout))
    write_answers(code, ready.readout, ready.expansion.n_outputs, threshold)
    score, answered = _score(ready, X, y, threshold)
    selftest = write_selftest(code, ready, number, X, exp)
    source = _text(code, ready, number, selftest, score, answered, threshold)
    header = CHeader(name, number, source, code.flash_bytes, code.ram_bytes, score, answered, ready)
    if path is not None:
        write_whole(path, source.encode("ascii"))
    return header


def _check(model: Model, *, name: str, number: str, exp: str, threshold: float | None) -> None:
    check_exportable(model, "to_c")
    checked(number, model.expansion.kernel)
    if not (isinstance(name, str) and NAME.match(name)) or name in RESERVED:
        raise ValueError(f"name must be a name in C, letters, digits and underscores, got {name!r}.")
    if exp not in ("libm", "table"):
        raise ValueError(f"exp must be 'libm' or 'table', got {exp!r}.")
    if exp == "table" and number == "float64":
        raise ValueError("exp='table' is right to 2e-6, which number='float64' has no use for; take 'libm'.")
    if threshold is not None:
        if not isinstance(model.readout, LABELS):
            raise ValueError("threshold is for models that answer with classes; this one does not.")
        if not np.isfinite(threshold):
            raise ValueError(f"threshold must be a finite number, got {threshold!r}.")


def _score(model: Model, X: Any, y: Any, threshold: float | None) -> tuple[float | None, float | None]:
    """The score, of the rows that are answered, and their share."""
    if X is None:
        return None, None
    outputs = model.expansion(as_rows(model.inputs(X)))
    if threshold is None or not isinstance(model.readout, LABELS):
        return (None if y is None else score_of(model.readout, outputs, y)), None
    winners = model.readout.winners(outputs)
    if model.readout.probability is not None:
        sure = model.readout.probabilities(outputs)
    else:
        scores = model.readout.scores(outputs)
        sure = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        sure = sure if sure.shape[1] == len(model.readout.classes) else model.readout.by_class(outputs)  # type: ignore[union-attr]
    kept = sure[np.arange(len(winners)), winners] >= threshold
    score = (
        float(np.mean(model.readout.classes[winners] == np.asarray(y), where=kept))
        if y is not None and kept.any()
        else None
    )
    return score, float(kept.mean())


def _text(
    code: Code,
    model: Model,
    number: str,
    selftest: str,
    score: float | None,
    answered: float | None,
    threshold: float | None,
) -> str:
    f, big = model.expansion, code.name.upper()
    about = [
        f"{code.name}: a kernel machine, written by slimsvm.",
        "",
        repr(f).removeprefix("KernelExpansion(").rsplit(",", 1)[0] + f", numbers stored as {number}.",
        f"Flash: {count(code.flash_bytes, 'byte', ',d')} of constant data, besides the code.",
        f"RAM: {count(code.ram_bytes, 'byte', ',d')} of arrays on the stack while a prediction runs; no other.",
    ]
    if score is not None:
        what = "R^2" if isinstance(model.readout, ValueReadout) else "right answers"
        about.append(f"On the rows it was written with: {what} {score:.4f}" + (
            "." if answered is None else f" of the {answered:.1%} that are answered."
        ))  # fmt: skip
    about += _columns(model)
    about += [
        "",
        "Rows must be finite numbers" + ("; NaN stands for a missing value." if model.inputs.fill else "."),
        f"Compile with -D{big}_SELFTEST for {code.name}_selftest().",
    ]
    defines = {"N_FEATURES": model.inputs.n_features, "N_SCORES": n_scores(model.readout, f.n_outputs)}
    if isinstance(model.readout, LABELS):
        defines["N_CLASSES"] = len(model.readout.classes)
    defines |= {"FLASH_BYTES": code.flash_bytes, "RAM_BYTES": code.ram_bytes}
    guard = f"{big}_H"
    parts = [
        "/*\n" + "\n".join(f" * {comment(line)}".rstrip() for line in about) + "\n */",
        f"#ifndef {guard}\n#define {guard}",
        "#include <float.h>\n#include <math.h>\n#include <stdint.h>\n#include <string.h>",
        "\n".join(f"#define {big}_{key} {value}" for key, value in defines.items()),
    ]
    if code.progmem:
        parts.append(_progmem(big))
    parts += [*code.tables, *code.functions]
    parts += [f"#ifdef {big}_SELFTEST", selftest, f"#endif /* {big}_SELFTEST */", f"#endif /* {guard} */"]
    return "\n\n".join(parts) + "\n"


def _columns(model: Model) -> list[str]:
    """What stands in which column, where that is known."""
    names, lists = model.inputs.names, categories_of(model.inputs)
    if names is None and not lists:
        return []
    lines = ["", "Columns of a row:"]
    for j in range(model.inputs.n_features):
        values = lists.get(j, ())
        line = f"  x[{j}]" + ("" if names is None else f" {names[j]}")
        if any(isinstance(value, str) for value in values):
            line += (
                ": "
                + ", ".join(f"{i} = {value}" for i, value in enumerate(values))
                + "; other numbers: none of them"
            )
        elif values:
            line += ": " + ", ".join(str(value) for value in values) + "; other numbers: none of them"
        lines.append(line)
    return lines


def _progmem(big: str) -> str:
    reads = {8: "byte", 16: "word", 32: "dword"}
    avr = [f"#define {big}_READ{bits}(p) pgm_read_{word}(p)" for bits, word in reads.items()]
    plain = [f"#define {big}_READ{bits}(p) (*(p))" for bits in reads]
    return "\n".join([
        "#ifdef __AVR__", "#include <avr/pgmspace.h>", f"#define {big}_FLASH PROGMEM",
        f"#define {big}_REAL(p) pgm_read_float(p)", *avr,
        "#else", f"#define {big}_FLASH", f"#define {big}_REAL(p) (*(p))", *plain, "#endif",
    ])  # fmt: skip
