"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import DataFormatError, ModelFormatError, SlimsvmError
from .estimators import (
    LSSVC,
    LSSVR,
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
    TwoStageLSSVC,
    TwoStageLSSVR,
)
from .estimators.reduced import Reduced
from .expansion import KernelExpansion
from .reduction import reduce

__version__ = version("slimsvm")

__all__ = [
    "LSSVC",
    "LSSVR",
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
    "SlimsvmError",
    "SparseGreedyGPC",
    "SparseGreedyGPR",
    "TwoStageLSSVC",
    "TwoStageLSSVR",
    "reduce",
]
