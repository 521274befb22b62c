"""The estimators: each validates, composes and stores; the work is done by functions on arrays."""

from .compact import CompactSVC, CompactSVR
from .density import SparseKernelDensity
from .empirical import EmpiricalFeatureMap, EmpiricalSVC
from .feature_selection import ZeroNormSelector
from .fixed_size import FixedSizeLSSVC, FixedSizeLSSVR, PrunedLSSVC
from .full import FullSVC
from .greedy import GreedyLSSVC, GreedyLSSVR
from .least_squares import LSSVC, LSSVR
from .matching_pursuit import MatchingPursuitSVC, MatchingPursuitSVR
from .one_norm import LPSVC, SparsityControlledSVC
from .probit import SparseProbitClassifier
from .relevance import RVC, RVR
from .sparse_greedy import SparseGreedyGPC, SparseGreedyGPR
from .two_stage import TwoStageLSSVC, TwoStageLSSVR
from .zero_norm import ZeroNormSVC, ZeroNormSVR

__all__ = [
    "LPSVC",
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "CompactSVC",
    "CompactSVR",
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
    "SparseKernelDensity",
    "SparseProbitClassifier",
    "SparsityControlledSVC",
    "TwoStageLSSVC",
    "TwoStageLSSVR",
    "ZeroNormSVC",
    "ZeroNormSVR",
    "ZeroNormSelector",
]
