"""Kernel density estimates on few points (Huang et al., equations 18 to 20)."""
