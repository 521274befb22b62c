"""Fewer vectors for an existing model: pruning, exact simplification, refinement."""
