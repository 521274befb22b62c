"""Every estimator of the one list once more, as one that sees all dense rows as CSR.

Whatever is asked of the twin of an estimator, by scikit-learn's checks for instance, is asked of its sparse ways. The
twins are attributes of this module under the names of the estimators, so that they can be pickled.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import sparse

import everyone
from slimsvm import Reduced

TAKE_ROWS = {*everyone.ANSWERS, "fit", "fit_predict", "fit_transform", "partial_fit", "score"}


def as_csr(X: Any) -> Any:
    """Rows of numbers as CSR; anything else, which is to be refused or comes in a form of its own, as it is."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiub" and X.size:
        return sparse.csr_array(X)
    return X


def twin(kind: type) -> type:
    """A subclass whose methods get CSR for dense rows, and give dense rows back."""

    def __getattribute__(self: Any, name: str) -> Any:
        found = kind.__getattribute__(self, name)
        if name not in TAKE_ROWS or not callable(found):
            return found

        @functools.wraps(found)
        def on_csr(*arguments: Any, **named: Any) -> Any:
            if arguments:
                arguments = (as_csr(arguments[0]), *arguments[1:])
            answer = found(*arguments, **{key: as_csr(X) if key == "X" else X for key, X in named.items()})
            return answer.toarray() if sparse.issparse(answer) else answer

        return on_csr

    return type(kind.__name__, (kind,), {"__getattribute__": __getattribute__, "__module__": __name__})


globals().update({kind.__name__: twin(kind) for kind in (*everyone.KINDS.values(), Reduced)})


def csr_form(estimator: Any) -> Any:
    """The twin of an estimator, with its parameters."""
    return globals()[type(estimator).__name__](**estimator.get_params(deep=False))
