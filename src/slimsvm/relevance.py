"""Which features matter: each feature's share of the distances that the kernel measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .adapters.whole import as_model
from .expansion import KernelExpansion
from .inputs import Column, Inputs
from .kernels import RBF, Laplacian, Linear
from .rows import Array, Rows, as_rows, block_slices


def feature_relevance(model: Any, X: Any = None) -> Array:  # (n_features,)
    r"""Share of each feature in what a model sees of the difference between two rows.

    A feature matters to a kernel by its weight in the metric times its spread over the rows:

    ============================  =================================
    kernel                        before the shares are made
    ============================  =================================
    rbf                           :math:`\gamma_j \mathrm{var}(x_j)`
    rbf after a projection P      :math:`(P^\top P)_{jj} \mathrm{var}(x_j)`, P in units of the width
    laplacian                     :math:`\gamma_j` times the mean absolute deviation of :math:`x_j`
    laplacian after a projection  :math:`\sum_i \gamma_i |P_{ij}|` times the mean absolute deviation
    linear                        :math:`\sum_o w_{jo}^2 \mathrm{var}(x_j)`, w the weights of the outputs
    ============================  =================================

    Parameters
    ----------
    model : fitted estimator, Pipeline, KernelExpansion or Model
        A model with one of these kernels; `slimsvm.adapters.whole.as_model` says what is taken. Steps of a pipeline
        belong to the model: the shares are those of the raw columns.
    X : array-like, CSR or table of shape (n, n_features), or None, default=None
        Raw rows, whose spread counts: the training rows, or those that the model will see. None takes the model's
        vectors instead, where they lie in the space of the inputs. CSR is not made dense.

    Returns
    -------
    array of shape (n_features,)
        Numbers of at least 0 that sum to 1, one for each raw column. The categories of a column count together.

    Raises
    ------
    ValueError
        If the model has no such shares (other kernels), or if nothing varies.

    Notes
    -----
    For features that are not correlated these are the shares of the expected (squared) distance between two rows drawn
    at random. A feature of share 0 is not used. One of small share may still have a large effect, if it is nearly a
    straight line, for which a wide kernel suffices: `sklearn.inspection.permutation_importance` measures effects, and
    needs labels.

    Examples
    --------
    >>> from slimsvm import KernelExpansion, feature_relevance
    >>> from slimsvm.kernels import RBF
    >>> f = KernelExpansion(RBF([3.0, 1.0, 0.0]), [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [1.0, -1.0], 0.0)
    >>> feature_relevance(f).round(2).tolist()
    [0.75, 0.25, 0.0]
    """
    whole = as_model(model)
    metric = _metric_of(whole.expansion)
    rows = _vectors(whole.expansion) if X is None else unshifted_numbers(whole.inputs, X)
    with np.errstate(over="ignore", invalid="ignore"):
        shares = _by_source(whole.inputs, metric, rows)
        total = float(shares.sum())
    if not np.isfinite(total):
        raise ValueError("X has values that are infinite or too large to measure distances with.")
    if total <= 0.0:
        where = "in X" if X is not None else "among the model's vectors; give X, the rows it was trained on"
        raise ValueError(f"no feature that the model looks at varies {where}.")
    return np.asarray(shares / total)


@dataclass(frozen=True)
class _Metric:
    """What a kernel does to the numbers of a row.

    Parameters
    ----------
    matrix : array of shape (r, d), or (1, d) where each number is compared by itself
        Rows are compared, or weighed, by their images under it.
    mixes : bool
        Whether numbers are added up before they are compared.
    absolute : bool
        Whether differences are measured by their absolute values; otherwise by their squares.
    """

    matrix: Array
    mixes: bool
    absolute: bool

    def size(self, values: Array) -> Array:
        """Values as they enter a distance."""
        return np.abs(values) if self.absolute else values**2


def _metric_of(f: KernelExpansion) -> _Metric:
    if isinstance(f.kernel, Linear):
        weights = np.asarray(f.vectors.T.astype(np.float64) @ f.coef.astype(np.float64)).T
        return _Metric(weights, mixes=True, absolute=False)
    if not isinstance(f.kernel, RBF | Laplacian):
        raise ValueError(
            f"the kernel {type(f.kernel).__name__} does not weigh features one by one, so they have no shares; "
            "sklearn.inspection.permutation_importance takes every model."
        )
    absolute = isinstance(f.kernel, Laplacian)
    width = f.kernel.widths(f.vectors.shape[1])
    width = width if absolute else np.sqrt(width)
    if f.projection is None:
        return _Metric(width[None, :], mixes=False, absolute=absolute)
    return _Metric(width[:, None] * f.projection.matrix.astype(np.float64), mixes=True, absolute=absolute)


def _vectors(f: KernelExpansion) -> Rows:
    if f.projection is not None:
        raise ValueError(
            "X is needed: the vectors lie in the image of a projection and do not show how much the features vary; "
            "give the rows the model was trained on."
        )
    if f.n_vectors == 0:
        raise ValueError("X is needed: the model has no vectors to see how much the features vary.")
    return f.vectors


def unshifted_numbers(inputs: Inputs, X: Any) -> Rows:  # (n, n_numbers)
    """Raw rows as the expansion sees them, but for the shifts, which change no spread and would fill CSR."""
    columns = inputs.columns or tuple(map(Column, range(inputs.n_features)))
    rows = as_rows(replace(inputs, columns=tuple(replace(column, shift=0.0) for column in columns))(X))
    if rows.shape[0] == 0:
        raise ValueError("X has no rows.")
    return rows


def _by_source(inputs: Inputs, metric: _Metric, rows: Rows) -> Array:  # (n_features,)
    """What each raw column adds to the distance between two rows, up to one factor."""
    d = rows.shape[1]
    sources = np.array([c.source for c in inputs.columns]) if inputs.columns is not None else np.arange(d)
    together = np.bincount(sources, minlength=inputs.n_features) > 1
    numbers = metric.size(metric.matrix).sum(axis=0) * middle_and_spread(rows, absolute=metric.absolute)[1]
    out = np.bincount(sources, numbers, minlength=inputs.n_features)
    for source in np.flatnonzero(together & metric.mixes):  # the categories of a column are not independent
        own = np.flatnonzero(sources == source)
        image = np.asarray(rows[:, own].astype(np.float64) @ metric.matrix[:, own].T)
        out[source] = metric.size(image - image.mean(axis=0)).mean(axis=0).sum()
    return out


def middle_and_spread(rows: Rows, *, absolute: bool = False) -> tuple[Array, Array]:  # (d,), (d,)
    """Mean of each number of a row, and its variance or its mean absolute deviation."""
    n, d = rows.shape
    size = np.abs if absolute else np.square
    if sparse.issparse(rows):
        values, columns = rows.data.astype(np.float64), rows.indices
        middle = np.bincount(columns, values, minlength=d) / n
        zeros = n - np.bincount(columns, minlength=d)
        sums = np.bincount(columns, size(values - middle[columns]), minlength=d) + zeros * size(middle)
    else:
        middle, sums = rows.mean(axis=0, dtype=np.float64), np.zeros(d)
        for part in block_slices(n, 8 * d):
            sums += size(rows[part] - middle).sum(axis=0)
    return middle, sums / n
