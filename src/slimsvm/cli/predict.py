"""`slimsvm predict`: answers of a model to the rows of files."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import whole_file
from ..errors import BudgetError
from ..model import Model
from ..reading import How
from ..reading.encoding import categories_told, rows_for
from ..reading.files import data_files
from ..reading.many import chunks_to_predict
from .models import whole_model
from .options import Format
from .output import Output


def run(
    model_path: Path, data: Sequence[str], format: Format, say: Output, *, proba: bool, scores: bool, out: str,
    allow_pickle: bool,
) -> None:  # fmt: skip
    """Write one line for each row, as the rows are read."""
    model = whole_model(model_path, allow_pickle=allow_pickle, say=say)
    files, how = data_files(data), format.how(categories_told(model))
    # a bar and the answers would be written over each other
    silent = out == "-" and sys.stdout.isatty()
    with nullcontext() if silent else say.working("predicting"):
        contents = _contents(model, files, how, proba=proba, scores=scores, as_json=say.as_json)
        if out == "-":
            for content, _ in contents:
                sys.stdout.write(content)
                sys.stdout.flush()
            return
        n = 0
        with whole_file(out) as file:
            for content, added in contents:
                file.write(content.encode())
                n += added
    say.say(f"{n:,} answers are in {out}.")


def _contents(
    model: Model, files: tuple[str, ...], how: How, *, proba: bool, scores: bool, as_json: bool
) -> Iterator[tuple[str, int]]:
    """What is written for one chunk of rows after the other, and how many rows it has."""
    first = True
    for rows in chunks_to_predict(files, how, model.inputs.n_numbers):
        names, columns = answers(model, rows_for(model.inputs, rows), proba=proba, scores=scores)
        yield _as_json(names, columns) if as_json else _as_csv(names, columns, header=first), len(rows)
        first = False


def answers(model: Model, numbers: Any, *, proba: bool, scores: bool) -> tuple[list[str], list[Any]]:
    """Names and columns of what is written."""
    readout: Any = model.readout
    outputs = model.expansion(numbers)
    found = np.asarray(readout.answer(outputs))
    classes = [str(label) for label in getattr(readout, "classes", ())]
    name = "label" if classes or hasattr(readout, "offset") else "value"
    names, columns = [name], [found]
    if found.ndim == 2:
        names, columns = [f"value{j}" for j in range(found.shape[1])], list(found.T)
    if scores:
        values = np.asarray(readout.scores(outputs)) if hasattr(readout, "scores") else outputs
        many = values.ndim == 2 and values.shape[1] > 1
        titles = (
            [f"score({label})" for label in classes] if many and len(classes) == values.shape[1] else None
        )
        for j, column in enumerate(values.reshape(len(found), -1).T):
            names.append("score" if not many else titles[j] if titles else f"score{j}")
            columns.append(column)
    if proba:
        if getattr(readout, "probability", None) is None:
            raise BudgetError("this model has no probabilities; --scores gives its outputs.")
        for label, column in zip(classes, readout.probabilities(outputs).T, strict=True):
            names.append(f"p({label})")
            columns.append(column)
    return names, columns


def _as_csv(names: list[str], columns: list[Any], *, header: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(names)
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return text.getvalue()


def _as_json(names: list[str], columns: list[Any]) -> str:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines)
