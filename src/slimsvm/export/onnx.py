"""Models as ONNX graphs of standard operators."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from ..adapters.whole import as_model
from ..atomic import write_whole
from ..inputs import Inputs
from ..model import Model
from ..readout import InlierReadout
from ..rows import Array
from ..words import count
from .geometry import check_exportable, columns_of, geometry
from .onnx_graph import IR_VERSION, OPSET, Graph, onnx
from .onnx_kernels import expansion_outputs
from .onnx_readouts import answers, class_labels

NUMBERS = ("float32", "float64")


def to_onnx(model: Any, path: Any = None, *, number: str = "float32") -> Any:
    """Write a model as an ONNX graph of standard operators.

    Parameters
    ----------
    model : fitted estimator, Pipeline, KernelExpansion or Model
        Everything `slimsvm.reduce` takes, every estimator of slimsvm, and pipelines whose other steps are scalers,
        one-hot encoders and column transformers of these.
    path : path or None, default=None
        A file to write; it is there whole or not at all.
    number : {"float32", "float64"}, default="float32"
        Type of the inputs and the outputs, and of the stored numbers.

    Returns
    -------
    onnx.ModelProto
        Its input is "X" of shape (rows, features). Columns of text are inputs of their own, of shape (rows, 1) and
        named like the column; "X" then has the others. Its outputs are

        ==================  =====================================================================
        classifiers         label, scores (what `decision_function` gives), probabilities if there are any
        regressors          value
        outlier detectors   label (1 or -1), scores
        densities           log_density
        transformers        features
        ==================  =====================================================================

    Notes
    -----
    A graph cannot raise errors: a category that the encoder would refuse belongs to none, and outputs too large for
    the type become its largest number.

    Examples
    --------
    >>> from slimsvm import EmpiricalSVC, to_onnx
    >>> from slimsvm.datasets import make_banana
    >>> graph = to_onnx(EmpiricalSVC().fit(*make_banana(100, random_state=0))).graph
    >>> [tensor.name for tensor in graph.output]
    ['label', 'scores']
    """
    if number not in NUMBERS:
        raise ValueError(f"number must be 'float32' or 'float64' for to_onnx, got {number!r}.")
    o = onnx()
    whole = as_model(model)
    check_exportable(whole, "to_onnx")
    _check_range(whole, number)
    g = Graph(number)
    layout = Layout.of(whole.inputs)
    found = written(g, whole, layout)
    graph = _graph_proto(g, whole, layout, found)
    proto = o.helper.make_model(
        graph,
        opset_imports=[o.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="slimsvm",
        producer_version=version("slimsvm"),
        doc_string=_description(whole),
    )
    o.helper.set_model_props(proto, _properties(whole, layout))
    o.checker.check_model(proto)
    if path is not None:
        write_whole(path, proto.SerializeToString())
    return proto


@dataclass(frozen=True)
class Layout:
    """How the raw columns reach the graph.

    Parameters
    ----------
    numeric : tuple of int
        Raw columns of the input "X".
    texts : tuple of (int, str)
        Raw columns that are inputs of their own, and their names.
    """

    numeric: tuple[int, ...]
    texts: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, inputs: Inputs) -> Layout:
        """Texts apart; columns that hold both texts and numbers are refused."""
        text = {column.source for column in columns_of(inputs) if isinstance(column.category, str)}
        for column in columns_of(inputs):
            if column.source in text and not isinstance(column.category, str):
                raise ValueError(
                    f"column {inputs.name_of(column.source)} has texts and numbers, which ONNX cannot have in one; "
                    "make its categories all texts."
                )
        taken = {"X", "label", "scores", "probabilities", "value", "log_density", "features"}
        names = {j: inputs.names[j] if inputs.names else f"X{j}" for j in sorted(text)}
        texts = tuple((j, f"column {name}" if name in taken else name) for j, name in names.items())
        return cls(tuple(j for j in range(inputs.n_features) if j not in text), texts)


def written(g: Graph, model: Model, layout: Layout, X: str = "X") -> dict[str, str]:
    """Write the whole model into a graph; gives its answers by name."""
    u, order = _raw_columns(g, model.inputs, layout, X)
    outputs = expansion_outputs(g, u, model.expansion.kernel, geometry(model, order))
    return answers(g, model.readout, outputs)


def _raw_columns(g: Graph, inputs: Inputs, layout: Layout, X: str) -> tuple[str, Array]:
    """Columns before shift and scale, and for each the number it has in the expansion."""
    columns, fill = columns_of(inputs), dict(inputs.fill)
    place = {source: j for j, source in enumerate(layout.numeric)}
    if any(j in fill for j in layout.numeric):  # a missing number is NaN
        instead = g.number([float(fill.get(j, np.nan)) for j in layout.numeric])
        X = g.add("Where", g.add("IsNaN", X), instead, X)
    plain = [j for j, column in enumerate(columns) if column.category is None]
    numbers = [
        j for j, column in enumerate(columns)
        if column.category is not None and not isinstance(column.category, str)
    ]  # fmt: skip
    parts, order = [], list(plain)
    if plain:
        chosen = [place[columns[j].source] for j in plain]
        everything = chosen == list(range(len(layout.numeric)))
        parts.append(X if everything else g.add("Gather", X, np.array(chosen), axis=1))
    if numbers:
        raw = g.add("Gather", X, np.array([place[columns[j].source] for j in numbers]), axis=1)
        same = g.add("Equal", raw, g.number([float(columns[j].category or 0) for j in numbers]))
        parts.append(g.cast(same, g.dtype))
        order += numbers
    for source, name in layout.texts:
        if source in fill:  # a missing text is empty
            empty = g.add("Equal", name, np.array([[""]], dtype=object))
            name = g.add("Where", empty, np.array([[fill[source]]], dtype=object), name)
        mine = [j for j, column in enumerate(columns) if column.source == source]
        texts = np.array([[columns[j].category for j in mine]], dtype=object)
        parts.append(g.cast(g.add("Equal", name, texts), g.dtype))
        order += mine
    u = parts[0] if len(parts) == 1 else g.add("Concat", *parts, axis=1)
    return u, np.array(order, dtype=np.intp)


def _check_range(model: Model, number: str) -> None:
    f, largest = model.expansion, float(np.finfo(number).max)
    parts = {"vectors": f.vectors.data if hasattr(f.vectors, "indptr") else f.vectors, "coef": f.coef}
    for name, values in {**parts, "intercept": f.intercept}.items():
        if np.abs(np.asarray(values, dtype=np.float64)).max(initial=0) > largest:
            raise ValueError(f"{name} has numbers beyond {largest:.2g}, which number={number!r} cannot hold.")


def _graph_proto(g: Graph, model: Model, layout: Layout, found: dict[str, str]) -> Any:
    o = onnx()
    described, kind = o.helper.make_tensor_value_info, o.helper.np_dtype_to_tensor_dtype
    inputs = []
    if layout.numeric:
        inputs.append(described("X", kind(g.dtype), ["rows", len(layout.numeric)]))
    inputs += [described(name, o.TensorProto.STRING, ["rows", 1]) for _, name in layout.texts]
    outputs = []
    for name, tensor in found.items():
        g.rename(tensor, name)
        dtype, width = describe(model, name, g.dtype)
        element = o.TensorProto.STRING if dtype.kind == "O" else kind(dtype)
        outputs.append(described(name, element, ["rows"] if width is None else ["rows", width]))
    return o.helper.make_graph(g.protos(), "slimsvm", inputs, outputs, g.tensors())


def describe(model: Model, name: str, dtype: np.dtype[Any]) -> tuple[np.dtype[Any], int | None]:
    """Type of an answer, and its columns (None where it has one dimension)."""
    readout: Any = model.readout
    if name == "label":
        inlier = isinstance(readout, InlierReadout)
        return np.dtype(np.int64) if inlier else class_labels(readout.classes).dtype, None
    if name == "probabilities":
        return dtype, len(readout.classes)
    if name in ("value", "scores", "log_density"):
        shape = np.shape(
            getattr(readout, "scores" if name == "scores" else "answer")(
                np.zeros((1, model.expansion.n_outputs))
            )
        )
        return dtype, shape[1] if len(shape) == 2 else None
    return dtype, model.expansion.n_outputs


def _description(model: Model) -> str:
    f = model.expansion
    projected = "" if f.projection is None else f" behind a projection to {f.projection.rank} dimensions"
    return (
        f"kernel machine written by slimsvm: {getattr(f.kernel, 'name', '')} kernel, {count(f.n_vectors, 'vector')}"
        f"{projected}, {count(model.inputs.n_features, 'feature')}, {count(f.n_outputs, 'output')}"
    )


def _properties(model: Model, layout: Layout) -> dict[str, str]:
    """What people and programs may want to know of a file."""
    names = model.inputs.names
    known = {"n_vectors": str(model.expansion.n_vectors), "readout": type(model.readout).__name__}
    if names is not None:
        known["feature_names"] = json.dumps([names[j] for j in layout.numeric])
    if layout.texts:
        known["text_columns"] = json.dumps({name: j for j, name in layout.texts})
    if hasattr(model.readout, "classes"):
        known["classes"] = json.dumps(model.readout.classes.tolist())
    return known
