"""Inputs: raw rows as numbers, and the steps of a pipeline folded into a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from profiles import scikit_checks
from slimsvm import EmpiricalSVC, TableEncoder, reduce
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


HOLES = TABLE.astype(object)
HOLES.iloc[2::9, 0] = None
HOLES.iloc[::6, 1] = np.nan


def with_holes(**parameters):
    return make_pipeline(TableEncoder(impute=True, **parameters), StandardScaler(), SVC()).fit(HOLES, y)


@pytest.mark.parametrize("kind", ["pandas", "objects", "polars", "nullable"])
def test_a_table_with_texts_and_holes_is_folded_in(kind):
    if kind == "pandas":
        rows = HOLES
    elif kind == "objects":
        rows = HOLES.to_numpy()
    elif kind == "polars":
        rows = (
            pytest.importorskip("polars")
            .from_pandas(TABLE)
            .with_columns(**{"kind": pytest.importorskip("polars").Series([None, *TABLE["kind"][1:]])})
        )
    else:
        rows = HOLES.astype({"size": "Float64", "kind": "string", "door": "Int64"})
    pipe = make_pipeline(TableEncoder(impute=True), StandardScaler(), SVC()).fit(rows, y)
    model = as_model(pipe)
    np.testing.assert_allclose(model.outputs(rows)[:, 0], pipe.decision_function(rows), atol=1e-9)
    assert (slim(model).predict(rows) == pipe.predict(rows)).all()
    fill = dict(model.inputs.fill)
    assert fill[1] in set(TABLE["kind"])
    assert fill[2] == np.median(TABLE["door"])


def test_what_is_put_in_place_of_a_value_is_median_or_most_frequent():
    encoder = TableEncoder(impute=True).fit(HOLES)
    assert encoder.inputs_.fill == (
        (0, HOLES["size"].astype(float).median()), (1, HOLES["kind"].mode()[0]), (2, float(HOLES["door"].median())),
    )  # fmt: skip
    filled = HOLES.copy()
    for column, (_, value) in zip(("size", "kind"), encoder.inputs_.fill, strict=False):
        filled[column] = HOLES[column].where(HOLES[column].notna(), value)
    np.testing.assert_array_equal(encoder.transform(HOLES), encoder.transform(filled))


def test_two_texts_are_one_number_and_categories_are_taken_as_told():
    table = pd.DataFrame(
        {"a": ["x", "y"] * 10, "b": pd.Categorical([1, 2, 3, 4] * 5), "c": [True, False] * 10}
    )
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == ["a=y", "b=1", "b=2", "b=3", "b=4", "c"]
    assert encoder.transform(table[:2]).tolist() == [[0, 1, 0, 0, 0, 1], [1, 0, 1, 0, 0, 0]]


def test_an_unknown_text_is_an_error_or_none_of_them():
    strange = HOLES.assign(kind="zebra")
    with pytest.raises(ValueError, match=r"'zebra' in column 'kind', which is none of its categories"):
        with_holes().predict(strange)
    assert not TableEncoder(impute=True, unknown="ignore").fit(HOLES).transform(strange)[:, 1:4].any()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"a": [1.0, None, 2.0, None]}, r"no value \(NaN or None\) in column 'a', row 1, and in 1 row more"),
        ({"a": [None, None]}, "no value at all in column 'a'"),
        ({"a": [str(i) for i in range(50)]}, "50 different texts in column 'a' in 50 rows: it seems to name the rows"),
        ({"a": ["x", 3, "y"]}, "texts in column 'a', and also 3"),
        ({"a": [1.0, np.inf]}, r"infinite number \(infinity\) in column 'a'"),
        ({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}, "in column 'a', neither a number nor a text"),
    ],
)  # fmt: skip
def test_what_a_table_cannot_have_is_said(table, words):
    with pytest.raises(ValueError, match=words):
        TableEncoder().fit(pd.DataFrame(table))


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_dates_and_durations_are_no_numbers_in_any_unit(kind, unit):
    days = np.array([1, 2, 3, 4], dtype=f"{kind}[D]").astype(f"{kind}[{unit}]")
    with pytest.raises(ValueError, match="in column 'a', neither a number nor a text"):
        TableEncoder().fit(pd.DataFrame({"a": days, "b": [1.0, 2.0, 3.0, 4.0]}))
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}))
    with pytest.raises(ValueError, match="X in column 'a' has dates or durations"):
        encoder.transform(pd.DataFrame({"a": days}))


def test_other_tables_are_refused():
    with pytest.raises(ValueError, match="two columns of the name 'a'"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(TypeError, match="sparse data needs no encoder"):
        TableEncoder().fit(sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="unknown must be 'error' or 'ignore'"):
        TableEncoder(unknown="what").fit(TABLE)
    with pytest.raises(ValueError, match=r"no value .* in column 'size', row 2, .* nothing to put there"):
        slim(as_model(make_pipeline(TableEncoder(), SVC()).fit(TABLE, y))).predict(HOLES)
    with pytest.raises(ValueError, match=r"no value .* in column 1, row 0"):
        slim(as_model(make_pipeline(StandardScaler(), SVC()).fit(X, y))).predict([[1.0, np.nan, 2.0]])


@pytest.mark.parametrize("fill", [((0, "red"),), ((1, "zebra"),), ((7, 1.0),), ((0, np.nan),)])
def test_what_cannot_be_put_in_a_place_is_refused(fill):
    columns = Column(0), Column(1, "a"), Column(1, "b")
    with pytest.raises(ValueError, match=r"cannot take the place|outside"):
        Inputs(2, columns=columns, allowed=((1, ("a", "b")),), fill=fill)


def test_imputers_fold_in_or_say_why_not():
    pipe = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), SVC())
    rows = X.copy()
    rows[::4, 1] = np.nan
    model = as_model(pipe.fit(rows, y))
    np.testing.assert_allclose(model.outputs(rows)[:, 0], pipe.decision_function(rows), atol=1e-9)
    for step, words in (
        (SimpleImputer(add_indicator=True), "indicator"),
        (SimpleImputer(missing_values=-1), "other missing values"),
    ):
        with pytest.raises(TypeError, match=words):
            as_model(make_pipeline(step, SVC()).fit(np.nan_to_num(rows), y))
    with pytest.raises(TypeError, match="after another step"):
        as_model(make_pipeline(StandardScaler(), SimpleImputer(), SVC()).fit(rows, y))


@scikit_checks([TableEncoder(), TableEncoder(impute=True)])
def test_the_encoder_is_an_estimator(estimator, check):
    check(estimator)


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
    with pytest.raises(ValueError, match=r"column 'b' is of numbers and of categories at once"):
        Inputs(2, ("a", "b"), (Column(0), Column(1, "x"), Column(1)))
    with pytest.raises(ValueError, match=r"must be finite"):
        Column(0, scale=np.inf)


def test_an_estimator_that_is_not_fitted_is_said_to_be_so():
    for estimator in (EmpiricalSVC(), SVC(), make_pipeline(StandardScaler(), EmpiricalSVC())):
        with pytest.raises(NotFittedError):
            as_model(estimator)


def test_texts_without_an_encoder_are_an_error_that_names_it():
    with pytest.raises(
        ValueError, match=r"X has texts .* make_pipeline\(TableEncoder\(\), EmpiricalSVC\(\)\)"
    ):
        EmpiricalSVC().fit(TABLE, y)
