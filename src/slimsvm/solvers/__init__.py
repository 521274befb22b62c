"""Solvers that at least two methods use; those of one method lie in its room."""
