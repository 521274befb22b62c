"""How skl2onnx converts a pipeline with one of our estimators inside.

It calls `onnx_shape_calculator()` and `onnx_converter()` of an estimator, which lead here. The option "zipmap", which
it gives to every classifier of a pipeline, it accepts for registered kinds only: a kind is registered when it is first
asked for. The answers are tensors whatever the option says, never lists of dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.feature_selection import SelectorMixin

from ..adapters.whole import as_model
from ..inputs import Inputs
from ..model import Model
from ..readout import InlierReadout, LargestReadout, SignReadout, VotesReadout
from .geometry import check_exportable
from .onnx import Layout, describe, written
from .onnx_graph import LEAST_OPSET, Graph, onnx

# What a pipeline's last step gives besides, or instead of, the label.
SINGLE = ("value", "log_density", "features")


OPTIONS = {"zipmap": [True, False]}


def converter(kind: type) -> Callable[..., None]:
    """How skl2onnx writes estimators of this kind into a graph."""
    _register(kind)
    return convert


def shape_calculator(kind: type) -> Callable[..., None]:
    """How skl2onnx knows the types and shapes of what estimators of this kind give."""
    _register(kind)
    return shape


def _register(kind: type) -> None:
    from skl2onnx import update_registered_converter

    name = f"Slimsvm{kind.__name__}"
    update_registered_converter(kind, name, shape, convert, parser=_as_tensors, options=OPTIONS)


def _as_tensors(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """What skl2onnx does for kinds that are not registered."""
    from skl2onnx._parse import _parse_sklearn_simple_model

    return _parse_sklearn_simple_model(scope, model, inputs, custom_parsers)


def parser(estimator: Any) -> Callable[..., list[tuple[str, Any]] | None]:
    """The outputs of an estimator of which skl2onnx cannot know from its class what it is."""

    def outputs(scope: Any = None, inputs: Any = None) -> list[tuple[str, Any]] | None:
        types = _types()
        number = types["float64" if type(inputs[0].type).__name__ == "DoubleTensorType" else "float32"]
        if is_classifier(estimator):
            return [("label", types["int64"]()), ("probabilities", number())]
        if is_outlier_detector(estimator):
            return [("label", types["int64"]()), ("scores", number())]
        return None

    return outputs


def shape(operator: Any) -> None:
    """Set the types and shapes of what the estimator gives."""
    types = _types()
    estimator, X = operator.raw_operator, operator.inputs[0].type
    rows, number = X.shape[0], _number(operator)
    if isinstance(estimator, SelectorMixin):
        operator.outputs[0].type = types[number]([rows, int(estimator.get_support().sum())])
        return
    model = _model(operator)
    if len(operator.outputs) == 1:
        width = model.expansion.n_outputs
        operator.outputs[0].type = types[number]([rows, width])
        return
    dtype, _ = describe(model, "label", np.dtype(number))
    operator.outputs[0].type = types[dtype.name]([rows])
    operator.outputs[1].type = types[number]([rows, _columns(model)])


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the estimator's model into the graph of skl2onnx."""
    if container.target_opset < LEAST_OPSET:
        raise ValueError(
            f"{type(operator.raw_operator).__name__} needs operators of version {LEAST_OPSET}: call skl2onnx with "
            f"target_opset={LEAST_OPSET} or more, not {container.target_opset}."
        )
    g = Graph(_number(operator), scope.get_unique_variable_name)
    X = _one_tensor(g, operator)
    if isinstance(operator.raw_operator, SelectorMixin):
        found = [g.add("Gather", X, np.flatnonzero(operator.raw_operator.get_support()), axis=1)]
    else:
        model = _model(operator)
        found = _as_skl2onnx_has_it(g, model, written(g, model, Layout.of(model.inputs), X))
    for tensor, output in zip(found, operator.outputs, strict=True):
        g.rename(tensor, output.full_name)
    _hand_over(g, scope, container)


def _types() -> dict[str, Any]:
    from skl2onnx.common import data_types as known

    return {
        "float32": known.FloatTensorType,
        "float64": known.DoubleTensorType,
        "int64": known.Int64TensorType,
        "bool": known.BooleanTensorType,
        "object": known.StringTensorType,
    }


def _number(operator: Any) -> str:
    return "float64" if type(operator.inputs[0].type).__name__ == "DoubleTensorType" else "float32"


def _model(operator: Any) -> Model:
    model = as_model(operator.raw_operator)
    check_exportable(model, "skl2onnx")
    if model.inputs.columns is not None:
        if Layout.of(model.inputs).texts:
            raise ValueError(
                "a model with columns of text has several inputs; write it with slimsvm.to_onnx."
            )
        return model
    # the columns come by number here
    return Model(Inputs(model.inputs.n_features), model.expansion, model.readout)


def _one_tensor(g: Graph, operator: Any) -> str:
    """All inputs side by side, as numbers of the graph's type."""
    wanted = {"float32": "FloatTensorType", "float64": "DoubleTensorType"}[g.dtype.name]
    parts = [
        variable.full_name
        if type(variable.type).__name__ == wanted
        else g.cast(variable.full_name, g.dtype)
        for variable in operator.inputs
    ]  # fmt: skip
    return parts[0] if len(parts) == 1 else str(g.add("Concat", *parts, axis=1))


def _columns(model: Model) -> int:
    """Columns of the second output: one for each class, or one."""
    readout: Any = model.readout
    if isinstance(readout, VotesReadout) and readout.probability is None and readout.one_for_each_pair:
        return model.expansion.n_outputs
    return 1 if isinstance(readout, InlierReadout) else len(readout.classes)


def _as_skl2onnx_has_it(g: Graph, model: Model, found: dict[str, str]) -> list[str]:
    """Label and a matrix, or a matrix alone; two classes without probabilities have minus and plus the score."""
    column = np.array([-1, 1])
    for name in SINGLE:
        if name in found:
            _, width = describe(model, name, g.dtype)
            return [g.add("Reshape", found[name], column) if width is None else found[name]]
    if isinstance(model.readout, SignReadout | LargestReadout | VotesReadout) and "probabilities" in found:
        return [found["label"], found["probabilities"]]
    scores = found["scores"]
    if isinstance(model.readout, SignReadout):
        scores = g.add("Mul", g.add("Reshape", scores, column), g.number([[-1.0, 1.0]]))
    elif isinstance(model.readout, InlierReadout):
        scores = g.add("Reshape", scores, column)
    return [found["label"], scores]


def _hand_over(g: Graph, scope: Any, container: Any) -> None:
    """Give the nodes and constants to skl2onnx."""
    o = onnx()
    for name, value in g.constants.items():
        if value.dtype.kind == "O":
            texts = [text.encode() for text in value.ravel().tolist()]
            container.add_initializer(name, o.TensorProto.STRING, list(value.shape), texts)
        else:
            tensor = o.numpy_helper.from_array(value, name)
            container.add_initializer(name, tensor.data_type, list(value.shape), tensor)
    for node in g.nodes:
        container.add_node(
            node.op, node.inputs, node.outputs, op_version=LEAST_OPSET,
            name=scope.get_unique_operator_name(node.op), **node.attributes,
        )  # fmt: skip
