"""Fewer vectors for an existing model: pruning, exact simplification, refinement."""

from .model import reduce
from .task import Reduction

__all__ = ["Reduction", "reduce"]
