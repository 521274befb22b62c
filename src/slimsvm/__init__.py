"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import DataFormatError, ModelFormatError, SlimsvmError
from .estimators import LSSVC, LSSVR, FullSVC, ZeroNormSVC, ZeroNormSVR
from .expansion import KernelExpansion

__version__ = version("slimsvm")

__all__ = [
    "LSSVC",
    "LSSVR",
    "DataFormatError",
    "FullSVC",
    "KernelExpansion",
    "ModelFormatError",
    "SlimsvmError",
    "ZeroNormSVC",
    "ZeroNormSVR",
]
