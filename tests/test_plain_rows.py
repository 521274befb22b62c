"""Rows that need no check take a short way: the same bits, and the same errors, as the careful way."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, SVR

from slimsvm import (
    LSSVC,
    LSSVR,
    RVR,
    CompactSVC,
    CompactSVR,
    EmpiricalSVC,
    FullSVC,
    KernelExpansion,
    reduce,
)
from slimsvm.kernels import RBF
from slimsvm.methods.fitted import FittedModel

ROWS = (1, 2, 7, 8, 9, 15, 16, 17, 75)


def two_classes(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)).astype(dtype)
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(60) > 0, "yes", "no")


def targets():
    X, _ = two_classes()
    return X, np.column_stack([X[:, 0] ** 2, X[:, 1]])


MODELS = {
    "compact": lambda: CompactSVC(max_vectors=4, random_state=0).fit(*two_classes()),
    "compact float32": lambda: CompactSVC(max_vectors=4, random_state=0).fit(*two_classes(np.float32)),
    "compact classes": lambda: CompactSVC(max_vectors=4, random_state=0).fit(*load_iris(return_X_y=True)),
    "compact targets": lambda: CompactSVR(max_vectors=4, random_state=0).fit(*targets()),
    "compact rows": lambda: CompactSVC(max_vectors=4, refine=False, random_state=0).fit(*two_classes()),
    "one width": lambda: LSSVC(gamma=0.3).fit(*two_classes()),
    "width of a kernel": lambda: LSSVC(kernel=RBF(0.3)).fit(*two_classes()),
    "widths of a kernel": lambda: LSSVC(kernel=RBF((0.1, 0.0, 0.3, 0.4, 0.5))).fit(*two_classes()),
    "widths": lambda: EmpiricalSVC(gamma=np.linspace(0.1, 1.0, 5)).fit(*two_classes()),
    "full": lambda: FullSVC().fit(*load_iris(return_X_y=True)),
    "relevance": lambda: RVR().fit(*(lambda X, Y: (X, Y[:, 0]))(*targets())),
    "reduced": lambda: reduce(SVC().fit(*two_classes()), *two_classes()),
    "reduced targets": lambda: reduce(SVR().fit(targets()[0], targets()[1][:, 0])),
    "two threads": lambda: LSSVR(n_jobs=2).fit(*targets()),
}
OTHER_KERNELS = {
    "linear": lambda: LSSVC(kernel="linear").fit(*two_classes()),
    "laplacian": lambda: LSSVC(kernel="laplacian").fit(*two_classes()),
    "function": lambda: LSSVC(kernel=lambda X, Z: X @ Z.T).fit(*two_classes()),
    "precomputed": lambda: LSSVC(kernel="precomputed").fit(np.eye(60)[:, :60], two_classes()[1]),
    "sparse": lambda: LSSVC().fit(sparse.csr_array(two_classes()[0]), two_classes()[1]),
}
METHODS = ("predict", "decision_function", "predict_proba")

every_model = pytest.mark.parametrize("model", MODELS, indirect=True)


@pytest.fixture(scope="module")
def models():
    return {}


@pytest.fixture
def model(request, models):
    if request.param not in models:
        models[request.param] = MODELS[request.param]()
    return models[request.param]


@pytest.fixture
def short_ways(monkeypatch):
    """A list that says for each prediction whether it took the short way."""
    taken = []
    outputs, rows = FittedModel._outputs, FittedModel._rows

    def watched(self, X):
        taken.append(True)
        return outputs(self, X)

    def checked(self, X):
        taken[-1:] = [False]
        return rows(self, X)

    monkeypatch.setattr(FittedModel, "_outputs", watched)
    monkeypatch.setattr(FittedModel, "_rows", checked)
    return taken


def rows_for(model, n, seed=1):
    X = np.random.default_rng(seed).standard_normal((n, model.n_features_in_))
    return X.astype(model.expansion_.coef.dtype)


def all_answers(model, X):
    return [getattr(model, method)(X) for method in METHODS if hasattr(model, method)]


def careful_answers(model, X):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelExpansion, "plain_outputs", lambda *_: None)
        return all_answers(model, X)


def assert_the_same(got, wanted):
    assert [(a.dtype, a.shape, a.tobytes()) for a in got] == [(a.dtype, a.shape, a.tobytes()) for a in wanted]


@every_model
@pytest.mark.parametrize("n", ROWS)
def test_both_ways_give_the_same_bits(model, n, short_ways):
    X = rows_for(model, n)
    got = all_answers(model, X)
    assert short_ways == [True] * len(got)
    assert_the_same(got, careful_answers(model, X))


@every_model
def test_read_only_rows_take_the_short_way(model, short_ways):
    X = rows_for(model, 20)
    wanted = all_answers(model, X)
    X.flags.writeable = False
    assert_the_same(all_answers(model, X), wanted)
    assert all(short_ways)


@every_model
def test_rows_to_be_converted_take_the_careful_way(model, short_ways):
    X = rows_for(model, 20)
    wanted = all_answers(model, X)
    short_ways.clear()
    wide = np.zeros((20, 2 * X.shape[1]), dtype=X.dtype)
    wide[:, ::2] = X
    for same in (np.asfortranarray(X), wide[:, ::2], X.tolist(), X.astype(X.dtype.newbyteorder())):
        if np.asarray(same).dtype == X.dtype or X.dtype == np.float64:
            assert_the_same(all_answers(model, same), wanted)
    assert not any(short_ways)


def test_another_dtype_takes_the_careful_way(short_ways):
    single, double = MODELS["compact float32"](), MODELS["compact"]()
    X = rows_for(double, 20)
    assert single.decision_function(X).dtype == np.float64
    assert double.decision_function(X.astype(np.float32)).dtype == np.float64
    assert short_ways == [False, False]


@every_model
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 3, 8, 40])
def test_rows_that_are_not_finite_raise_as_ever(model, value, n):
    X = rows_for(model, n)
    X[n // 2, -1] = value
    with pytest.raises(ValueError, match="Input X contains") as careful:
        careful_answers(model, X)
    for method in METHODS:
        if hasattr(model, method):
            with pytest.raises(ValueError, match="Input X contains") as short:
                getattr(model, method)(X)
            assert str(short.value) == str(careful.value)


@pytest.mark.parametrize("model", ["widths of a kernel"], indirect=True)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("n", [1, 40])
def test_a_feature_of_width_zero_is_checked_too(model, value, n):
    X = rows_for(model, n)
    X[-1, 1] = value
    with pytest.raises(ValueError, match="Input X contains"):
        model.predict(X)


@every_model
@pytest.mark.parametrize("n", [1, 40])
def test_rows_whose_squares_overflow_are_still_rows(model, n, short_ways):
    X = rows_for(model, n)
    X[-1] = np.finfo(X.dtype).max / 4
    assert_the_same(all_answers(model, X), careful_answers(model, X))
    assert any(short_ways)


@every_model
def test_wrong_shapes_raise_as_ever(model):
    d = model.n_features_in_
    for X in (np.zeros((3, d + 1)), np.zeros((3, d - 1)), np.zeros((0, d)), np.zeros(d), np.zeros((2, 2, d))):
        X = X.astype(model.expansion_.coef.dtype)
        with pytest.raises(ValueError, match=r".") as careful:
            careful_answers(model, X)
        with pytest.raises(ValueError, match=r".") as short:
            model.predict(X)
        assert str(short.value) == str(careful.value)


def test_names_of_features_are_still_compared():
    pd = pytest.importorskip("pandas")
    X, y = two_classes()
    table = pd.DataFrame(X, columns=list("abcde"))
    model = LSSVC().fit(table, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="X has feature names"):
        LSSVC().fit(X, y).predict(table)


@pytest.mark.parametrize("name", OTHER_KERNELS)
def test_other_models_take_the_careful_way(name, short_ways):
    model = OTHER_KERNELS[name]()
    model.predict(rows_for(model, 20))
    assert not any(short_ways)


def test_a_subclass_of_array_takes_the_careful_way(short_ways):
    class Named(np.ndarray):
        pass

    model = MODELS["one width"]()
    model.predict(rows_for(model, 20).view(Named))
    assert short_ways == [False]


def test_not_fitted_is_said():
    for estimator in (LSSVC(), CompactSVR()):
        with pytest.raises(NotFittedError):
            estimator.predict(np.zeros((1, 2)))


def test_assume_finite_lets_rows_pass_as_ever():
    model = MODELS["one width"]()
    X = rows_for(model, 20)
    X[3, 2] = np.nan
    with sklearn.config_context(assume_finite=True):
        assert np.flatnonzero(np.isnan(model.decision_function(X))).tolist() == [3]


def test_the_stored_numbers_cannot_be_changed():
    model = pickle.loads(pickle.dumps(MODELS["compact classes"]()))
    for array in (model.dual_coef_, model.intercept_, model.support_vectors_, model.classes_):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    X = rows_for(model, 20)
    before = model.decision_function(X)
    model.set_params(kernel="laplacian", gamma=3.0, scale=False)
    assert model.decision_function(X).tobytes() == before.tobytes()


@every_model
def test_a_row_has_the_same_bits_wherever_it_stands(model):
    """Among eight rows or more, an output depends on its row alone."""
    X = rows_for(model, 75)
    method = model.decision_function if hasattr(model, "decision_function") else model.predict
    everywhere = method(X)
    for start, stop in ((0, 8), (1, 9), (3, 20), (50, 75), (66, 75)):
        assert method(X[start:stop]).tobytes() == everywhere[start:stop].tobytes()


@every_model
@pytest.mark.parametrize("n", [0, 1, 9, 40])
def test_an_expansion_gives_the_same_bits_both_ways(model, n, monkeypatch):
    X = rows_for(model, n)
    f = model.expansion_
    dirty = X.copy()
    if n:
        dirty[-1, 0] = np.nan
    got = f(X), f(dirty)
    monkeypatch.setattr(KernelExpansion, "plain_outputs", lambda *_: None)
    assert_the_same(got, (f(X), f(dirty)))
