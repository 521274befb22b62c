"""Laws of the two-stage machines (Xia, Li and Irwin)."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from profiles import scikit_checks
from slimsvm import LSSVC, TwoStageLSSVC, TwoStageLSSVR
from slimsvm.datasets import make_banana, make_checkerboard, make_two_spirals
from slimsvm.kernels import RBF
from slimsvm.methods.two_stage.selection import TwoStage, press

KERNELS = ["rbf", "linear", "poly", "sigmoid", "laplacian"]


def loss(D, Y, P):
    """J of eq. (26) by a direct solve."""
    P = list(P)
    return float(((Y - D[:, P] @ np.linalg.lstsq(D[:, P], Y, rcond=None)[0]) ** 2).sum())


def problem(n=40, p=30, k=1, seed=0, gamma=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.sign(rng.normal(size=(n, k)))
    return RBF(gamma)(X, X[:p]) + 1.0, Y


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
def test_forward_is_orthogonal_least_squares_by_exhaustion(k, gamma):
    D, Y = problem(k=k, gamma=gamma)
    selection = TwoStage(np.ascontiguousarray(D.T), Y)
    for step in range(15):
        before = list(selection.chosen)
        losses = {i: loss(D, Y, [*before, i]) for i in set(range(30)) - set(before)}
        assert selection.forward_step()
        assert losses[selection.chosen[-1]] == pytest.approx(min(losses.values()), rel=1e-7)
        assert selection.loss == pytest.approx(min(losses.values()), rel=1e-7)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_second_stage_ends_where_no_exchange_helps(k, seed):
    D, Y = problem(k=k, seed=seed)
    selection = TwoStage(np.ascontiguousarray(D.T), Y)
    for _ in range(8):
        selection.forward_step()
    losses = [selection.loss]
    while selection.refine_round():
        losses.append(selection.loss)
    losses.append(selection.loss)
    assert (np.diff(losses) <= 1e-12).all()
    P = selection.chosen
    assert len(set(P)) == 8
    assert selection.loss == pytest.approx(loss(D, Y, P), rel=1e-9)
    for place in range(8):
        for other in set(range(30)) - set(P):
            exchanged = [*P[:place], other, *P[place + 1 :]]
            assert loss(D, Y, exchanged) >= selection.loss * (1 - 1e-7)


def test_second_stage_helps_somewhere():
    improved = 0
    for seed in range(4):
        D, Y = problem(seed=seed)
        selection = TwoStage(np.ascontiguousarray(D.T), Y)
        for _ in range(8):
            selection.forward_step()
        before = selection.loss
        selection.refine_round()
        improved += selection.loss < 0.99 * before
    assert improved >= 2


def test_bookkeeping_stays_exact_over_many_steps_and_exchanges():
    D, Y = problem(n=200, p=150, seed=1, gamma=2.0)
    selection = TwoStage(np.ascontiguousarray(D.T), Y)
    for _ in range(70):
        assert selection.forward_step()
    assert selection.refine_round() > 0
    P = selection.chosen
    Q, _ = np.linalg.qr(D[:, P])
    left = D - Q @ (Q.T @ D)
    np.testing.assert_allclose(selection._norms, (left**2).sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(selection.residual, Y - Q @ (Q.T @ Y), atol=1e-9)
    np.testing.assert_allclose(selection.leverage, (Q**2).sum(axis=1), atol=1e-9)


def test_press_equals_leaving_each_row_out():
    D, Y = problem(n=25, p=6)
    P = [0, 2, 5]
    hat = D[:, P] @ np.linalg.pinv(D[:, P])
    explicit = 0.0
    for i in range(25):
        others = np.arange(25) != i
        beta = np.linalg.lstsq(D[others][:, P], Y[others], rcond=None)[0]
        explicit += float(((Y[i] - D[i, P] @ beta) ** 2).sum())
    assert press(Y - hat @ Y, np.diag(hat)) == pytest.approx(explicit, rel=1e-9)


def test_machine_is_the_least_squares_fit_with_the_intercept_of_the_paper():
    X, y = make_banana(200, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, 200)
    model = TwoStageLSSVC(n_vectors=15, gamma=1.0).fit(X, y, weight)
    assert model.intercept_[0] == pytest.approx(model.dual_coef_.sum(), rel=1e-10)
    D = RBF(1.0)(X, model.support_vectors_) + 1.0
    residual = np.where(y == model.classes_[1], 1.0, -1.0) - model.decision_function(X)
    assert np.abs((weight * residual) @ D).max() < 1e-7
    assert model.loss_ == pytest.approx(weight @ residual**2, rel=1e-8)
    assert model.loss_ <= model.forward_loss_[-1]
    assert (np.diff(model.forward_loss_) < 0).all()


def test_spirals_and_checkerboard_of_the_paper():
    X, y = make_two_spirals()
    assert TwoStageLSSVC(n_vectors=72, gamma=0.5).fit(X, y).score(X, y) == 1.0
    X, y = make_checkerboard(1000, random_state=0)
    X_test, y_test = make_checkerboard(4000, random_state=1)
    side = np.ptp(X, axis=0).max()
    sparse_score = (
        TwoStageLSSVC(n_vectors=100, gamma=1 / (2 * (0.06 * side) ** 2)).fit(X, y).score(X_test, y_test)
    )
    gammas = 1 / (2 * (np.array([0.03, 0.06, 0.12]) * side) ** 2)
    full = max(LSSVC(C=C, gamma=g).fit(X, y).score(X_test, y_test) for g in gammas for C in (1.0, 100.0))
    assert sparse_score >= full - 0.01


def test_size_is_chosen():
    t = np.linspace(0, 6, 150)
    y = np.sin(t) + np.random.default_rng(0).normal(0, 0.2, 150)
    loo = TwoStageLSSVR(gamma=1.0).fit(t[:, None], y)
    assert loo.n_vectors_ == np.argmin(loo.press_) + 1 < 20
    folds = TwoStageLSSVR(choose_by="cv", gamma=1.0, n_folds=5, random_state=0).fit(t[:, None], y)
    assert folds.n_vectors_ == np.argmax(folds.cv_scores_) + 1 < 20
    X, c = make_banana(200, random_state=0)
    assert TwoStageLSSVC(choose_by="cv", n_folds=4, random_state=0).fit(X, c).n_vectors_ < 150


def test_candidates_and_limits():
    X, y = make_banana(150, random_state=0)
    model = TwoStageLSSVC(n_vectors=10, n_candidates=20, random_state=0).fit(X, y)
    other = TwoStageLSSVC(n_vectors=20, n_candidates=20, random_state=0, refine=False).fit(X, y)
    assert set(model.support_) <= set(other.support_)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        TwoStageLSSVC(n_vectors=20, max_iter=1).fit(X, y)


def test_fewer_vectors_than_asked_for_are_explained():
    X, y = make_two_spirals()
    with pytest.warns(
        ConvergenceWarning, match=r"of n_vectors=192.*combinations of theirs; lower n_vectors"
    ) as told:
        model = TwoStageLSSVC(n_vectors=192, gamma=0.5).fit(X, y)  # the paper's size and width
    assert 170 < model.n_vectors_ < 192
    assert str(told[0].message).startswith(f"TwoStageLSSVC: {model.n_vectors_} vectors instead")
    D = RBF(0.5)(X, X) + 1.0  # indeed
    assert np.linalg.matrix_rank(D, tol=1e-10 * len(D)) < 192
    assert TwoStageLSSVC(n_vectors=150, gamma=0.5).fit(X, y).n_vectors_ == 150
    with pytest.warns(ConvergenceWarning, match=r"20 vectors instead of n_vectors=30.*a larger n_candidates"):
        assert TwoStageLSSVC(n_vectors=30, n_candidates=20, random_state=0).fit(X, y).n_vectors_ == 20
    with pytest.warns(
        ConvergenceWarning, match=r"194 vectors instead of n_vectors=10000.*no more candidates"
    ):
        assert TwoStageLSSVC(n_vectors=10_000, gamma=50.0).fit(X, y).n_vectors_ == 194
    with pytest.warns(
        ConvergenceWarning, match=r"2 vectors instead of n_vectors=5.*fit the targets to rounding"
    ):
        assert TwoStageLSSVR(n_vectors=5, kernel="linear").fit(X[:, :1], 3.0 * X[:, 0]).n_vectors_ == 2


def test_row_order_duplicates_and_label_flip():
    X, y = make_banana(120, random_state=3)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 120)
    order = rng.permutation(np.repeat(np.arange(120), weight))
    model = TwoStageLSSVC(n_vectors=12, gamma=1.0)
    weighed = model.fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(weighed, model.fit(X[order], y[order]).decision_function(X), atol=1e-7)
    np.testing.assert_allclose(weighed, -model.fit(X, -y, weight).decision_function(X), atol=1e-7)


def test_input_kinds_agree():
    X, y = make_banana(100, random_state=0)
    reference = TwoStageLSSVC(n_vectors=10, gamma=0.7).fit(X, y).decision_function(X)
    K = RBF(0.7)(X, X)
    for other in (
        TwoStageLSSVC(n_vectors=10, gamma=0.7).fit(sparse.csr_array(X), y).decision_function(X),
        TwoStageLSSVC(n_vectors=10, gamma=0.7, n_jobs=2).fit(X, y).decision_function(X),
        TwoStageLSSVC(n_vectors=10, kernel="precomputed").fit(K, y).decision_function(K),
    ):
        np.testing.assert_allclose(other, reference, atol=1e-7)
    assert TwoStageLSSVC(n_vectors=10).fit(X.astype(np.float32), y).dual_coef_.dtype == np.float32


def test_obvious_models_and_clear_errors():
    X = np.arange(10.0)[:, None]
    constant = TwoStageLSSVR().fit(X, np.full(10, 3.0))
    assert constant.n_vectors_ == 0
    np.testing.assert_allclose(constant.predict(X), 3.0)
    with pytest.warns(ConvergenceWarning, match="0 vectors instead of n_vectors=3"):
        np.testing.assert_allclose(TwoStageLSSVR(n_vectors=3).fit(X[:1], [5.0]).predict(X), 5.0)
    np.testing.assert_allclose(TwoStageLSSVR(choose_by="cv").fit(X[:1], [5.0]).predict(X), 5.0)
    for bad in ({"n_vectors": 0}, {"n_candidates": 0}, {"n_folds": 1}, {"max_iter": 0}, {"n_vectors": "x"}):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter"):
            TwoStageLSSVR(**bad).fit(X, X[:, 0])


@scikit_checks(
    [TwoStageLSSVC(kernel=kernel) for kernel in KERNELS]
    + [TwoStageLSSVR(kernel=kernel) for kernel in KERNELS]
    + [TwoStageLSSVC(n_vectors=3, n_candidates=15), TwoStageLSSVR(choose_by="cv", n_folds=3)]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_vectors", [100, 128])
def test_vectors_at_the_limit_of_double_precision_do_not_warn(n_vectors):
    X, y = make_banana(400, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TwoStageLSSVC(n_vectors=n_vectors, max_iter=3).fit(X, y)
    assert model.loss_ <= model.forward_loss_[-1]


def test_iterations_are_exchanges_or_steps():
    X, y = make_banana(100, random_state=0)
    one = TwoStageLSSVC(n_vectors=5, refine=False).fit(X, y)
    assert one.n_iter_ == len(one.forward_loss_) == 5
    assert TwoStageLSSVC(n_vectors=5, max_iter=1).fit(X, y).n_iter_ == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_of_kernel_values_is_not_taken_for_columns(dtype):
    """In float32 a matrix of rank two has full rank: coefficients of 1e7 gave 66 % where 97 % are right."""
    X, y = make_banana(150, random_state=0)
    K = (X @ X.T).astype(dtype)
    with pytest.warns(UserWarning, match="3 vectors"):
        model = TwoStageLSSVC(kernel="precomputed", n_vectors=100).fit(K, y)
    assert model.n_vectors_ == 3
    assert np.abs(model.dual_coef_).max() < 10
    assert model.score(K, y) == TwoStageLSSVC(kernel="precomputed", n_vectors=3).fit(K, y).score(K, y)
