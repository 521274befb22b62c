"""Selection: which training rows become vectors, one file per rule.

A rule looks at the kernel matrix of the training rows and returns row numbers in the order of their choice,
so that the first m of them are a valid smaller answer.
"""

from .cholesky import SELECTIONS, Selection

__all__ = ["SELECTIONS", "Selection"]
