"""The estimators: each validates, composes and stores; the work is done by functions on arrays."""

from .empirical import EmpiricalFeatureMap, EmpiricalSVC
from .fixed_size import FixedSizeLSSVC, FixedSizeLSSVR, PrunedLSSVC
from .full import FullSVC
from .greedy import GreedyLSSVC, GreedyLSSVR
from .least_squares import LSSVC, LSSVR
from .pursuit import MatchingPursuitSVC, MatchingPursuitSVR, SparseGreedyGPC, SparseGreedyGPR
from .two_stage import TwoStageLSSVC, TwoStageLSSVR

__all__ = [
    "LSSVC",
    "LSSVR",
    "EmpiricalFeatureMap",
    "EmpiricalSVC",
    "FixedSizeLSSVC",
    "FixedSizeLSSVR",
    "FullSVC",
    "GreedyLSSVC",
    "GreedyLSSVR",
    "MatchingPursuitSVC",
    "MatchingPursuitSVR",
    "PrunedLSSVC",
    "SparseGreedyGPC",
    "SparseGreedyGPR",
    "TwoStageLSSVC",
    "TwoStageLSSVR",
]
