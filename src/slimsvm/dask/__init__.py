"""The estimators on Dask collections: rows that lie on many machines.

`DaskCompactSVC`, `DaskEmpiricalSVC` and so on take the parameters of the estimators they are named after, and
dask arrays or data frames in `fit`. They run the fits in chunks of `slimsvm.chunks` as plain tasks, one for each block
and pass: nothing is pinned to a worker or kept on one alone, so what a lost worker had is computed again elsewhere, and
the model has the bits of `fit_chunks` on the same blocks, whatever the number of workers. Needs the extra `dask`.
"""

from .estimators import (
    DaskCompactSVC,
    DaskCompactSVR,
    DaskEmpiricalSVC,
    DaskFixedSizeLSSVC,
    DaskFixedSizeLSSVR,
    DaskGreedyLSSVC,
    DaskGreedyLSSVR,
    DaskMatchingPursuitSVC,
    DaskMatchingPursuitSVR,
)
from .passes import DaskPasses

__all__ = [
    "DaskCompactSVC",
    "DaskCompactSVR",
    "DaskEmpiricalSVC",
    "DaskFixedSizeLSSVC",
    "DaskFixedSizeLSSVR",
    "DaskGreedyLSSVC",
    "DaskGreedyLSSVR",
    "DaskMatchingPursuitSVC",
    "DaskMatchingPursuitSVR",
    "DaskPasses",
]
