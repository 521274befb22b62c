"""Jiao, Bo and Wang (2007), fast sparse approximation for least squares support vector machine."""
