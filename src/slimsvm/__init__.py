"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import DataFormatError, ModelFormatError, SlimsvmError
from .estimators import LSSVC, LSSVR, FullSVC, GreedyLSSVC, GreedyLSSVR, TwoStageLSSVC, TwoStageLSSVR
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
    "ModelFormatError",
    "SlimsvmError",
    "TwoStageLSSVC",
    "TwoStageLSSVR",
]
