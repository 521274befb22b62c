"""`slimsvm reduce`: a smaller model from a model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..adapters.reduce import reduce
from ..adapters.slim import slim
from ..adapters.whole import as_model
from ..budget import stored_bytes
from ..inputs import Inputs
from ..model import Model
from ..persistence.files import save
from ..readout import ValueReadout
from ..words import count, size_in_words
from .data import categories_told, learning_data, rows_for
from .methods import score_in_words, score_of
from .models import whole_model
from .options import Columns, Format
from .output import Output


def run(
    model_path: Path,
    data_path: str | None,
    options: Columns,
    format: Format,
    say: Output,
    *,
    max_vectors: int | None,
    max_bytes: int | None,
    min_score: float | None,
    method: str,
    out: Path,
    allow_pickle: bool,
    jobs: int | None,
) -> None:
    """Reduce, write, and say what came of it."""
    model = whole_model(model_path, allow_pickle=allow_pickle, say=say)
    classify = hasattr(model.readout, "classes")
    X: Any = None
    y: Any = None
    if data_path is not None:
        with say.working(f"reading {data_path}"):
            X, y = labelled(model, data_path, options, format)
    numbers = Model(Inputs(model.inputs.n_numbers), model.expansion, model.readout)
    with say.warnings_as_messages(), say.working("reducing"):
        found = reduce(
            slim(numbers), X, y, method=method, max_vectors=max_vectors, max_bytes=max_bytes, min_score=min_score,
            n_jobs=jobs,
        )  # fmt: skip
    small = replace(as_model(found), inputs=model.inputs)
    save(slim(small), out)
    result, lines = {"out": str(out)}, []
    for name, each in (("before", model), ("after", small)):
        f = each.expansion
        text = f"{count(f.n_vectors, 'vector', ',')}, {size_in_words(stored_bytes(f))}"
        result[name] = {"vectors": f.n_vectors, "bytes": stored_bytes(f)}  # type: ignore[assignment]
        if y is not None:
            score = score_of(each, X, y, classify=classify)
            result[name]["score"] = score  # type: ignore[index]
            text += f", {score_in_words(score, classify=classify)} on the rows of {data_path}"
        lines.append(f"{name:10} {text}")
    lines.append(f"{'written':10} {out} ({size_in_words(out.stat().st_size)})")
    say.result(result, "\n".join(lines))


def labelled(model: Model, path: str, options: Columns, format: Format) -> tuple[Any, Any]:
    """Rows as the expansion takes them, and targets as the readout has them."""
    classes = getattr(model.readout, "classes", None)
    if classes is None and not isinstance(
        model.readout, ValueReadout
    ):  # nothing to predict: all columns are inputs
        return rows_for(model.inputs, format.file(path, categories_told(model))), None
    task = "regression" if classes is None else "classification"
    told = tuple({*options.categorical, *categories_told(model)})
    data = learning_data(path, options.but(task=task, categorical=told), format)
    X, y = rows_for(model.inputs, data.rows), data.y
    if classes is not None and y.dtype.kind != classes.dtype.kind:
        y = y.astype(classes.dtype) if classes.dtype.kind in "fiub" and y.dtype.kind in "fiub" else y
    if classes is not None and not np.isin(y, classes).any():
        from ..reading.table import wrong

        raise wrong(
            data.rows.source, None, f"the target has none of the model's classes, {classes[:10].tolist()}."
        )
    return X, y
