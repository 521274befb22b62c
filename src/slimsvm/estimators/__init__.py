"""The estimators: each validates, composes and stores; the work is done by functions on arrays."""

from .full import FullSVC
from .least_squares import LSSVC, LSSVR
from .zero_norm import ZeroNormSVC, ZeroNormSVR

__all__ = ["LSSVC", "LSSVR", "FullSVC", "ZeroNormSVC", "ZeroNormSVR"]
