"""Readouts as ONNX operators: from the outputs of an expansion to labels, scores, probabilities and values.

Votes and probabilities are taken in double precision, as in `slimsvm.readout` and `slimsvm.probability`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..probability import Probability
from ..readout import (
    DensityReadout,
    FeaturesReadout,
    InlierReadout,
    LargestReadout,
    Readout,
    SignReadout,
    ValueReadout,
    VotesReadout,
)
from ..rows import Array
from .normal import ERFCX_MIDDLE, erfcx_polynomial
from .onnx_graph import Graph

ONE = np.array([1])  # axes, and the shape that a column loses
FLAT = np.array([-1])


def answers(g: Graph, readout: Readout, outputs: str) -> dict[str, str]:
    """Names of what the graph gives, and the tensors."""
    if isinstance(readout, SignReadout | LargestReadout | VotesReadout):
        return _labels(g, readout, outputs)
    if isinstance(readout, InlierReadout):
        scores = g.add("Reshape", outputs, FLAT)
        inlier = g.add("Greater", scores, g.number(0))
        return {"label": g.add("Where", inlier, np.array(1), np.array(-1)), "scores": scores}
    if isinstance(readout, DensityReadout):
        density = g.add("Max", g.add("Reshape", outputs, FLAT), g.number(0))
        logarithm = g.add("Log", density)
        return {
            "log_density": g.add("Add", logarithm, g.number(readout.log_unit))
            if readout.log_unit
            else logarithm
        }
    if isinstance(readout, FeaturesReadout):
        return {"features": outputs}
    assert isinstance(readout, ValueReadout)
    return {"value": g.add("Reshape", outputs, FLAT) if readout.one_target else outputs}


def class_labels(classes: Array) -> Array:
    """Classes as a type that ONNX has."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "fb":
        return classes if classes.dtype in (np.float32, np.float64, np.bool_) else classes.astype(np.float64)
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    kind = type(classes.tolist()[0]).__name__
    raise TypeError(f"classes are of the type {kind}, which ONNX does not have; use texts or numbers.")


def _labels(g: Graph, readout: Any, outputs: str) -> dict[str, str]:
    classes = class_labels(readout.classes)
    scores = g.add("Reshape", outputs, FLAT) if isinstance(readout, SignReadout) else outputs
    winner = _winner(g, readout, outputs, scores)
    found = {"label": winner if _counts(classes) else g.add("Gather", classes, winner), "scores": scores}
    if isinstance(readout, VotesReadout) and not readout.one_for_each_pair:
        found["scores"] = g.narrow(_by_class(g, readout, outputs))
    if readout.probability is not None:
        wide = g.wide(outputs)
        if isinstance(readout, VotesReadout):
            wide = _class_scores(g, readout, outputs, winner)
        found["probabilities"] = probabilities(
            g, readout.probability, wide, winner, len(classes),
            one_output=isinstance(readout, SignReadout), in_order=not getattr(readout, "half_digits", False),
        )  # fmt: skip
    return found


def _counts(classes: Array) -> bool:
    """Whether the classes are 0, 1, 2, ..."""
    return classes.dtype == np.int64 and np.array_equal(classes, np.arange(len(classes)))


# ---------------------------------------------------------------------------- who wins


def _winner(g: Graph, readout: Any, outputs: str, scores: str) -> str:  # (n,) int64
    """Numbers of the classes that win."""
    if isinstance(readout, SignReadout):
        positive = g.add("GreaterOrEqual" if readout.zero else "Greater", scores, g.number(0))
        return g.cast(positive, np.int64)
    if isinstance(readout, VotesReadout):
        by_outputs = readout.break_ties and not readout.one_for_each_pair
        outputs = _by_class(g, readout, outputs) if by_outputs else _votes(g, readout, outputs, "Greater")
    elif readout.half_digits:
        largest = g.add("ReduceMax", outputs, ONE)
        size = g.add("Max", g.add("Abs", largest), g.number(1))
        rounding = g.add("Mul", size, g.number(np.sqrt(np.finfo(g.dtype).eps)))
        outputs = g.cast(g.add("GreaterOrEqual", outputs, g.add("Sub", largest, rounding)), g.dtype)
    return str(g.add("ArgMax", outputs, axis=1, keepdims=0))


def _votes(g: Graph, readout: VotesReadout, outputs: str, compare: str) -> str:  # (n, n_classes)
    first, second = readout._ballot
    won = g.cast(g.add(compare, outputs, g.number(0)), np.float64)
    return str(g.add("Gemm", won, first, second))


def _by_class(g: Graph, readout: VotesReadout, outputs: str) -> str:  # (n, n_classes)
    """Votes and, squeezed to less than half of one, the sum of the outputs."""
    confidence = g.add("MatMul", g.wide(outputs), readout._ballot[0])
    size = g.add("Mul", g.add("Add", g.add("Abs", confidence), np.array(1.0)), np.array(3.0))
    return str(g.add("Add", _votes(g, readout, outputs, "GreaterOrEqual"), g.add("Div", confidence, size)))


def _class_scores(g: Graph, readout: VotesReadout, outputs: str, winner: str) -> str:  # (n, n_classes)
    """Votes and confidence, the winner ahead."""
    scores = _by_class(g, readout, outputs)
    return _ahead(g, scores, _is_winner(g, winner, len(readout.classes)), np.dtype(np.float64))


