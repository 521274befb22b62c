"""Rows that come in chunks: more than memory holds, or spread over machines.

Every fit in chunks has two parts. A uniform sample of the rows, as large as is held in memory, is trained on as ever:
it chooses the vectors, the kernel and its width. Then passes over all rows solve for the coefficients: a chunk becomes
a few sums whose size is that of the model, sums of neighbours are added in a tree of fixed shape, and a small problem
is left. Rows that fit into the sample are the whole: then the model is the one that `fit` finds, to the last bit.

`blocks` says what a chunk is and what is wrong with one; `sample` counts the rows and draws from them; `passes` is how
all chunks are gone through, here or by Dask; `statistics` has the sums; `coefficients` the problems that they leave.
"""
