"""CompactSVC and CompactSVR: scikit-learn's checks, laws, budgets, and what they reach on known data."""

from __future__ import annotations

import itertools
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import GridSearchCV, train_test_split

import reference
from profiles import HARD, hard, in_turns, scikit_checks
from slimsvm import BudgetError, CompactSVC, CompactSVR
from slimsvm.budget import single_row_latency_us, stored_bytes
from slimsvm.datasets import (
    make_banana,
    make_checkerboard,
    make_ringnorm,
    make_ripley,
    make_two_spirals,
    make_waveform,
)
from slimsvm.methods.compact import fitting, moved
from slimsvm.methods.compact import latency as latency_of
from slimsvm.probability import softmax
from slimsvm.refinement import RbfModel, RoundedHinge
from slimsvm.refinement.minibatch import refine_in_batches
from slimsvm.rounding import rounded


@scikit_checks(
    [
        CompactSVC(),
        CompactSVR(),
        CompactSVC(max_vectors=8, refine=False),
        CompactSVR(kernel="precomputed"),
    ]
)
@pytest.mark.filterwarnings("ignore:CompactSVC predicts one class only")  # for labels that are random
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def banana():
    X, y = make_banana(600, random_state=0)
    return train_test_split(X, y, random_state=0)


@pytest.fixture(scope="module")
def model(banana):
    X, _, y, _ = banana
    return CompactSVC(random_state=0).fit(X, y)


def test_it_needs_nothing_but_data(banana, model):
    _, T, _, t = banana
    assert model.score(T, t) > 0.85
    assert model.n_vectors_ <= 32
    assert not hasattr(model, "support_")
    assert model.path_["n_vectors"].max() >= model.n_vectors_


@pytest.mark.parametrize(("make", "most", "score"), [(make_ripley, 4, 0.89), (make_ringnorm, 3, 0.975)])
def test_few_vectors_suffice(make, most, score):
    T, t = make(2000, random_state=2)
    models = [CompactSVC(random_state=0).fit(*make(400, random_state=seed)) for seed in (1, 3, 4, 5, 6)]
    assert np.median([model.n_vectors_ for model in models]) <= most
    assert np.mean([model.score(T, t) for model in models]) > score


def test_the_chosen_size_is_among_those_tried(model):
    assert model.n_vectors_ in model.path_["n_vectors"]
    for kind in set(model.path_["metric"]):
        sizes = model.path_["n_vectors"][model.path_["metric"] == kind]
        assert (np.diff(sizes) > 0).all()


def test_targets_without_noise_need_few_vectors():
    X = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    y = np.sin(X[:, 0]) * np.cos(X[:, 1])
    model = CompactSVR(random_state=0).fit(X, y)
    assert model.n_vectors_ <= 16
    assert model.score(X, y) > 0.995


@pytest.mark.parametrize("n_rows", [200, 600])
def test_few_or_noisy_rows_keep_what_ridge_regression_found(n_rows, capsys):
    X, y = make_banana(n_rows, random_state=0)
    rng = np.random.default_rng(0)
    if n_rows > 256:
        y = np.where(rng.random(n_rows) < 0.2, -y, y)
    model = CompactSVC(metric="one", verbose=1, random_state=0).fit(X, y)
    found = re.search(r"gamma = (\S+) on scaled columns and C = (\S+)", capsys.readouterr().out)
    assert found is not None
    assert pytest.approx(float(found[2]), rel=1e-2) == model.C_
    # the features are on one scale: one width, in units of their mean variance
    assert isinstance(model.gamma_, float)
    assert pytest.approx(float(found[1]), rel=1e-2) == model.gamma_ * X.var(axis=0).mean()
    assert set(model.path_["metric"]) == {"fixed"}


def test_a_size_that_is_wished_but_too_large_to_try_is_taken(monkeypatch):
    X, y = make_checkerboard(2500, random_state=0)
    monkeypatch.setattr(moved, "BATCH_WORK", 2500 * 2 * 16)
    monkeypatch.setattr(moved, "EPOCHS", 2)
    model = CompactSVC(max_vectors=24, metric="one", random_state=0).fit(X, y)
    assert model.path_["n_vectors"].max() == 16
    assert model.n_vectors_ == 24
    assert model.score(X, y) > 0.85


