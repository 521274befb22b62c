"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import DataFormatError, ModelFormatError, SlimsvmError
from .estimators import (
    LSSVC,
    LSSVR,
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
from .expansion import KernelExpansion

__version__ = version("slimsvm")

__all__ = [
    "LSSVC",
    "LSSVR",
    "DataFormatError",
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
    "SlimsvmError",
    "SparseGreedyGPC",
    "SparseGreedyGPR",
    "TwoStageLSSVC",
    "TwoStageLSSVR",
]
