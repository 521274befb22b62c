"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .adapters.reduce import reduce
from .adapters.reduced import Reduced
from .errors import BudgetError, DataFormatError, ModelFormatError, SlimsvmError
from .evaluation import vector_path
from .expansion import KernelExpansion
from .methods import (
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
from .path import VectorPath
from .plotting import SizeScoreDisplay

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
    "reduce",
    "vector_path",
]