def test_units_of_the_columns_do_not_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 10))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(700)
    factor = 10.0 ** np.linspace(-3.0, 3.0, 10)
    scores = [
        CompactSVR(random_state=0, max_vectors=24).fit(A[:500], y[:500]).score(A[500:], y[500:])
        for A in (X, X * factor, X + 1000.0, *([X * factor[::-1]] if HARD else []))
    ]
    assert min(scores) > max(0.9, scores[0] - 0.02)  # no units make it worse


def test_the_search_serves_any_score():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 2))
    rare = rng.random(800) < np.where(np.square(X).sum(axis=1) < 0.5, 0.4, 0.02)
    y = np.where(rare, "rare", "common")
    balanced = CompactSVC(scoring="balanced_accuracy", class_weight="balanced", random_state=0).fit(X, y)
    assert balanced_accuracy_score(y, balanced.predict(X)) > 0.75
    for scoring in ("roc_auc", "neg_log_loss") if HARD else ("roc_auc",):
        options = {"class_weight": "balanced", "max_vectors": 4, "random_state": 0}
        model = CompactSVC(scoring=scoring, **options).fit(X, y)
        assert roc_auc_score(y == "rare", model.decision_function(X)) > 0.7
    target = np.sin(X[:, 0])
    assert CompactSVR(scoring="r2", max_vectors=8, random_state=0).fit(X, target).score(X, target) > 0.95
    # in the units of the targets: this one refuses values below zero
    positive = CompactSVR(scoring="neg_mean_squared_log_error", max_vectors=8, random_state=0).fit(
        X, target + 20.0
    )
    assert positive.score(X, target + 20.0) > 0.95
    with pytest.raises(ValueError, match="scoring"):
        CompactSVC(scoring="no_such_score").fit(X, y)


@pytest.mark.parametrize(
    ("number", "metric"), in_turns(["float32", "int16", "int8", "int4"], ["one", "per_feature", "linear"])
)
def test_the_model_holds_the_numbers_that_ship(banana, number, metric):
    X, _, y, _ = banana
    T, t = make_banana(4000, random_state=1)  # so many that chance is less than what is asked for
    options = {"metric": metric, "max_bytes": 400, "random_state": 0}
    model = CompactSVC(number=number, **options).fit(X, y)
    assert stored_bytes(model.expansion_, number) <= 400
    again = rounded(model.expansion_, number).expansion
    assert again(T).tobytes() == model.expansion_(T).tobytes()
    assert model.score(T, t) > (0.85 if number == "int4" else 0.86)
    values = CompactSVR(number=number, **options).fit(X, X[:, 0] * X[:, 1])
    assert values.score(T, T[:, 0] * T[:, 1]) > (0.5 if number == "int4" else 0.9)


def test_a_projection_survives_few_bits(banana):
    # 78 vectors with narrow kernels are best before rounding, and no better than guessing after it
    X, _, y, _ = banana
    T, t = make_banana(4000, random_state=1)
    for seed in range(1, 5 if HARD else 3):
        model = CompactSVC(metric="linear", number="int4", max_bytes=400, random_state=seed).fit(X, y)
        assert model.score(T, t) > 0.84


def test_two_spirals_are_separated_by_sixty_vectors():
    X, y = make_two_spirals(random_state=0)
    model = CompactSVC(max_vectors=60, random_state=0).fit(X, y)
    assert model.n_vectors_ <= 60
    assert model.score(X, y) == 1.0


def test_the_checkerboard():
    X, y = make_checkerboard(1000, random_state=0)
    T, t = make_checkerboard(4000, random_state=1)
    model = CompactSVC(max_vectors=20, random_state=0).fit(X, y)
    assert model.n_vectors_ <= 20
    assert model.score(T, t) > 0.95


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "laplacian"])
def test_other_kernels_select_rows(kernel, banana):
    X, _, y, _ = banana
    model = CompactSVC(kernel=kernel, max_vectors=8, random_state=0).fit(X[:150], y[:150])
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.score(X, y) > 0.5
    targets = X[:150] @ [1.0, -2.0]
    regressor = CompactSVR(kernel=kernel, max_vectors=8, loss="epsilon_insensitive", random_state=0)
    assert np.isfinite(regressor.fit(X[:150], targets).predict(X)).all()


