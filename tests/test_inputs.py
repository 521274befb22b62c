"""Inputs: raw rows as numbers, and the steps of a pipeline folded into a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from slimsvm import EmpiricalSVC, reduce
from slimsvm.adapters.slim import slim
from slimsvm.adapters.whole import as_model
from slimsvm.inputs import Column, Inputs

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 5.0]
y = np.where((X[:, 0] > 0) ^ (X[:, 1] > 1e4), "in", "out")
TABLE = pd.DataFrame(
    {"size": X[:, 0], "kind": RNG.choice(["a", "b", "c"], 80), "door": RNG.integers(2, 5, 80)}
)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), StandardScaler(with_mean=False), MinMaxScaler((-1, 2)), MaxAbsScaler()]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_scaler_is_folded_in(scaler, dtype):
    rows = X.astype(dtype)
    pipe = make_pipeline(scaler, EmpiricalSVC()).fit(rows, y)
    model = as_model(pipe)
    wanted = pipe.decision_function(rows)
    assert np.abs(model.outputs(rows)[:, 0] - wanted).max() < (1e-9 if dtype == np.float64 else 1e-2)
    assert (slim(model).predict(rows.astype(float)) == pipe.predict(rows)).mean() > 0.98


def test_scalers_one_after_the_other_are_one_shift_and_one_scale():
    pipe = make_pipeline(MinMaxScaler(), StandardScaler(), "passthrough", SVR()).fit(X, X[:, 0])
    assert np.allclose(slim(as_model(pipe)).predict(X), pipe.predict(X), atol=1e-9)


def test_csr_rows_stay_sparse_where_nothing_is_shifted():
    pipe = make_pipeline(MaxAbsScaler(), SVC()).fit(sparse.csr_array(X), y)
    assert sparse.issparse(as_model(pipe).inputs(sparse.csr_array(X)))
    assert np.allclose(
        as_model(pipe).outputs(sparse.csr_array(X))[:, 0], pipe.decision_function(sparse.csr_array(X))
    )


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
def test_categories_are_folded_in(drop):
    columns = ColumnTransformer(
        [("kind", OneHotEncoder(drop=drop, sparse_output=False), ["kind", "door"])],
        remainder=StandardScaler(),
    )
    pipe = make_pipeline(columns, StandardScaler(), SVC()).fit(TABLE, y)
    model = as_model(pipe)
    assert model.inputs.names == ("size", "kind", "door")
    assert np.allclose(model.outputs(TABLE)[:, 0], pipe.decision_function(TABLE), atol=1e-9)
    assert np.allclose(model.outputs(TABLE[["door", "kind", "size"]])[:, 0], pipe.decision_function(TABLE))
    assert (slim(model).predict(TABLE.to_numpy()) == pipe.predict(TABLE)).all()


def test_an_unknown_category_is_an_error_where_the_encoder_says_so():
    strange = TABLE.assign(kind="z")
    for handle, refused in (("error", True), ("ignore", False)):
        columns = ColumnTransformer(
            [("kind", OneHotEncoder(handle_unknown=handle), ["kind"])], remainder="passthrough"
        )
        pipe = make_pipeline(columns, SVC()).fit(TABLE, y)
        if refused:
            with pytest.raises(
                ValueError, match=r"the value 'z' in column 'kind', which is none of its categories"
            ):
                as_model(pipe)(strange)
        else:
            assert np.allclose(as_model(pipe).outputs(strange)[:, 0], pipe.decision_function(strange))


def test_what_cannot_be_folded_in_is_named():
    with pytest.raises(TypeError, match=r"the step PCA of the pipeline cannot be folded"):
        as_model(make_pipeline(PCA(2), SVC()).fit(X, y))
    with pytest.raises(TypeError, match=r"MinMaxScaler with clip=True"):
        as_model(make_pipeline(MinMaxScaler(clip=True), SVC()).fit(X, y))


def test_a_reduced_pipeline_is_a_model():
    pipe = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    small = reduce(pipe, X, y)
    assert np.allclose(as_model(small).outputs(X)[:, 0], small.decision_function(X), atol=1e-9)


def test_bad_inputs_get_a_sentence():
    inputs = Inputs(2, ("a", "b"), (Column(0, shift=1.0), Column(1, "x")))
    with pytest.raises(ValueError, match=r"no column 'b'"):
        inputs(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(ValueError, match=r"column 'a' that are not numbers"):
        inputs(np.array([["one", "x"]], dtype=object))
    with pytest.raises(ValueError, match=r"shape \(rows, 2\)"):
        inputs(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"outside 0 .. 1"):
        Inputs(2, columns=(Column(2),))
    with pytest.raises(ValueError, match=r"must be finite"):
        Column(0, scale=np.inf)


def test_an_estimator_that_is_not_fitted_is_said_to_be_so():
    for estimator in (EmpiricalSVC(), SVC(), make_pipeline(StandardScaler(), EmpiricalSVC())):
        with pytest.raises(NotFittedError):
            as_model(estimator)
