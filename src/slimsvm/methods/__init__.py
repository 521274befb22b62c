"""The estimators: each validates, composes and stores; the work is done by functions on arrays."""

from .compact.estimators import CompactSVC, CompactSVR
from .density.estimators import SparseKernelDensity
from .empirical.estimators import EmpiricalFeatureMap, EmpiricalSVC
from .fixed_size.estimators import FixedSizeLSSVC, FixedSizeLSSVR
from .full.estimators import FullSVC
from .greedy.estimators import GreedyLSSVC, GreedyLSSVR
from .least_squares.estimators import LSSVC, LSSVR
from .least_squares.pruned import PrunedLSSVC
from .one_norm.estimators import LPSVC, SparsityControlledSVC
from .pursuit.gaussian_process import SparseGreedyGPC, SparseGreedyGPR
from .pursuit.matching import MatchingPursuitSVC, MatchingPursuitSVR
from .relevance.estimators import RVC, RVR
from .relevance.probit import SparseProbitClassifier
from .two_stage.estimators import TwoStageLSSVC, TwoStageLSSVR
from .zero_norm.estimators import ZeroNormSVC, ZeroNormSVR
from .zero_norm.selector import ZeroNormSelector

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
