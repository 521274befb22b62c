"""The estimators: each validates, composes and stores; the work is done by functions on arrays."""

from .density import SparseKernelDensity
from .feature_selection import ZeroNormSelector
from .full import FullSVC
from .least_squares import LSSVC, LSSVR
from .one_norm import LPSVC, SparsityControlledSVC
from .relevance import RVC, RVR, SparseProbitClassifier
from .zero_norm import ZeroNormSVC, ZeroNormSVR

__all__ = [
    "LPSVC",
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "FullSVC",
    "SparseKernelDensity",
    "SparseProbitClassifier",
    "SparsityControlledSVC",
    "ZeroNormSVC",
    "ZeroNormSVR",
    "ZeroNormSelector",
]