def _is_winner(g: Graph, winner: str, n_classes: int) -> str:  # (n, n_classes) bool
    return str(g.add("Equal", g.add("Unsqueeze", winner, ONE), np.arange(n_classes)))


def _ahead(g: Graph, values: str, is_winner: str, dtype: np.dtype[Any]) -> str:
    """Positive values, that of the winner ahead of all others by a digit or two at least."""
    others = g.add("ReduceMax", g.add("Where", is_winner, np.array(-1, dtype=dtype), values), ONE)
    # not times 1 + 2 eps, which runtimes take for 1 and leave out
    digits = g.add("Mul", others, np.array(2 * np.finfo(dtype).eps, dtype=dtype))
    least = g.add("Add", others, digits)
    return str(g.add("Where", is_winner, g.add("Max", values, least), values))


# ---------------------------------------------------------------------------- probabilities


def probabilities(
    g: Graph,
    probability: Probability,
    F: str,  # (n, k), double precision
    winner: str,  # (n,)
    n_classes: int,
    *,
    one_output: bool,
    in_order: bool,  # whether the class that wins has the largest output
) -> str:  # (n, n_classes)
    """Probabilities in the type of the graph; the largest is that of the class that wins."""
    if probability.link != "softmax":
        P = _by_distribution(g, probability.link, F, one_output)
        return P if g.dtype == np.float64 else g.cast(P, g.dtype)
    if one_output:
        F = g.add("Pad", F, np.array([0, 1, 0, 0]), np.array(0.0))
    behind = g.add("Sub", F, g.add("ReduceMax", F, ONE))
    logits = behind if probability.factor == 1 else g.add("Mul", behind, np.array(probability.factor))
    if probability.offset:
        offset = probability.offset if len(probability.offset) > 1 else (0.0, *probability.offset)
        logits = g.add("Add", logits, np.array(offset))
    P = g.add("Softmax", logits, axis=1)
    is_winner = _is_winner(g, winner, n_classes)
    if probability.offset or not in_order:
        P = _shared(g, P, is_winner, n_classes)
    return _ahead(g, P if g.dtype == np.float64 else g.cast(P, g.dtype), is_winner, g.dtype)


def _shared(g: Graph, P: str, is_winner: str, n_classes: int) -> str:  # (n, n_classes)
    """The winner and the fewest classes ahead of it that suffice share what they have equally."""
    others = g.add("Where", is_winner, np.array(-1.0), P)
    own = g.add("ReduceMax", g.add("Where", is_winner, P, np.array(-1.0)), ONE)
    late = g.add("GreaterOrEqual", g.add("ReduceMax", others, ONE), own)
    if n_classes == 2:
        return str(g.add("Where", late, np.array(0.5), P))
    ahead, _ = g.add("TopK", others, np.array([n_classes]), axis=1, n_outputs=2)
    rest = g.add("Slice", ahead, np.array([0]), np.array([n_classes - 1]), ONE)
    sums = g.add("CumSum", g.add("Concat", own, rest, axis=1), np.array(1))
    shares = g.add("Div", sums, np.arange(1.0, n_classes + 1.0))
    enough = g.cast(g.add("GreaterOrEqual", shares, ahead), np.float64)
    many = g.add("Max", g.add("ArgMax", enough, axis=1, keepdims=1), np.array(1))
    level = g.add("GatherElements", shares, many, axis=1)
    leveled = g.add("Where", is_winner, level, g.add("Min", P, level))
    return str(g.add("Where", late, leveled, P))


def _by_distribution(g: Graph, link: str, F: str, one_output: bool) -> str:  # (n, n_classes)
    """A distribution function of each output; several classes are scaled to one."""
    if one_output:
        F = g.add("Concat", g.add("Neg", F), F, axis=1)
    each = g.add("Sigmoid", F) if link == "logistic" else _normal(g, F)
    if one_output:
        return str(each)
    each = g.add("Max", each, np.array(float(np.finfo(g.dtype).tiny)))
    return str(g.add("Div", each, g.add("ReduceSum", each, ONE)))


def _normal(g: Graph, z: str) -> str:
    """The normal distribution function, to 1e-14 relative in both tails."""
    a = g.add("Mul", g.add("Abs", z), np.array(np.sqrt(0.5)))
    t = g.add("Div", g.add("Sub", a, np.array(ERFCX_MIDDLE)), g.add("Add", a, np.array(ERFCX_MIDDLE)))
    coef = erfcx_polynomial()
    powers = g.add("Pow", g.add("Unsqueeze", t, np.array([2])), np.arange(float(len(coef))))
    scaled = g.add(
        "Div",
        g.add("ReduceSum", g.add("Mul", powers, coef), np.array([2]), keepdims=0),
        g.add("Add", g.add("Add", a, a), np.array(1.0)),
    )
    tail = g.add("Mul", g.add("Exp", g.add("Neg", g.add("Mul", a, a))), g.add("Mul", scaled, np.array(0.5)))
    return str(g.add("Where", g.add("Less", z, np.array(0.0)), tail, g.add("Sub", np.array(1.0), tail)))
