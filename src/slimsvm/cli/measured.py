"""What models cost, for the tables of `compare` and `demo`: vectors, bytes, rows a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from scipy import sparse
from sklearn.svm import SVC, SVR

from ..budget import stored_bytes

# A timing repeats its call until this much time has passed.
SECONDS_PER_TIMING = 0.2


def lightgbm() -> Any:
    """The package, or None where it is not installed."""
    try:
        import lightgbm as found
    except ImportError:
        return None
    return found


def size_of(model: Any) -> tuple[int, int]:
    """Vectors, and bytes of the numbers the model consists of; trees have no vectors, and the bytes of their file."""
    if hasattr(model, "booster_"):
        return 0, len(model.booster_.model_to_string().encode())
    if isinstance(model, SVC | SVR):
        # libsvm keeps one coefficient less than there are classes for each vector, and gamma
        arrays = model.support_vectors_, model.dual_coef_, model.intercept_
        stored = (array.data if sparse.issparse(array) else array for array in arrays)
        return len(model.support_), sum(int(array.nbytes) for array in stored) + 8
    return model.n_vectors_, stored_bytes(model.expansion_)


def rows_a_second(function: Callable[[Any], Any], X: Any) -> float:
    """Rows that pass through the function in a second."""
    function(X)
    calls, elapsed, start = 0, 0.0, time.perf_counter()
    while elapsed < SECONDS_PER_TIMING:
        function(X)
        calls, elapsed = calls + 1, time.perf_counter() - start
    return calls * X.shape[0] / elapsed
