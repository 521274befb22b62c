"""What the parameters of `CompactSVC` and `CompactSVR` may be."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ...expansion import KernelExpansion
from ...model import Model
from ...rounding import NUMBERS
from ..base import KernelEstimator

COMPACT_CONSTRAINTS: dict[str, list[Any]] = {
    "max_vectors": [Interval(Integral, 1, None, closed="left"), None],
    "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
    "max_latency_us": [Interval(Real, 0, None, closed="neither"), None],
    "C": [Interval(Real, 0, None, closed="neither"), None],
    "gamma": [*KernelEstimator._parameter_constraints["gamma"], None],
    "metric": [StrOptions({"one", "per_feature", "linear", "auto"})],
    "rank": [Interval(Integral, 1, None, closed="left"), None],
    "refine": ["boolean"],
    "scale": ["boolean"],
    "number": [StrOptions(set(NUMBERS)), None],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "warm_start": ["boolean", HasMethods(["predict"]), Model, KernelExpansion],
    "on_interrupt": [StrOptions({"raise", "keep"})],
    "verbose": ["verbose"],
}
