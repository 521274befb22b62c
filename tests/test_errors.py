"""What users do wrong is said clearly, with the name of the argument."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from slimsvm import LSSVC, LSSVR, EmpiricalSVC, FullSVC

KINDS = {
    "LSSVC": LSSVC,
    "LSSVR": LSSVR,
    "FullSVC": FullSVC,
    "FullSVC squared": lambda **parameters: FullSVC(loss="squared_hinge", **parameters),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
every_classifier = pytest.mark.parametrize("kind", [LSSVC, FullSVC])


def data(n=20):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, (X[:, 0] > 0).astype(int)


# Rows


@every_kind
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_must_be_finite(kind, bad, make):
    X, y = data()
    model = kind().fit(make(X), y)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        kind().fit(make(X), y)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        model.predict(make(X))


@every_kind
def test_empty_rows(kind):
    X, y = data()
    with pytest.raises(ValueError, match=re.escape("Found array with 0 sample(s) (shape=(0, 3))")):
        kind().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=re.escape("Found array with 0 feature(s) (shape=(20, 0))")):
        kind().fit(X[:, :0], y)
    with pytest.raises(ValueError, match=re.escape("Found array with 0 sample(s) (shape=(0, 3))")):
        kind().fit(X, y).predict(X[:0])


@every_kind
def test_wrong_shapes(kind):
    X, y = data()
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        kind().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="Found array with dim 3"):
        kind().fit(X[:, :, None], y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[20, 19\]"):
        kind().fit(X, y[:19])
    model = kind().fit(X, y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])


@every_kind
def test_text_and_complex_rows(kind):
    X, y = data()
    with pytest.raises(ValueError, match="could not convert string to float"):
        kind().fit(np.full((20, 3), "red"), y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        kind().fit(X + 1j, y)


@every_kind
def test_rows_so_large_that_they_overflow(kind):
    X, y = data()
    with pytest.raises(ValueError, match="X has entries so large that gamma='scale' overflows"):
        kind().fit(X * 1e200, y)
    for kernel in ("linear", "poly"):
        with pytest.raises(ValueError, match=r"kernel: some kernel values of X are not finite.*; scale X"):
            kind(gamma=1.0, kernel=kernel).fit(X * 1e200, y)
    # every row is far from every other: RBF values are 1 and 0
    model = kind(gamma=1.0).fit(X * 1e200, y)
    assert model.score(X * 1e200, y) > 0.3
    assert np.isfinite(model.predict(1e200 - X * 1e200)).all()


@every_kind
def test_names_of_columns_must_stay(kind):
    import pandas as pd

    X, y = data()
    model = kind().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=["a", "b", "d"]))


@every_kind
def test_predicting_before_fitting(kind):
    X, _ = data()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        kind().predict(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        kind().expansion_  # noqa: B018


# Targets


@every_classifier
def test_one_class(kind):
    X, _ = data()
    with pytest.raises(ValueError, match=r"y must have at least two classes.*one class: .*7"):
        kind().fit(X, np.full(20, 7))


@every_classifier
def test_one_class_after_weights(kind):
    X, y = data()
    with pytest.raises(ValueError, match="y must have at least two classes among the rows of positive"):
        kind().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="y must have at least two classes among the rows of positive"):
        kind(class_weight={0: 0.0}).fit(X, y)


@every_classifier
def test_labels_that_are_none(kind):
    X, y = data()
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        kind().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"y should be a 1d array|Unknown label type"):
        kind().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"requires y to be passed|y cannot be None"):
        kind().fit(X, None)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_targets_must_be_finite(bad):
    X, _ = data()
    y = X[:, 0].copy()
    y[4] = bad
    with pytest.raises(ValueError, match="Input y contains"):
        LSSVR().fit(X, y)


# Weights


@every_kind
def test_weights(kind):
    X, y = data()
    ones = np.ones(20)
    negative = ones.copy()
    negative[3] = -1.0
    with pytest.raises(ValueError, match=r"Negative values in data passed to `?sample_weight"):
        kind().fit(X, y, sample_weight=negative)
    with pytest.raises(ValueError, match=r"(?i)sample.weight.*zero"):
        kind().fit(X, y, sample_weight=0 * ones)
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(19,\), expected \(20,\)"):
        kind().fit(X, y, sample_weight=ones[:19])
    with pytest.raises(ValueError, match="Sample weights must be 1D"):
        kind().fit(X, y, sample_weight=np.ones((20, 2)))
    for bad in (np.nan, np.inf):
        not_finite = ones.copy()
        not_finite[3] = bad
        with pytest.raises(ValueError, match=r"Input sample_weight contains (NaN|infinity)"):
            kind().fit(X, y, sample_weight=not_finite)


@every_classifier
def test_class_weights(kind):
    X, y = data()
    with pytest.raises(ValueError, match="class_weight names 5, which is not a class of y"):
        kind(class_weight={0: 1.0, 5: 2.0}).fit(X, y)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="class_weight must not be negative and must be finite"):
            kind(class_weight={0: bad}).fit(X, y)
    with pytest.raises(ValueError, match="'class_weight' parameter"):
        kind(class_weight="uneven").fit(X, y)


# Parameters


@every_kind
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *(("C", value) for value in (0, -1.0, np.nan, "1", None)),
        *(("gamma", value) for value in (0, -1.0, "wide", None)),
        *(("kernel", value) for value in ("gauss", None, 3)),
        *(("degree", value) for value in (-1, 2.5, "two")),
        *(("coef0", value) for value in (np.inf, np.nan, "one")),
        *(("tol", value) for value in (0, -1e-3, None)),
        *(("max_iter", value) for value in (0, 1.5)),
        *(("n_jobs", value) for value in (1.5, "two")),
        ("random_state", "seed"),
    ],
)
def test_parameters_out_of_range(kind, parameter, value):
    X, y = data()
    if parameter not in kind().get_params():  # what FullSVC hands to libsvm has a name of its own
        parameter = "kkt_tol"
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of .* must be"):
        kind(**{parameter: value}).fit(X, y)


def test_named_choices():
    X, y = data()
    with pytest.raises(ValueError, match="'solver' parameter of LSSVC must be a str among"):
        LSSVC(solver="qr").fit(X, y)
    with pytest.raises(ValueError, match="'loss' parameter of FullSVC must be a str among"):
        FullSVC(loss="logistic").fit(X, y)


@every_kind
def test_no_jobs(kind):
    X, y = data()
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        kind(n_jobs=0).fit(X, y)
    model = kind().fit(X, y).set_params(n_jobs=0)
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        model.predict(X)


@every_kind
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize(
    ("gamma", "message"),
    [
        ([1.0, 1.0], "gamma has 2 entries, but X has 3 features"),
        ([1.0, -1.0, 1.0], "gamma must have finite entries that are not negative"),
        ([0.0, 0.0, 0.0], "gamma must have finite entries that are not negative and not all zero"),
        ([1.0, np.nan, 1.0], "gamma must have finite entries"),
        ([[1.0, 1.0, 1.0]], "gamma must be a number or one number per feature"),
        (np.inf, "gamma must be a positive finite number|'gamma' parameter"),
    ],
)
def test_widths(kind, kernel, gamma, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        kind(kernel=kernel, gamma=gamma).fit(X, y)


@every_kind
@pytest.mark.parametrize("kernel", ["poly", "sigmoid"])
def test_widths_where_there_is_only_one(kind, kernel):
    X, y = data()
    with pytest.raises(ValueError, match="gamma must be one number for the"):
        kind(kernel=kernel, gamma=[1.0, 1.0, 1.0]).fit(X, y)


# Kernels of the user


@every_kind
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda X, Z: X @ Z.T @ np.ones((Z.shape[0], 3)),
            r"kernel: .* shape \(20, 3\) for 20",
        ),
        (lambda X, Z: 1.0, r"kernel: the function returned an array of shape \(\)"),
        (lambda X, Z: None, r"kernel: the function returned an array of shape \(\)"),
        (lambda X, Z: (X @ Z.T).ravel(), r"kernel: the function returned an array of shape \(400,\)"),
        (lambda X, Z: (X @ Z.T).astype(str), "kernel: the function returned values of type .*, not numbers"),
        (lambda X, Z: 1j * (X @ Z.T), "kernel: the function returned values of type complex128, not numbers"),
        (lambda X, Z: np.nan * (X @ Z.T), "kernel: some kernel values of X are not finite"),
    ],
)
def test_a_function_that_is_no_kernel(kind, function, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        kind(kernel=function).fit(X, y)


@every_kind
def test_an_error_in_the_function_is_passed_on(kind):
    def broken(X, Z):
        raise RuntimeError("no such kernel")

    with pytest.raises(RuntimeError, match="no such kernel"):
        kind(kernel=broken).fit(*data())


@every_kind
def test_precomputed_values_must_be_square(kind):
    X, y = data()
    with pytest.raises(ValueError, match=r"X must be the square matrix .* got shape \(20, 3\)"):
        kind(kernel="precomputed").fit(X, y)
    K = X @ X.T
    model = kind(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match=r"X has 19 features, but .* is expecting 20"):
        model.predict(K[:, :19])


def test_the_one_class_is_named_as_it_was_given():
    X = np.zeros((4, 2))
    for label, shown in (("a", "'a'"), (3, "3"), (True, "True")):
        with pytest.raises(ValueError, match=f"it has one class: {shown}\\."):
            LSSVC().fit(X, np.array([label] * 4))


@pytest.mark.parametrize("solver", ["active_set", "interior_point", "smo", "cd"])
def test_a_solver_that_cannot_solve_the_loss(solver):
    X, y = np.eye(4), [0, 0, 1, 1]
    with pytest.raises(
        ValueError, match=f"solver='{solver}' cannot solve loss='squared_hinge'; it takes 'auto', 'newton'"
    ):
        EmpiricalSVC(loss="squared_hinge", solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="solver='newton' cannot solve loss='hinge'"):
        EmpiricalSVC(solver="newton").fit(X, y)
    by_name = EmpiricalSVC(loss="squared_hinge", solver="newton").fit(X, y)
    assert by_name.dual_coef_.tobytes() == EmpiricalSVC(loss="squared_hinge").fit(X, y).dual_coef_.tobytes()
