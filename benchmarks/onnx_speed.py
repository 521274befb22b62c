"""onnxruntime on our graph beside its own SVMClassifier, for the same SVC.

Run `python benchmarks/onnx_speed.py`; prints a table and writes results/onnx_speed.md. All times are medians of
interleaved runs of one thread, in processor time, so ratios within a row are what to look at. The SVC has exactly 500
vectors of 20 inputs, unreduced; SVMClassifier is what skl2onnx makes of it. Both give labels and scores.
"""

from __future__ import annotations

import platform
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import onnxruntime
import skl2onnx
from onnx import TensorProto, helper
from sklearn.svm import SVC

from harness import RESULTS, head, interleaved, row, versions, write_page
from slimsvm import reduce, to_onnx

N_VECTORS, N_INPUTS = 500, 20
BATCHES = {1: 4000, 10: 2000, 1000: 100}  # rows, and rounds
FEW_VECTORS = 20


def session(proto: Any) -> Any:
    """A session of one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def number_of(name: str) -> type:
    """What a session takes."""
    return np.float64 if name.endswith("float64") else np.float32


def machine(rng: np.random.Generator) -> SVC:
    """An SVC whose vectors are all rows it was given: every one at its bound."""
    X = rng.standard_normal((N_VECTORS, N_INPUTS))
    svc = SVC(C=1e-3, gamma=1 / N_INPUTS).fit(X, np.arange(N_VECTORS) % 2)
    assert len(svc.support_) == N_VECTORS
    return svc


def nothing() -> Any:
    """A graph that hands its input on twice: what a call costs that does nothing."""
    described = helper.make_tensor_value_info
    outputs = [described(name, TensorProto.FLOAT, ["rows", N_INPUTS]) for name in ("a", "b")]
    nodes = [helper.make_node("Identity", ["X"], [output.name]) for output in outputs]
    graph = helper.make_graph(
        nodes, "nothing", [described("X", TensorProto.FLOAT, ["rows", N_INPUTS])], outputs
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def theirs_of(svc: SVC) -> Any:
    """SVMClassifier, by skl2onnx."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", FutureWarning
        )  # of scikit-learn, about attributes that skl2onnx reads
        proto = skl2onnx.to_onnx(svc, np.zeros((1, N_INPUTS), np.float32), options={"zipmap": False})
    assert "SVMClassifier" in [node.op_type for node in proto.graph.node]
    return proto


def agree(svc: SVC, sessions: dict[str, Any], X: np.ndarray) -> None:
    """All sessions give the labels of the SVC where its score is not nearly 0."""
    scores = svc.decision_function(X)
    sure = np.abs(scores) > 1e-6
    for name in ("SVMClassifier", "ours, float32", "ours, float64"):
        labels = sessions[name].run(None, {"X": X.astype(number_of(name))})[0]
        assert (labels == svc.predict(X))[sure].all(), name


def main() -> None:
    rng = np.random.default_rng(0)
    svc = machine(rng)
    X = rng.standard_normal((4 * N_VECTORS, N_INPUTS))
    small = reduce(svc, X, svc.predict(X), max_vectors=FEW_VECTORS)
    few = f"reduced to {FEW_VECTORS}"
    sessions = {
        "SVMClassifier": session(theirs_of(svc)),
        "ours, float32": session(to_onnx(svc)),
        "ours, float64": session(to_onnx(svc, number="float64")),
        few: session(to_onnx(small)),
        "nothing": session(nothing()),
    }
    agree(svc, sessions, rng.standard_normal((1000, N_INPUTS)).astype(np.float32))
    lines = [
        "# onnxruntime on our graph and on its own SVMClassifier",
        "",
        f"`python benchmarks/onnx_speed.py`; {platform.machine()}, onnxruntime {onnxruntime.__version__}, skl2onnx "
        f"{skl2onnx.__version__}, {versions()}. An SVC of two classes with {N_VECTORS} vectors and {N_INPUTS} inputs; "
        "median microseconds (processor time) of a call from Python, one thread, interleaved. "
        "SVMClassifier has single precision only. "
        "'nothing' is a call of a graph that does nothing, and 'without it' the ratio of what is left when it is taken "
        "off both sides.",
        "",
        *head(
            f"| rows | SVMClassifier | ours, float32 | ours, float64 | {few} | nothing | SVMClassifier / ours "
            "| without it |"
        ),
    ]
    for n, rounds in BATCHES.items():
        X = rng.standard_normal((n, N_INPUTS))
        calls = {
            name: partial(each.run, None, {"X": X.astype(number_of(name))}) for name, each in sessions.items()
        }
        times = {
            name: 1e6 * seconds
            for name, seconds in interleaved(calls, rounds, clock=time.process_time).items()
        }
        theirs, ours, empty = times["SVMClassifier"], times["ours, float32"], times["nothing"]
        cells = [f"{each:.1f}" if each < 100 else f"{each:.0f}" for each in times.values()]
        lines.append(
            row([str(n), *cells, f"{theirs / ours:.1f}", f"{(theirs - empty) / (ours - empty):.1f}"])
        )
        print(lines[-1], flush=True)
    write_page(RESULTS / "onnx_speed.md", lines)


if __name__ == "__main__":
    main()
