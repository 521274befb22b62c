"""Kernel machines with very few support vectors."""

from importlib.metadata import version

from .errors import DataFormatError, ModelFormatError, SlimsvmError
from .estimators import (
    LPSVC,
    LSSVC,
    LSSVR,
    RVC,
    RVR,
    FullSVC,
    SparseKernelDensity,
    SparseProbitClassifier,
    SparsityControlledSVC,
    ZeroNormSelector,
    ZeroNormSVC,
    ZeroNormSVR,
)
from .expansion import KernelExpansion

__version__ = version("slimsvm")

__all__ = [
    "LPSVC",
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "DataFormatError",
    "FullSVC",
    "KernelExpansion",
    "ModelFormatError",
    "SlimsvmError",
    "SparseKernelDensity",
    "SparseProbitClassifier",
    "SparsityControlledSVC",
    "ZeroNormSVC",
    "ZeroNormSVR",
    "ZeroNormSelector",
]