def test_many_classes_share_vectors():
    X, y = load_digits(return_X_y=True)
    X, T, y, t = train_test_split(X, y, random_state=0)
    model = CompactSVC(max_vectors=40, random_state=0).fit(X, np.array(list("abcdefghij"))[y])
    assert (model.predict(T) == np.array(list("abcdefghij"))[t]).mean() > 0.93
    assert model.n_vectors_ <= 40
    assert model.dual_coef_.shape == (10, model.n_vectors_)


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    model = CompactSVR(random_state=0).fit(X, y)
    assert 0.4 < model.score(X, y) < 0.8
    assert model.n_vectors_ < 20
    two = CompactSVR(max_vectors=8, random_state=0).fit(X, np.column_stack([y, -3 * y]))
    assert two.predict(X).shape == (len(X), 2)
    np.testing.assert_allclose(two.predict(X)[:, 1], -3 * two.predict(X)[:, 0], rtol=0.05, atol=30)


def test_the_unit_of_the_inputs_does_not_matter(banana):
    X, T, y, _ = banana
    shifted = CompactSVC(random_state=0).fit(X * [1024.0, 0.25] + [4096.0, 0.5], y)
    wanted = CompactSVC(random_state=0).fit(X, y)
    # the order of the rows depends on their values: the folds differ, the quality does not
    agree = (shifted.predict(T * [1024.0, 0.25] + [4096.0, 0.5]) == wanted.predict(T)).mean()
    assert agree > 0.93


def test_the_scaling_is_in_the_stored_model(banana, model):
    _, T, _, _ = banana
    K = np.exp(-(((T[:, None] - model.support_vectors_) ** 2) * model.gamma_).sum(axis=2))
    wanted = K @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(T), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"refine": False}, {"metric": "per_feature"}, {"metric": "one"}])
def test_the_same_bits_again_for_any_number_of_threads_and_any_order(banana, options):
    X, T, y, _ = banana
    X, y = X[:200], y[:200]
    wanted = CompactSVC(random_state=3, **options).fit(X, y).decision_function(T)
    order = np.random.default_rng(0).permutation(len(y))
    for n_jobs, rows in ((None, slice(None)), (2, slice(None)), (None, order)):
        again = CompactSVC(random_state=3, n_jobs=n_jobs, **options).fit(X[rows], y[rows])
        assert again.decision_function(T).tobytes() == wanted.tobytes()


def test_a_row_twice_is_a_row_of_weight_two(banana):
    X, T, y, _ = banana
    X, y = X[:150], y[:150]
    twice = np.r_[np.arange(150), np.arange(40)]
    weight = np.ones(150)
    weight[:40] = 2.0
    repeated = CompactSVC(random_state=0).fit(X[twice], y[twice]).decision_function(T)
    weighted = CompactSVC(random_state=0).fit(X, y, sample_weight=weight).decision_function(T)
    np.testing.assert_allclose(repeated, weighted, rtol=1e-6, atol=1e-6)


def test_a_row_of_weight_zero_is_absent(banana):
    X, T, y, _ = banana
    weight = np.ones(150)
    weight[::3] = 0.0
    with_zeros = CompactSVC(random_state=0).fit(X[:150], y[:150], sample_weight=weight)
    kept = weight > 0
    without = CompactSVC(random_state=0).fit(X[:150][kept], y[:150][kept])
    assert with_zeros.decision_function(T).tobytes() == without.decision_function(T).tobytes()


def test_one_weight_for_all_rows(banana):
    X, T, y, _ = banana
    for estimator, target in ((CompactSVC(random_state=0), y), (CompactSVR(random_state=0), X[:, 0])):
        wanted = estimator.fit(X[:100], target[:100], sample_weight=np.full(100, 2.0)).predict(T)
        np.testing.assert_array_equal(
            estimator.fit(X[:100], target[:100], sample_weight=2.0).predict(T), wanted
        )


