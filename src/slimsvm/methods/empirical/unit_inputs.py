"""The inputs themselves as features: orthogonal vectors of the linear kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...kernels import Kernel, Linear
from ...limits import check_columns
from ...rows import Array, Rows


def unit_vectors(kernel: Kernel, X: Rows) -> Rows:  # (d, d)
    """The unit vectors of the inputs, dense or CSR as X is."""
    if not isinstance(kernel, Linear):
        raise ValueError(
            "vectors='orthogonal' needs kernel='linear': only there the inputs are the features."
        )
    d = X.shape[1]
    return (
        sparse.eye_array(d, format="csr", dtype=X.dtype) if sparse.issparse(X) else np.eye(d, dtype=X.dtype)
    )


def unit_inputs(kernel: Kernel, X: Rows) -> tuple[Any, Array, None]:
    """Unit vectors and the inputs themselves as features, eq. (13)."""
    vectors = unit_vectors(kernel, X)
    check_columns(X.shape[0], X.shape[1], "use vectors='selected'")
    return vectors, (X.toarray() if sparse.issparse(X) else X).astype(np.float64), None
