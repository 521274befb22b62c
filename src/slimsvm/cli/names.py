"""What methods and exports are called on the command line."""

from __future__ import annotations

from typing import NamedTuple


class Method(NamedTuple):
    """Estimators of a method, by their public names."""

    classifier: str | None
    regressor: str | None


METHODS = {
    "compact": Method("CompactSVC", "CompactSVR"),
    "empirical": Method("EmpiricalSVC", None),
    "full": Method("FullSVC", None),
    "ls": Method("LSSVC", "LSSVR"),
    "pruned-ls": Method("PrunedLSSVC", None),
    "fixed-size": Method("FixedSizeLSSVC", "FixedSizeLSSVR"),
    "greedy-ls": Method("GreedyLSSVC", "GreedyLSSVR"),
    "two-stage": Method("TwoStageLSSVC", "TwoStageLSSVR"),
    "zero-norm": Method("ZeroNormSVC", "ZeroNormSVR"),
    "lp": Method("LPSVC", None),
    "sparsity-controlled": Method("SparsityControlledSVC", None),
    "rvm": Method("RVC", "RVR"),
    "probit": Method("SparseProbitClassifier", None),
    "pursuit": Method("MatchingPursuitSVC", "MatchingPursuitSVR"),
    "gp": Method("SparseGreedyGPC", "SparseGreedyGPR"),
}
EXPORTS = {"onnx": ".onnx", "c": ".h", "js": ".mjs", "libsvm": ".model"}
