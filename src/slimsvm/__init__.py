"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import BudgetError, DataFormatError, ModelFormatError, SlimsvmError
from .estimators import (
    LPSVC,
    LSSVC,
    LSSVR,
    RVC,
    RVR,
    CompactSVC,
    CompactSVR,
    EmpiricalFeatureMap,
    EmpiricalSVC,
    FixedSizeLSSVC,
    FixedSizeLSSVR,
    FullSVC,
    GreedyLSSVC,
    GreedyLSSVR,
    MatchingPursuitSVC,
    MatchingPursuitSVR,
    PrunedLSSVC,
    SparseGreedyGPC,
    SparseGreedyGPR,
    SparseKernelDensity,
    SparseProbitClassifier,
    SparsityControlledSVC,
    TwoStageLSSVC,
    TwoStageLSSVR,
    ZeroNormSelector,
    ZeroNormSVC,
    ZeroNormSVR,
)
from .estimators.reduced import Reduced
from .expansion import KernelExpansion
from .path import VectorPath, vector_path
from .plotting import SizeScoreDisplay
from .reduction import reduce
from .selection.greedy import n_candidates_for

__version__ = version("slimsvm")

__all__ = [
    "LPSVC",
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "BudgetError",
    "CompactSVC",
    "CompactSVR",
    "DataFormatError",
    "EmpiricalFeatureMap",
    "EmpiricalSVC",
    "FixedSizeLSSVC",
    "FixedSizeLSSVR",
    "FullSVC",
    "GreedyLSSVC",
    "GreedyLSSVR",
    "KernelExpansion",
    "MatchingPursuitSVC",
    "MatchingPursuitSVR",
    "ModelFormatError",
    "PrunedLSSVC",
    "Reduced",
    "SizeScoreDisplay",
    "SlimsvmError",
    "SparseGreedyGPC",
    "SparseGreedyGPR",
    "SparseKernelDensity",
    "SparseProbitClassifier",
    "SparsityControlledSVC",
    "TwoStageLSSVC",
    "TwoStageLSSVR",
    "VectorPath",
    "ZeroNormSVC",
    "ZeroNormSVR",
    "ZeroNormSelector",
    "n_candidates_for",
    "reduce",
    "vector_path",
]
