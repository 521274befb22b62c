"""The fixed table of what a file can hold: the estimators of this library, and the slim ones around a model."""

from __future__ import annotations

from inspect import isclass
from typing import Any

from scipy import sparse

import slimsvm

from ..adapters.reduced import Reduced
from ..adapters.slim import (
    SlimClassifier,
    SlimDensity,
    SlimOutlierDetector,
    SlimProbabilisticClassifier,
    SlimRegressor,
    SlimTransformer,
)
from ..expansion import KernelExpansion
from ..inputs import Column, Inputs
from ..kernels import KERNELS
from ..methods.base import TrainedEstimator
from ..methods.greedy.path import GreedyPath, Output
from ..model import Model
from ..path import VectorPath
from ..probability import Probability
from ..problem import KernelGram
from ..projection import Projection
from ..reduction.task import Reduction
from .parts import READOUTS

SLIM = (
    SlimClassifier,
    SlimDensity,
    SlimOutlierDetector,
    SlimProbabilisticClassifier,
    SlimRegressor,
    SlimTransformer,
)
# All are imported here, once: what a file says only chooses among them.
ESTIMATORS: dict[str, type[Any]] = {
    name: kind
    for name, home in slimsvm._HOMES.items()
    if home.startswith("methods.")
    and isclass(kind := getattr(slimsvm, name))
    and issubclass(kind, TrainedEstimator)
}
TABLE: dict[str, type[Any]] = {**ESTIMATORS, **{kind.__name__: kind for kind in SLIM}}

_VALUES: tuple[Any, ...] = (
    *(KernelExpansion, Projection, Model, Inputs, Column, Probability, Reduced, Reduction),
    *(VectorPath, GreedyPath, Output, KernelGram),
    *KERNELS.values(),
    *READOUTS.values(),
)
# What `skops.io.load(file, trusted=slimsvm.TRUSTED_TYPES)` needs to know.
TRUSTED_TYPES: list[str] = sorted(
    f"{kind.__module__}.{kind.__name__}" for kind in (*TABLE.values(), *_VALUES, sparse.csr_array)
)
