"""Least-squares machines on all rows, and pruned by their support values."""
