"""`slimsvm export`: a model as ONNX, C, JavaScript or a LIBSVM file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..words import size_in_words
from .data import categories_told, learning_data
from .models import whole_model
from .names import EXPORTS
from .options import Columns, Format
from .output import Output
from .reduce import labelled


def run(
    model_path: Path,
    options: Columns,
    format: Format,
    say: Output,
    *,
    to: str,
    out: Path | None,
    number: str | None,
    name: str,
    data_path: str | None,
    progmem: bool,
    allow_pickle: bool,
) -> None:
    """Write, and say what was written."""
    model = whole_model(model_path, allow_pickle=allow_pickle, say=say)
    path = model_path.with_suffix(EXPORTS[to]) if out is None else out
    result: dict[str, Any] = {"to": to, "out": str(path)}
    lines = []
    if to == "c":
        from ..export.c import to_c

        given = {} if data_path is None else _rows(model, data_path, options, format)
        header = to_c(model, path, name=name, number=number or "float32", progmem=progmem, **given)
        result |= {
            "number": header.number,
            "flash": header.flash_bytes,
            "ram": header.ram_bytes,
            "score": header.score,
        }
        lines.append(
            f"{'flash':10} {header.flash_bytes:,} bytes of constants ({header.number}), {header.ram_bytes:,} of RAM"
        )
        if header.score is not None:
            lines.append(f"{'score':10} {header.score:.4f} on the rows of {data_path}, as written")
    elif to == "js":
        from ..export.javascript import to_js

        to_js(model, path, name=name, number=number)
    elif to == "onnx":
        from ..export.onnx import to_onnx

        to_onnx(model, path, number=number or "float32")
    else:
        from ..export.libsvm import to_libsvm

        to_libsvm(model, path)
    result["file_bytes"] = path.stat().st_size
    lines.append(f"{'written':10} {path} ({size_in_words(path.stat().st_size)})")
    say.result(result, "\n".join(lines))


def _rows(model: Any, path: str, options: Columns, format: Format) -> dict[str, Any]:
    """Raw rows of a file for the header's test rows and the refit after rounding."""
    X, y = labelled(model, path, options, format)
    if model.inputs.columns is None:
        return {"X": X, "y": y}
    rows: Any = learning_data(path, options.but(categorical=categories_told(model)), format).rows
    return {"X": rows[model.inputs.names].to_numpy() if model.inputs.names else rows.X, "y": y}
