"""Least squares on vectors added one at a time: FSALS and PFSALS (Jiao, Bo and Wang)."""
