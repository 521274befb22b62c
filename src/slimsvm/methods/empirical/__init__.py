"""Machines in the reduced empirical feature space (Iwamura and Abe)."""
