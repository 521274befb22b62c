"""What nobody should read: sparse matrices that point outside themselves, dates, masks, kernels that take sides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import is_regressor

import everyone
from slimsvm import LSSVC
from slimsvm.kernels import FunctionKernel
from slimsvm.rows import as_rows


def with_indices(form, **changed):
    """A sparse matrix of three rows and columns, one of whose arrays is replaced."""
    X = form(np.eye(3))
    for name, values in changed.items():
        setattr(X, name, np.array(values, dtype=np.int32))
    return X


BROKEN = {
    "a column beyond": with_indices(sparse.csr_array, indices=[0, 7, 2]),
    "a column before": with_indices(sparse.csr_matrix, indices=[0, -1, 2]),
    "a row beyond": with_indices(sparse.csc_array, indices=[0, 1, 3]),
    "a block beyond": with_indices(sparse.bsr_array, indices=[1]),
    "another column beyond": with_indices(sparse.coo_array, col=[0, 1, 100_000_000]),
    "another row before": with_indices(sparse.coo_matrix, row=[0, -5, 2]),
    "more entries than there are": with_indices(sparse.csr_array, indptr=[0, 1, 2, 1_000_000]),
    "rows that end before they begin": with_indices(sparse.csr_array, indptr=[0, 2, 1, 3]),
    "a start in the middle": with_indices(sparse.csr_array, indptr=[1, 1, 2, 3]),
    "rows that are not there": with_indices(sparse.csc_matrix, indptr=[0, 1, 2]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_sparse_matrix_whose_indices_point_outside_is_refused(broken):
    with pytest.raises(ValueError, match=r"Z is a sparse matrix (with a \w+ index of|whose indptr)"):
        as_rows(broken, "Z")


@pytest.mark.parametrize("name", everyone.NAMES)
def test_nothing_reads_what_such_indices_point_to(name):
    X, y, _, _ = everyone.data(name)
    model = everyone.known(name)
    for form in (sparse.csr_array, sparse.csc_array):
        broken = form(X)
        broken.indices = broken.indices.copy()
        broken.indices[0] = 1_000_000
        with pytest.raises(ValueError, match=r"sparse matrix with a \w+ index of 1000000"):
            everyone.make(name).fit(broken, y)
        with pytest.raises(ValueError, match=r"sparse matrix with a \w+ index of 1000000"):
            everyone.answers(model, broken)


@pytest.mark.parametrize("name", everyone.NAMES)
def test_dates_are_no_numbers(name):
    """As numbers they would be of the unit they happen to be stored in."""
    X, y, _, _ = everyone.data(name)
    model = everyone.known(name)
    days = np.rint(100 * X).astype("datetime64[D]")
    tables = [
        pd.DataFrame(days).rename(columns=str),
        pl.DataFrame({"a": X[:, 0], "day": days[:, 0], "c": X[:, 2]}),
    ]
    objects = days.astype(object)
    one_by_one = (days[:1].tolist(), [list(days[0])], objects, [*X.tolist()[:1], list(days[1])])
    for dates in (days, days - days[0], *tables, *one_by_one, pd.DataFrame(objects)):
        with pytest.raises(ValueError, match="has dates or durations"):
            everyone.make(name).fit(dates, y)
        with pytest.raises(ValueError, match="has dates or durations"):
            everyone.answers(model, dates)


@pytest.mark.parametrize("name", everyone.NAMES)
def test_several_entries_at_one_place_are_one(name):
    X, y, _, T = everyone.data(name)
    n, d = X.shape
    twice = sparse.csr_matrix(
        (
            np.repeat(X.ravel() / 2, 2),
            np.tile(np.repeat(np.arange(d), 2), n),
            np.arange(0, 2 * n * d + 1, 2 * d),
        ),
        shape=X.shape,
    )
    wanted = everyone.answers(everyone.fit(name, sparse.csr_matrix(X), y), T)
    everyone.same_bits(everyone.answers(everyone.fit(name, twice, y), T), wanted)
    assert twice.nnz == 2 * n * d


@pytest.mark.parametrize("name", everyone.NAMES)
def test_what_lies_under_a_mask_is_not_read(name):
    X, y, _, _ = everyone.data(name)
    model = everyone.known(name)
    masked = np.ma.masked_greater(X, 1.0)
    with pytest.raises(ValueError, match="X has masked entries: fill them"):
        everyone.make(name).fit(masked, y)
    with pytest.raises(ValueError, match="X has masked entries: fill them"):
        everyone.answers(model, masked)
    everyone.same_bits(everyone.answers(model, np.ma.array(X)), everyone.answers(model, X))


REGRESSORS = [name for name in everyone.NAMES if is_regressor(everyone.make(name))]


@pytest.mark.parametrize("name", REGRESSORS)
def test_targets_are_numbers(name):
    X, y, _, _ = everyone.data(name)
    days = np.rint(100 * y).astype("datetime64[D]")
    for dates in (days, days.tolist(), pd.Series(days), pl.Series(days)):
        with pytest.raises(ValueError, match="y has dates or durations"):
            everyone.make(name).fit(X, dates)
    if name == "Reduced SVR":
        return  # scikit-learn's own says what texts are to it
    texts = [f"about {value}" for value in y]
    for given in (texts, np.array(texts), pd.Series(texts), pl.Series(texts)):
        with pytest.raises(ValueError, match=r"^y has texts \(could not .*for classes there are the class"):
            everyone.make(name).fit(X, given)


@pytest.mark.parametrize("name", [name for name in everyone.NAMES if everyone.has(name, "kernel")])
def test_kernel_values_do_not_depend_on_which_row_comes_first(name):
    X, y, _, _ = everyone.data(name)
    by_hand = FunctionKernel(lambda A, B: A[:, :1] + 0.0 * B[:, 0])
    for kernel in (by_hand, by_hand.function):
        with pytest.raises(ValueError, match="kernel: the function is not symmetric: two rows of X have"):
            everyone.make(name, kernel=kernel).fit(X, y)
    if name == "ZeroNormSelector":
        return
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1))
    for dtype in (np.float64, np.float32):
        model = everyone.make(name, kernel="precomputed")
        model.fit((K * (1 + 1e-6 * np.random.default_rng(0).random(K.shape))).astype(dtype), y)
        for form in (np.asarray, sparse.csr_array):
            wrong = K.astype(dtype)
            wrong[3, 50] += 0.25
            with pytest.raises(ValueError, match=r"symmetric for kernel='precomputed', but X\[3, 50\] is 0"):
                everyone.make(name, kernel="precomputed").fit(form(wrong), y)


def test_the_place_is_that_in_the_matrix_that_was_given():
    K, weight = np.eye(6), np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    K[0, 1] = 0.5  # of a row without weight
    LSSVC(kernel="precomputed").fit(K, [0, 1, 0, 1, 0, 1], sample_weight=weight)
    K[2, 4] = 0.5
    with pytest.raises(ValueError, match=r"but X\[2, 4\] is 0.5 and X\[4, 2\] is 0: give"):
        LSSVC(kernel="precomputed").fit(K, [0, 1, 0, 1, 0, 1], sample_weight=weight)


@pytest.mark.parametrize("name", everyone.NAMES)
def test_integers_beyond_all_numbers_are_said(name):
    X, y, _, _ = everyone.data(name)
    rows = X.tolist()
    rows[3][1] = 10**400
    for given in (rows, np.array(rows, dtype=object), pd.DataFrame(np.array(rows, dtype=object))):
        with pytest.raises(ValueError, match=r"X.* has an integer too large for a floating-point number"):
            everyone.make(name).fit(given, y)
        with pytest.raises(ValueError, match=r"X.* has an integer too large for a floating-point number"):
            everyone.answers(everyone.known(name), given)


@pytest.mark.parametrize("name", everyone.NAMES)
def test_a_lazy_frame_has_no_rows_yet(name):
    X, y, _, _ = everyone.data(name)
    lazy = pl.DataFrame(X).lazy()
    with pytest.raises(ValueError, match="X is a lazy frame: give what its method collect returns"):
        everyone.make(name).fit(lazy, y)
    with pytest.raises(ValueError, match="X is a lazy frame: give what its method collect returns"):
        everyone.answers(everyone.known(name), lazy)
