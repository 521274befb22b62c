"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import DataFormatError, ModelFormatError, SlimsvmError
from .estimators import LSSVC, LSSVR, FullSVC
from .estimators.reduced import Reduced
from .expansion import KernelExpansion
from .reduction import reduce

__version__ = version("slimsvm")

__all__ = [
    "LSSVC",
    "LSSVR",
    "DataFormatError",
    "FullSVC",
    "KernelExpansion",
    "ModelFormatError",
    "Reduced",
    "SlimsvmError",
    "reduce",
]
