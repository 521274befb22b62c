"""Solvers: from a `Problem` to a `Solution`, one file per family."""

from .least_squares import SOLVERS as LEAST_SQUARES_SOLVERS

__all__ = ["LEAST_SQUARES_SOLVERS"]
