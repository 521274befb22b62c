"""Kernel matching pursuit and sparse greedy Gaussian processes: greedy vectors in the primal."""
