"""Least squares on vectors chosen forward and then exchanged (Xia, Li and Irwin)."""
