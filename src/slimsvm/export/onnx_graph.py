"""A graph of standard ONNX operators while it is being written."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..rows import Array

# Axes of reductions are inputs since 18, texts can be compared since 19.
OPSET = 19
LEAST_OPSET = 18
IR_VERSION = 9  # the first with operator set 19


def onnx() -> Any:
    """The package onnx."""
    try:
        return import_module("onnx")
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install 'slimsvm[onnx]'.") from error


class Node(NamedTuple):
    """One operator."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


class Graph:
    """Nodes and constants; arrays among the inputs of a node become constants.

    Parameters
    ----------
    number : {"float32", "float64"}
        Type of the inputs and outputs, and of most that lies between.
    unique : callable or None
        From a name one that nothing else has.
    """

    def __init__(self, number: str, unique: Callable[[str], str] | None = None) -> None:
        self.dtype = np.dtype(number)
        self.nodes: list[Node] = []
        self.constants: dict[str, Array] = {}
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._wide: dict[str, str] = {}
        self.unique = unique or self._numbered
        self._named: set[str] = set()
        self._count = 0

    def _numbered(self, name: str) -> str:
        self._count += 1
        return f"{name}_{self._count}"

    def constant(self, value: Any) -> str:
        """Name of a constant; equal ones are stored once."""
        value = np.asarray(value)
        if value.dtype.kind in "UO":
            value = value.astype(object)
            key = (str(value.dtype), value.shape, repr(value.tolist()).encode())
        else:
            key = (str(value.dtype), value.shape, value.tobytes())
        if key not in self._known:
            self._known[key] = self.unique("constant")
            self.constants[self._known[key]] = value
        return self._known[key]

    def number(self, value: Any) -> Array:
        """Numbers in the type of the graph."""
        return np.asarray(value, dtype=self.dtype)

    def add(self, op: str, *inputs: Any, n_outputs: int = 1, **attributes: Any) -> Any:
        """Add an operator; gives the name of its output, or a list of names."""
        names = [item if isinstance(item, str) else self.constant(item) for item in inputs]
        outputs = [self.unique(op.lower()) for _ in range(n_outputs)]
        self.nodes.append(Node(op, names, outputs, attributes))
        return outputs[0] if n_outputs == 1 else outputs

    def cast(self, x: str, dtype: Any) -> str:
        """The tensor in another type."""
        to = onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return str(self.add("Cast", x, to=int(to)))

    def wide(self, x: str | Array) -> str:
        """A tensor of the graph's numbers in double precision; a constant is stored in the graph's type."""
        if isinstance(x, np.ndarray):
            x = self.constant(x.astype(self.dtype))
        if self.dtype == np.float64:
            return x
        if x not in self._wide:
            self._wide[x] = self.cast(x, np.float64)
        return self._wide[x]

    def narrow(self, x: str) -> str:
        """A tensor of double precision in the type of the graph; what is too large becomes its largest number."""
        if self.dtype == np.float64:
            return x
        return self.cast(self.clip(x, float(np.finfo(self.dtype).max)), self.dtype)

    def clip(self, x: str, most: float, dtype: Any = np.float64) -> str:
        """Values of at most this size."""
        return str(self.add("Clip", x, np.array(-most, dtype=dtype), np.array(most, dtype=dtype)))

    def rename(self, old: str, new: str) -> None:
        """Give a tensor a name; one that no node makes, or that has a name already, is handed on."""
        if old in self._named or not any(old in node.outputs for node in self.nodes):
            self.nodes.append(Node("Identity", [old], [new], {}))
            return
        self._named.add(new)

        def renamed(names: list[str]) -> list[str]:
            return [new if name == old else name for name in names]

        self.nodes = [
            node._replace(inputs=renamed(node.inputs), outputs=renamed(node.outputs)) for node in self.nodes
        ]

    def tensors(self) -> list[Any]:
        """The constants as ONNX stores them."""
        return [onnx().numpy_helper.from_array(value, name) for name, value in self.constants.items()]

    def protos(self) -> list[Any]:
        """The nodes as ONNX stores them."""
        make = onnx().helper.make_node
        return [make(node.op, node.inputs, node.outputs, **node.attributes) for node in self.nodes]
