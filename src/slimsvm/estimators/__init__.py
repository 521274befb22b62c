"""The estimators: each validates, composes and stores; the work is done by functions on arrays."""

from .empirical import EmpiricalFeatureMap, EmpiricalSVC
from .full import FullSVC
from .least_squares import LSSVC, LSSVR

__all__ = ["LSSVC", "LSSVR", "EmpiricalFeatureMap", "EmpiricalSVC", "FullSVC"]
