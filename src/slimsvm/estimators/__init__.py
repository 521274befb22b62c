"""The estimators: each validates, composes and stores; the work is done by functions on arrays."""

from .fixed_size import FixedSizeLSSVC, FixedSizeLSSVR, PrunedLSSVC
from .full import FullSVC
from .greedy import GreedyLSSVC, GreedyLSSVR
from .least_squares import LSSVC, LSSVR
from .matching_pursuit import MatchingPursuitSVC, MatchingPursuitSVR
from .sparse_greedy import SparseGreedyGPC, SparseGreedyGPR
from .two_stage import TwoStageLSSVC, TwoStageLSSVR

__all__ = [
    "LSSVC",
    "LSSVR",
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
