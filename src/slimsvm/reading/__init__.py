"""Data files as tables: delimited text, LIBSVM, NumPy, Parquet. What is wrong is said with file, line and column.

`read` gives all rows of a file; `read_chunks` a reader of any number of files for `fit_chunks`.

`files` knows the formats, each of which has a file here; `table` is what they give; `target` finds the column to
predict; `survey` is the first pass over many files, and `chunks` what comes after; `encoding` has the rows of a file as
the numbers of a model.
"""

from slimsvm.reading.chunks import FileChunks, read_chunks
from slimsvm.reading.files import How, read
from slimsvm.reading.table import Table, UnnamedRows

__all__ = ["FileChunks", "How", "Table", "UnnamedRows", "read", "read_chunks"]
