"""The methods, one room each: its algorithm as functions on arrays, and `estimators.py` with what users call.

`base` has the one `fit` and the one `predict`.
"""