def test_every_kind_of_input(banana, model):
    X, T, y, _ = banana
    wanted = model.decision_function(T)
    table = CompactSVC(random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert table.decision_function(pd.DataFrame(T, columns=["a", "b"])).tobytes() == wanted.tobytes()
    from_csr = CompactSVC(random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(from_csr.decision_function(sparse.csr_array(T)), wanted, rtol=1e-6, atol=1e-6)
    single = CompactSVC(random_state=0).fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    assert single.decision_function(T.astype(np.float32)).dtype == np.float32
    again = pickle.loads(pickle.dumps(model))
    assert again.decision_function(T).tobytes() == wanted.tobytes()


def test_without_refinement_vectors_are_training_rows(banana):
    X, T, y, t = banana
    for fit_to in (X, sparse.csr_array(X)):
        model = CompactSVC(refine=False, random_state=0).fit(fit_to, y)
        stored = model.support_vectors_
        stored = stored.toarray() if sparse.issparse(stored) else stored
        np.testing.assert_array_equal(stored, X[model.support_])
        assert model.score(T, t) > 0.85


def test_precomputed(banana):
    X, T, y, t = banana
    K, K_test = reference.rbf(X, X, 1.0), reference.rbf(T, X, 1.0)
    model = CompactSVC(kernel="precomputed", random_state=0).fit(K, y)
    assert model.score(K_test, t) > 0.85
    assert model.n_vectors_ < 60


def test_probabilities(banana, model):
    _, T, _, t = banana
    P = model.predict_proba(T)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(T))
    assert log_loss(t, P) < 0.5
    X, y = load_iris(return_X_y=True)
    iris = CompactSVC(random_state=0).fit(X, y)
    np.testing.assert_array_equal(iris.predict_proba(X).argmax(axis=1), iris.predict(X))


def test_the_largest_probability_is_that_of_the_predicted_class_even_for_ties():
    tiny = np.array([[1e-300], [-1e-300], [0.0], [1e-18], [50.0], [-1e5]])
    P = softmax(tiny, 0.5)
    np.testing.assert_array_equal(P.argmax(axis=1) == 1, tiny[:, 0] > 0)
    near = np.array([[1.0, 1.0 + 2e-16, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(softmax(near, 1e-3).argmax(axis=1), near.argmax(axis=1))


def test_budgets_are_never_exceeded(banana):
    X, _, y, _ = banana
    X = X.astype(np.float32)
    assert CompactSVC(max_vectors=3, random_state=0).fit(X, y).n_vectors_ <= 3
    for most in (40, 100, 300):
        model = CompactSVC(max_bytes=most, random_state=0).fit(X, y)
        assert stored_bytes(model.expansion_) <= most
    quick = CompactSVC(max_latency_us=1000.0, random_state=0).fit(X, y)
    assert single_row_latency_us(quick.expansion_) <= 1000.0


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "precomputed", linear_kernel])
def test_latency_is_that_of_the_estimators_own_kernel(banana, kernel, monkeypatch):
    X, _, y, _ = banana
    X = X @ X.T if kernel == "precomputed" else X
    measured = []

    def latency(expansion, **options):
        measured.append((expansion, single_row_latency_us(expansion, **options)))
        return float(expansion.n_vectors)

    monkeypatch.setattr(latency_of, "single_row_latency_us", latency)
    options = {"max_vectors": 6, "refine": False, "random_state": 0}
    model = CompactSVC(kernel=kernel, max_latency_us=5.0, **options).fit(X, y)
    assert model.n_vectors_ <= 4  # 0.8 times 5 "microseconds"
    assert {type(expansion.kernel) for expansion, _ in measured} == {type(model.expansion_.kernel)}
    assert all(expansion.coef.shape[1] == 1 and took > 0 for expansion, took in measured)


def test_latency_of_sparse_rows_is_that_of_what_is_kept(banana, monkeypatch):
    X, _, y, _ = banana
    kept = []

    def latency(expansion, *, row):
        kept.append((sparse.issparse(expansion.vectors), sparse.issparse(row)))
        return 1.0

    monkeypatch.setattr(latency_of, "single_row_latency_us", latency)
    for refine in (True, False):
        options = {"max_vectors": 2, "refine": refine, "random_state": 0}
        model = CompactSVC(max_latency_us=5.0, **options).fit(sparse.csr_array(X), y)
        assert kept.pop() == (sparse.issparse(model.support_vectors_), True)


def test_an_impossible_budget_says_the_smallest_possible(banana):
    X, _, y, _ = banana
    X = X.astype(np.float32)
    with pytest.raises(BudgetError, match=r"max_bytes=19 is too small.*takes 20 bytes in float32"):
        CompactSVC(max_bytes=19).fit(X, y)
    with pytest.raises(BudgetError, match=r"max_bytes=23 is too small.*takes 24 bytes in float32"):
        CompactSVC(max_bytes=23, metric="per_feature").fit(X, y)
    with pytest.raises(BudgetError, match=r"max_latency_us=0.001 is too small.*microseconds on this machine"):
        CompactSVC(max_latency_us=0.001).fit(X, y)
    smallest = CompactSVC(max_bytes=20, random_state=0).fit(X, y)
    assert stored_bytes(smallest.expansion_) == 20


def test_bytes_are_spent_on_vectors_where_one_width_is_enough():
    X, y = make_waveform(300, n_classes=3, random_state=0)
    T, t = make_waveform(2000, n_classes=3, random_state=1)
    for metric in ("auto", "one"):
        model = CompactSVC(max_bytes=256, metric=metric, random_state=0).fit(X.astype(np.float32), y)
        assert model.n_vectors_ == 2
        assert stored_bytes(model.expansion_) == 208
        assert model.score(T.astype(np.float32), t) > 0.8


def sine(n, random_state):
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-2, 2, (n, 3))
    return X, np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.standard_normal(n)


GENERATED = [
    pytest.param(CompactSVC, make_waveform, 300, marks=hard),
    pytest.param(CompactSVC, make_banana, 400, marks=hard),
    (CompactSVC, make_ripley, 250),
    pytest.param(CompactSVC, make_checkerboard, 400, marks=hard),
    (CompactSVR, sine, 250),
]


@pytest.mark.parametrize(("estimator", "make", "n"), GENERATED)
def test_a_limit_is_a_limit_and_not_a_wish(estimator, make, n):
    X, y = make(n, random_state=0)
    default = estimator(random_state=0).fit(X, y)
    outputs = default.predict(X).tobytes()

    def reached(model):
        tried = model.path_[model.path_["n_vectors"] == model.n_vectors_]
        return tried[tried["error"].argmin()][["error", "standard_error"]]

    one = estimator(max_vectors=1, metric="one", random_state=0).fit(X, y)
    bytes_of_one = stored_bytes(one.expansion_, "float32")
    for name, limits, size in (
        ("max_vectors", (1, 3, 6, 12, 20, 50), lambda model: model.n_vectors_),
        (
            "max_bytes",
            [int(f * bytes_of_one) for f in (1, 2, 4, 8, 16)],
            lambda m: stored_bytes(m.expansion_, "float32"),
        ),
    ):
        errors = []
        for limit in limits if HARD else limits[::3]:
            model = estimator(**{name: limit}, random_state=0).fit(X, y)
            assert size(model) <= limit
            if size(default) <= limit:
                assert model.predict(X).tobytes() == outputs
            errors.append(reached(model))
        for smaller, larger in itertools.pairwise(errors):
            # sizes are compared by blurred errors, and what is within half a standard error is equal
            assert larger["error"] <= smaller["error"] + 0.5 * smaller["standard_error"]


@pytest.mark.parametrize("when", ["ridge", "plan"])
def test_what_is_kept_after_ctrl_c_is_within_the_limits(monkeypatch, when):
    X, y = make_checkerboard(300, random_state=0)
    X = X * [1.0, 50.0]
    for limits in ({"max_vectors": 2}, {"max_bytes": 40}, {"max_bytes": 48, "metric": "per_feature"}):
        interrupt_when(monkeypatch, when)
        with pytest.warns(ConvergenceWarning, match="was interrupted"):
            model = CompactSVC(on_interrupt="keep", random_state=0, **limits).fit(X, y)
        assert model.n_vectors_ <= 2
        assert stored_bytes(model.expansion_, "float32") <= limits.get("max_bytes", np.inf)


def test_the_fast_path_gives_the_same(banana, model):
    _, T, _, _ = banana
    np.testing.assert_array_equal(model.fast_predict(T), model.predict(T))
    X, y = load_diabetes(return_X_y=True)
    regressor = CompactSVR(max_vectors=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(regressor.fast_predict(X), regressor.predict(X))


def test_given_parameters_are_kept(banana):
    X, _, y, _ = banana
    model = CompactSVC(C=3.0, gamma=0.7, metric="one", scale=False, max_vectors=6, random_state=0).fit(X, y)
    assert model.C_ == pytest.approx(3.0)
    two = CompactSVC(gamma=[0.5, 2.0], metric="one", scale=False, max_vectors=6, random_state=0).fit(X, y)
    assert two.gamma_[1] / two.gamma_[0] == pytest.approx(4.0)
    with pytest.raises(ValueError, match="gamma has 3 entries, but X has 2 features"):
        CompactSVC(gamma=[1.0, 2.0, 3.0]).fit(X, y)


def test_progress_is_told(banana, capsys):
    X, _, y, _ = banana
    CompactSVC(random_state=0, verbose=1, max_vectors=4).fit(X[:100], y[:100])
    told = capsys.readouterr().out
    assert "[CompactSVC] a first guess, by ridge regression: " in told
    assert "chosen:" in told


def interrupt_when(monkeypatch, when):
    """Ctrl-C as soon as the fit has found something with this in its text."""
    told = []

    def say(self, text):
        told.append(when in text)
        if when in text and sum(told) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(fitting.CompactFit, "say", say)


MOMENTS = ["ridge", "plan", "vectors, ", "chosen"]


@pytest.mark.parametrize("estimator", [CompactSVC, CompactSVR])
@pytest.mark.parametrize("when", MOMENTS)
def test_ctrl_c_leaves_the_estimator_as_it_was(banana, monkeypatch, when, estimator):
    X, T, y, _ = banana
    model = estimator(max_vectors=2, random_state=0).fit(X[:60], y[:60])
    before = dict(vars(model))
    interrupt_when(monkeypatch, when)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before
    assert np.isfinite(model.predict(T)).all()


def test_ctrl_c_ends_a_search_over_parameters_at_once(banana, monkeypatch):
    X, _, y, _ = banana
    interrupt_when(monkeypatch, "plan")
    search = GridSearchCV(CompactSVC(random_state=0), {"max_vectors": [1, 2]}, cv=2)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)


@pytest.mark.parametrize("when", MOMENTS)
def test_ctrl_c_keeps_the_best_so_far_where_that_is_wanted(banana, monkeypatch, when):
    X, T, y, t = banana
    interrupt_when(monkeypatch, when)
    model = CompactSVC(on_interrupt="keep", random_state=0)
    if when == "chosen":  # nothing is trained on all rows yet
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        return
    with pytest.warns(ConvergenceWarning, match="was interrupted; the model has"):
        model.fit(X, y)
    assert model.score(T, t) > 0.6
    assert model.n_iter_ >= 1


def test_gross_outliers_do_not_hide_the_rest():
    X, y = make_banana(400, random_state=0)
    X = X.copy()
    X[0] = 1e6
    model = CompactSVC(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85


@pytest.mark.filterwarnings("ignore:CompactSVC predicts one class only")
def test_hopeless_data_give_a_usable_model():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    for data in (X, np.zeros_like(X), np.repeat(X[:6], 10, axis=0), X * 1e150, X * 1e-150):
        model = CompactSVC(random_state=0).fit(data, y)
        assert np.isfinite(model.decision_function(data)).all()
        assert np.isfinite(model.predict_proba(data)).all()
    assert np.isfinite(CompactSVR(random_state=0).fit(X, np.full(60, 7.0)).predict(X)).all()


def rare_class(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.08).astype(int)
    return rng.standard_normal((n, 2)) + np.outer(y, [2.0, 1.5]), y


def test_a_weight_of_ten_is_ten_copies_and_nearly_a_weight_of_9_99():
    X, y = rare_class(400, 0)
    T, _ = rare_class(1000, 1)
    copies = np.repeat(np.arange(400), np.where(y == 1, 10, 1))
    wanted = CompactSVC(random_state=0).fit(X, y, sample_weight=np.where(y == 1, 9.99, 1.0))
    ten = CompactSVC(random_state=0).fit(X, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    repeated = CompactSVC(random_state=0).fit(X[copies], y[copies])
    for model in (ten, repeated):
        assert model.n_vectors_ == wanted.n_vectors_ < 12
        assert (model.predict(T) == wanted.predict(T)).mean() > 0.98


def test_a_model_that_predicts_one_class_only_says_so():
    X, y = rare_class(300, 3)
    y = np.where(np.random.default_rng(0).random(300) < 0.05, 1, 0)  # has nothing to do with X
    with pytest.warns(UserWarning, match="predicts one class only.*balanced") as told:
        CompactSVC(random_state=0).fit(X, y)
    assert [record.filename for record in told] == [__file__]
    X, y = rare_class(300, 3)
    T, t = rare_class(4000, 4)
    model = CompactSVC(class_weight="balanced", random_state=0).fit(X, y)
    assert balanced_accuracy_score(t, model.predict(T)) > 0.85


@pytest.mark.parametrize("estimator", [CompactSVC, CompactSVR])
@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1.0 / 3.0, 7.0, 1e200])
def test_the_unit_of_the_weights_does_not_matter(banana, estimator, factor):
    X, T, y, _ = banana
    X, y, weight = X[:150], y[:150], np.random.default_rng(0).integers(1, 4, 150).astype(float)
    outputs = "decision_function" if estimator is CompactSVC else "predict"
    for C in (None, 2.0):
        wanted = estimator(C=C, random_state=0).fit(X, y, sample_weight=weight)
        found = estimator(C=None if C is None else C / factor, random_state=0)
        found.fit(X, y, sample_weight=factor * weight)
        assert found.n_vectors_ == wanted.n_vectors_
        assert pytest.approx(wanted.C_, rel=1e-6) == found.C_ * factor
        np.testing.assert_allclose(getattr(found, outputs)(T), getattr(wanted, outputs)(T), atol=1e-2)


@pytest.mark.parametrize(
    "kernel", ["rbf", "laplacian", "linear", "poly", "sigmoid", "precomputed", linear_kernel]
)
@pytest.mark.parametrize("max_bytes", [104, 150, 200])
def test_bytes_are_a_limit_for_every_kernel(kernel, max_bytes):
    X = np.random.default_rng(0).standard_normal((60, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0
    X = linear_kernel(X) if kernel == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CompactSVC(max_bytes=max_bytes, max_vectors=20, kernel=kernel, random_state=0).fit(X, y)
    assert stored_bytes(model.expansion_, "float32") <= max_bytes


def test_one_width_is_one_number():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3)) * [1.0, 10.0, 0.01]
    y = np.sin(X[:, 0]) + X[:, 1] > 0
    options = {"max_vectors": 3, "scale": False, "random_state": 0}
    for one in (CompactSVC(metric="one", **options), CompactSVC(refine=False, **options)):
        model = one.fit(X, y)
        assert isinstance(model.gamma_, float)
        assert isinstance(model.expansion_.kernel.gamma, float)
    model = CompactSVC(metric="per_feature", **options).fit(X, y)
    assert model.gamma_.shape == (3,)
    assert len(model.expansion_.kernel.gamma) == 3


@pytest.mark.parametrize("widths", ["fixed", "one"])
def test_batches_leave_the_widths_in_proportion(widths):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    start = RbfModel(X[:2], np.ones((2, 1)), np.zeros(1), np.log([0.1, 0.3, 7.0]))
    Y, weights = np.sign(X[:, :1]), np.full((600, 1), 1 / 600)
    found = refine_in_batches(
        start, X, Y, weights, RoundedHinge(), np.full(1, 1e-3), widths=widths, n_epochs=2, rng=rng
    )
    assert np.ptp(found.log_widths - start.log_widths) < 1e-14
    assert (found.log_widths[0] != start.log_widths[0]) == (widths == "one")


def test_what_is_left_of_a_fit_that_failed_can_be_pickled():
    X, y = make_banana(60, random_state=0)

    def failing(*_, **__):
        raise RuntimeError("no more")

    for parameters in ({"refine": False}, {"refine": False, "max_latency_us": 1e-3}):
        model = CompactSVC(**parameters)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fitting, "choose", failing)
            with pytest.raises((RuntimeError, BudgetError)):
                model.fit(X, y)
        assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
