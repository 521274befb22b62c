"""The laws that every public estimator obeys, whatever its method."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

import everyone
import reference
from everyone import NAMES, answers, close, data, fit, has, known, make, same_bits, size, takes
from slimsvm import KernelExpansion, reduce

# Two ways to write one problem may lead an iterative solver to answers that differ by this share.
ACCURACY = 2e-4

every_estimator = pytest.mark.parametrize("name", NAMES)
every_task = pytest.mark.parametrize("n_classes", [2, 3])
weighted = pytest.mark.parametrize("name", [name for name in NAMES if takes(name, "sample_weight")])
with_vectors = pytest.mark.parametrize("name", [name for name in NAMES if name != "ZeroNormSelector"])
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:CompactSVC predicts one class only"),
]


@every_estimator
@every_task
def test_the_order_of_the_rows_changes_nothing(name, n_classes):
    X, y, weight, T = data(name, n_classes=n_classes)
    order = np.random.default_rng(1).permutation(len(X))
    options = convex(name)
    wanted = answers(fit(name, X, y, weight, **options) if options else known(name, n_classes), T)
    found = answers(fit(name, X[order], None if y is None else y[order], weight[order], **options), T)
    if name.startswith("Reduced"):  # libsvm itself looks at the rows in their order
        close(found, wanted, 0.05)
    else:
        same_bits(found, wanted)


def convex(name):
    """Options under which a reduction has one answer: moving vectors turns a last digit of the model into another one.

    scikit-learn's machines differ in their last digits between CSR and dense rows, and by `tol` between a row of weight
    two and two rows.
    """
    return {"method": "prune"} if name.startswith("Reduced") else {}


@weighted
def test_a_row_of_weight_two_is_a_row_twice(name):
    X, y, weight, T = data(name)
    options = width(name) | convex(name)
    twice = np.r_[np.arange(len(X)), np.arange(20)]
    heavier = weight.copy()
    heavier[:20] *= 2
    repeated = fit(name, X[twice], None if y is None else y[twice], weight[twice], **options)
    weighed = fit(name, X, y, heavier, **options)
    close(answers(repeated, T), answers(weighed, T), 0.05 if name.startswith("Reduced") else ACCURACY)
    vectors = getattr(repeated, "support_vectors_", X)
    assert len(np.unique(vectors, axis=0)) == len(vectors)


@weighted
def test_a_row_of_weight_zero_is_absent(name):
    X, y, weight, T = data(name)
    X[50:] += 100.0  # would be noticed
    weight[50:] = 0.0
    found = answers(fit(name, X, y, weight, **width(name)), T)
    wanted = answers(fit(name, X[:50], None if y is None else y[:50], weight[:50], **width(name)), T)
    if name.startswith("Reduced"):
        close(found, wanted, ACCURACY)
    else:
        same_bits(found, wanted)


def width(name):
    """A width given as a number, for machines of scikit-learn that compute theirs from rows of weight zero too."""
    return {"estimator__gamma": 0.3} if name.startswith("Reduced") else {}


@pytest.mark.parametrize("name", [name for name in NAMES if is_classifier(make(name))])
@every_task
def test_the_names_of_the_classes_do_not_matter(name, n_classes):
    X, y, weight, T = data(name, n_classes=n_classes)
    names = np.array(["ant", "bee", "cat"], dtype=object)
    model, named = known(name, n_classes), fit(name, X, names[y], weight)
    wanted, found = answers(model, T), answers(named, T)
    np.testing.assert_array_equal(found.pop("predict"), names[wanted.pop("predict")])
    same_bits(found, wanted)


@every_estimator
@every_task
def test_a_row_alone_is_answered_as_among_others(name, n_classes):
    model, T = known(name, n_classes), data(name)[3]
    whole = answers(model, T)
    for rows in ([0], [3, 1], list(range(12)), list(range(22, -1, -1))):
        wanted = {method: answer[rows] for method, answer in whole.items()}
        close(answers(model, T[rows]), wanted, 1e-12, size(model, T))


@every_estimator
def test_a_clone_fitted_again_gives_the_same_bits(name):
    X, y, weight, T = data(name)
    model = known(name)
    fresh = clone(model)
    assert not [attribute for attribute in vars(fresh) if attribute.endswith("_")]
    options = {"sample_weight": weight} if takes(name, "sample_weight") else {}
    same_bits(answers(fresh.fit(X, y, **options), T), answers(model, T))


@every_estimator
def test_fitting_again_forgets_the_first_fit(name):
    X, y, weight, T = data(name)
    again = fit(name, *data(name, n=40, seed=3)[:2])
    options = {"sample_weight": weight} if takes(name, "sample_weight") else {}
    again.fit(X, y, **options)
    model = known(name)
    same_bits(answers(again, T), answers(model, T))
    assert vars(again).keys() == vars(model).keys()


@every_estimator
@every_task
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_a_pickle_gives_the_same_bits_and_cannot_be_written_to(name, n_classes, as_given):
    X, y, weight, T = data(name, n_classes=n_classes)
    model = known(name, n_classes) if as_given is np.asarray else fit(name, as_given(X), y, weight)
    again = pickle.loads(pickle.dumps(model))
    same_bits(answers(again, as_given(T)), answers(model, as_given(T)))
    if hasattr(again, "expansion_"):
        f = again.expansion_
        parts = (f.vectors.data, f.vectors.indices) if sparse.issparse(f.vectors) else (f.vectors,)
        for array in (*parts, f.coef, f.intercept):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@with_vectors
def test_float32_stays(name):
    X, y, weight, T = data(name)
    single = fit(name, X.astype(np.float32), y, weight)
    # libsvm keeps its models in float64
    wanted = np.float64 if name.startswith("Reduced") else np.float32
    assert single.expansion_.coef.dtype == single.expansion_.vectors.dtype == wanted
    if hasattr(single, "decision_function"):
        assert single.decision_function(T.astype(np.float32)).dtype == wanted


@every_estimator
def test_csr_equals_dense(name):
    X, y, weight, T = data(name)
    X[np.abs(X) < 0.3] = 0.0
    dense = fit(name, X, y, weight, **convex(name))
    model = fit(name, sparse.csr_array(X), y, weight, **convex(name))
    wanted = answers(dense, T)
    for rows in (T, sparse.csr_array(T)):
        close(answers(model, rows), wanted, 1e-3)


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "n_jobs")])
@every_task
def test_n_jobs_changes_no_bit(name, n_classes):
    X, y, weight, T = data(name, n=150, n_classes=n_classes)
    same_bits(answers(fit(name, X, y, weight, n_jobs=2), T), answers(fit(name, X, y, weight), T))


@every_estimator
def test_the_names_of_the_features_are_remembered_and_checked(name):
    X, y, weight, T = data(name)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fit(name, table, y, weight)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    method = next(method for method in everyone.ANSWERS if hasattr(model, method))
    with pytest.raises(ValueError, match="feature names"):
        getattr(model, method)(pd.DataFrame(T, columns=["a", "c", "b"]))
    plain = known(name)
    for answer, wanted in zip(
        answers(model, pd.DataFrame(T, columns=["a", "b", "c"])).values(),
        answers(plain, T).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(np.asarray(answer), np.asarray(wanted))


OTHER_VALUES = {
    "kernel": "linear", "gamma": 17.0, "C": 0.123, "n_vectors": 2, "max_vectors": 2, "class_weight": {0: 9.0, 1: 1.0},
    "coef0": 3.0, "degree": 5, "tol": 0.5, "epsilon": 2.0, "orthonormal": True, "scale": False, "bandwidth": 9.0,
    "method": "em", "loss": "squared_hinge", "variant": "linear", "max_loss": 5.0, "n_jobs": 2,
}  # fmt: skip


@every_estimator
def test_set_params_after_fit_changes_no_answer(name):
    X, y, weight, T = data(name)
    model = fit(name, X, y, weight)
    before = answers(model, T)
    own = make(name).get_params(deep=False)
    model.set_params(**{key: value for key, value in OTHER_VALUES.items() if key in own})
    same_bits(answers(model, T), before)


def too_late(*_, **__):
    raise KeyboardInterrupt


@every_estimator
@pytest.mark.parametrize("fitted_before", [False, True])
def test_a_fit_that_fails_or_is_interrupted_leaves_the_estimator_as_it_was(name, fitted_before, monkeypatch):
    X, y, weight, T = data(name)
    model = fit(name, X, y, weight) if fitted_before else make(name)
    before = dict(vars(model))
    wrong = np.ones((4, 5))
    wrong[2, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(wrong, None if y is None else y[:4])
    assert vars(model).keys() == before.keys()
    with monkeypatch.context() as patch:
        for place in ("slimsvm.problem.KernelGram.dense", "slimsvm.expansion.KernelExpansion.__post_init__"):
            patch.setattr(place, property(too_late) if place.endswith("dense") else too_late)
        patch.setattr("slimsvm.methods.zero_norm.selector.reweighted", too_late)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data(name, n=30, seed=5, n_classes=3)[:2])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())
    again = pickle.loads(pickle.dumps(model))
    if fitted_before:
        same_bits(answers(again, T), answers(known(name), T))
    options = {"sample_weight": weight} if takes(name, "sample_weight") else {}
    same_bits(answers(again.fit(X, y, **options), T), answers(known(name), T))


CANNOT_BE_REDUCED = {
    "SparseKernelDensity": "its weights must stay a density",
    "ZeroNormSelector": "has no vectors",
}


@every_estimator
@every_task
def test_reducing_to_the_same_size_changes_no_bit(name, n_classes):
    X, y, _, T = data(name, n_classes=n_classes)
    model = known(name, n_classes)
    if name in CANNOT_BE_REDUCED:
        with pytest.raises(TypeError, match=CANNOT_BE_REDUCED[name]):
            reduce(model, X, y)
        return
    same = reduce(model, max_vectors=model.n_vectors_, method="prune", refit=False)
    found, wanted = answers(same, T), answers(model, T)
    wanted.pop("deviation", None)  # belongs to the machine that was trained
    same_bits(found, wanted)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CANNOT_BE_REDUCED])
@every_task
def test_with_half_of_the_vectors_every_method_is_right_or_absent(name, n_classes):
    X, y, _, T = data(name, n_classes=n_classes)
    model = known(name, n_classes)
    half = reduce(model, X, y, max_vectors=max(1, model.n_vectors_ // 2))
    f = half.expansion_
    assert isinstance(f, KernelExpansion)
    assert f.n_vectors == half.n_vectors_ <= max(1, model.n_vectors_ // 2)
    # nothing of the larger machine is left but what still is true
    kept = {"n_features_in_", "n_iter_", "readout_", "expansion_", "support_", "reduction_"}
    left = {attribute for attribute in vars(half) if attribute.endswith("_")}
    assert left <= kept | {"estimator_", "classes_", "offset_"}
    if hasattr(half, "support_"):
        np.testing.assert_array_equal(half.support_vectors_, X[half.support_])
    outputs = f(T)
    for method, answer in answers(half, T).items():
        if method == "decision_function" and outputs.shape[1] == 1:
            np.testing.assert_array_equal(answer, outputs[:, 0])
        elif method == "predict_proba":
            np.testing.assert_array_equal(half.classes_[answer.argmax(axis=1)], half.predict(T))
        elif method in ("predict", "transform") and hasattr(half, "readout_"):
            np.testing.assert_array_equal(answer, half.readout_.answer(outputs))
    if hasattr(model, "covariance_"):
        with pytest.raises(ValueError, match="return_std=True needs the posterior"):
            half.predict(T, return_std=True)
    assert not hasattr(half, "expansion_at")


@every_estimator
def test_verbose_says_what_was_found(name, capsys):
    X, y, weight, T = data(name)
    fit(name, *data(name, n=30)[:2])
    assert capsys.readouterr().out == ""
    loud = answers(fit(name, X, y, weight, verbose=1), T)
    assert f"[{name.split()[0]}] " in capsys.readouterr().out
    same_bits(loud, answers(known(name), T))


FAR = {
    "offset": lambda T: T + 1e8,
    "sentinel": lambda T: np.where(np.arange(T.shape[1]) == 1, -9999.0, T),
    "outlier": lambda T: np.where(np.arange(T.shape[1]) == 2, 1e30, T),
    "huge": lambda T: T * 1e30,
}


@with_vectors
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_alone_is_answered_as_among_others_however_far_it_is(name, dtype):
    """Trained on rows with sentinels and an outlier, asked about rows near and far, in batches of every size."""
    X, y, weight, T = data(name)
    X[::4, 1] = -9999.0
    X[5] = 1e20
    given = {"gamma": 0.5} if has(name, "gamma") else {}
    given |= {"estimator__gamma": 0.5} if name.startswith("Reduced") else {}
    model = fit(name, X.astype(dtype), y, weight, **given)
    T = np.vstack([T, X[:12], *(move(T[:6]) for move in FAR.values())]).astype(dtype)
    f = model.expansion_
    terms = replace(f, coef=np.abs(f.coef), intercept=np.abs(f.intercept))
    size = terms(T).astype(np.float64) + np.finfo(dtype).tiny
    exact = reference.exact_outputs(f, T)
    rounding = 1e-4 if f.coef.dtype == np.float32 else 1e-10
    batch = f(T)
    assert np.isfinite(batch).all()
    for outputs in (batch, np.vstack([f(row[None]) for row in T]), np.vstack([f(T[:9]), f(T[9:])])):
        assert (np.abs(outputs - exact) <= rounding * size).all()
