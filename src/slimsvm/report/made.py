"""How a model was trained, and how it goes elsewhere."""

from __future__ import annotations

import inspect
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from ..export.geometry import check_exportable
from ..rounding import lossless
from ..words import count
from .headline import name_of
from .subject import Subject, last_step, rows_of
from .text import short

PACKAGES = ("slimsvm", "scikit-learn", "numpy", "scipy")
LONGEST_VALUE = 200


@dataclass(frozen=True)
class Snippet:
    """Code to copy."""

    heading: str
    says: str
    code: str


def parameters(estimator: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The parameters that differ from their defaults, and those that do not."""
    machine = last_step(estimator)
    if not hasattr(machine, "get_params"):
        return [], []
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(machine).__init__).parameters.items()
    }
    changed: list[tuple[str, str]] = []
    same: list[tuple[str, str]] = []
    for name, value in machine.get_params(deep=False).items():
        if name == "model" and hasattr(value, "expansion"):
            continue  # an estimator around a model has no parameters of its own
        written = repr(value)
        written = written if len(written) <= LONGEST_VALUE else f"{written[: LONGEST_VALUE - 1]}…"
        default = defaults.get(name, inspect.Parameter.empty)
        equal = type(value) is type(default) and bool(np.all(np.asarray(value == default)))
        (same if equal else changed).append((name, written))
    return changed, same


def facts(subject: Subject, seconds: float | None = None) -> list[tuple[str, str]]:
    """What is known of the training."""
    f, machine = subject.model.expansion, last_step(subject.trained)
    steps = [type(step).__name__ for _, step in getattr(subject.trained, "steps", ())]
    found = [("method", name_of(machine) if len(steps) < 2 else " → ".join(steps))]
    kernel = type(f.kernel).__name__
    gamma = getattr(f.kernel, "gamma", None)
    if isinstance(gamma, tuple):
        kernel += f" with {count(len(gamma), 'width')}, one for each number"
    elif gamma is not None:
        kernel += f", gamma {short(gamma)}"
    found.append(("kernel", kernel))
    if f.projection is not None:
        found.append(
            ("metric", f"a learnt projection of {f.projection.n_features} numbers to {f.projection.rank}")
        )
    found.append(
        ("training rows", f"{rows_of(subject.X):,} of {count(subject.model.inputs.n_features, 'input')}")
    )
    if subject.kind == "classes" and subject.y is not None:
        counts = np.bincount(subject.readout.codes_of(subject.y), minlength=len(subject.classes))
        shown = [f"{name}: {n:,}" for name, n in zip(subject.classes, counts.tolist(), strict=True)]
        more = f", and {len(shown) - 12} more" if len(shown) > 12 else ""
        found.append(("rows of each class", ", ".join(shown[:12]) + more))
    iterations = getattr(machine, "n_iter_", None)
    if iterations is not None and np.ndim(iterations) == 0:
        found.append(("iterations", f"{int(iterations):,}"))
    reduction = getattr(subject.trained, "reduction_", None) or getattr(machine, "reduction_", None)
    if reduction is not None:
        found.append(("reduced", f"from {reduction.n_before:,} vectors in {reduction.seconds:.2g} seconds"))
    if seconds is not None:
        found.append(("training took", f"{seconds:.3g} seconds"))
    found.append(("numbers", lossless(f).number))
    return found


def versions() -> list[tuple[str, str]]:
    """What the page was made with."""
    return [("Python", platform.python_version()), *((name, version(name)) for name in PACKAGES)]


def snippets(subject: Subject) -> list[Snippet]:
    """How to use the model elsewhere."""
    number = getattr(last_step(subject.trained), "number", None)
    rounded = f', number="{number}"' if number else ""
    found = [
        Snippet(
            "Python",
            "A file that runs no code when it is read.",
            'import slimsvm\n\nslimsvm.save(model, "model.slim")\nmodel = slimsvm.load("model.slim")\n'
            f"model.{'score_samples' if subject.kind == 'density' else 'predict'}(X)",
        ),
        Snippet("Command line", "Answers for a table.", "slimsvm predict model.slim data.csv"),
    ]
    try:
        check_exportable(subject.model, "the report")
    except (TypeError, ValueError):
        return found
    return [
        *found,
        Snippet(
            "C",
            "One C99 header without dependencies, for microcontrollers.",
            f'slimsvm.to_c(model, "model.h"{rounded})',
        ),
        Snippet("ONNX", "For onnxruntime and services.", 'slimsvm.to_onnx(model, "model.onnx")'),
        Snippet(
            "JavaScript",
            "One module without dependencies, for browsers and node.",
            f'slimsvm.to_js(model, "model.js"{rounded})\n\n'
            '// in the page\nimport { predict } from "./model.js";\npredict(row);',
        ),
    ]
