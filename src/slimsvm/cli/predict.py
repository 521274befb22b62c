"""`slimsvm predict`: answers of a model to the rows of a file."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import write_whole
from ..errors import BudgetError
from ..model import Model
from .data import categories_told, rows_for
from .models import whole_model
from .options import Format
from .output import Output


def run(
    model_path: Path, data_path: str, format: Format, say: Output, *, proba: bool, scores: bool, out: str,
    allow_pickle: bool,
) -> None:  # fmt: skip
    """Write one line for each row."""
    model = whole_model(model_path, allow_pickle=allow_pickle, say=say)
    with say.working(f"reading {data_path}"):
        rows = format.file(data_path, categories_told(model))
        numbers = rows_for(model.inputs, rows)
    names, columns = answers(model, numbers, proba=proba, scores=scores)
    content = _as_json(names, columns) if say.as_json else _as_csv(names, columns)
    if out == "-":
        sys.stdout.write(content)
        sys.stdout.flush()
    else:
        write_whole(Path(out), content.encode())
        say.say(f"{len(columns[0]):,} answers are in {out}.")


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


def _as_csv(names: list[str], columns: list[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return text.getvalue()


def _as_json(names: list[str], columns: list[Any]) -> str:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines)
