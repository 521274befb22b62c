"""Data files as tables: delimited text, LIBSVM, NumPy, Parquet. What is wrong is said with file, line and column."""

from slimsvm.reading.files import read
from slimsvm.reading.table import Table, UnnamedRows

__all__ = ["Table", "UnnamedRows", "read"]
