"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import DataFormatError, ModelFormatError, SlimsvmError
from .estimators import (
    LSSVC,
    LSSVR,
    FullSVC,
    GreedyLSSVC,
    GreedyLSSVR,
    MatchingPursuitSVC,
    MatchingPursuitSVR,
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
    "FullSVC",
    "GreedyLSSVC",
    "GreedyLSSVR",
    "KernelExpansion",
    "MatchingPursuitSVC",
    "MatchingPursuitSVR",
    "ModelFormatError",
    "SlimsvmError",
    "SparseGreedyGPC",
    "SparseGreedyGPR",
    "TwoStageLSSVC",
    "TwoStageLSSVR",
]
