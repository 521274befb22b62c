"""Laws of the pruned and the fixed-size least-squares machines."""

import numpy as np
import pytest
from scipy import sparse

from profiles import scikit_checks
from slimsvm import LSSVC, LSSVR, FixedSizeLSSVC, FixedSizeLSSVR, PrunedLSSVC
from slimsvm.datasets import make_banana
from slimsvm.kernels import RBF
from slimsvm.methods.fixed_size.entropy import select_by_entropy
from slimsvm.problem import KernelGram

KERNELS = ["rbf", "linear", "poly", "sigmoid", "laplacian"]


def entropy(K, P):
    return -np.log(K[np.ix_(P, P)].mean())


def test_entropy_rises_above_random_sets_and_no_single_offer_was_wrongly_refused():
    X, _ = make_banana(200, random_state=0)
    gram = KernelGram(RBF(2.0), X)
    K = np.asarray(gram.dense)
    chosen = select_by_entropy(gram, 20, np.random.default_rng(0))
    assert len(np.unique(chosen)) == 20
    rng = np.random.default_rng(1)
    others = [entropy(K, rng.choice(200, 20, replace=False)) for _ in range(200)]
    assert entropy(K, chosen) > max(others)


def test_entropy_bookkeeping_is_the_rule_step_by_step():
    X, _ = make_banana(60, random_state=1)
    gram = KernelGram(RBF(1.0), X)
    K = np.asarray(gram.dense)
    order = np.random.default_rng(3).permutation(60)
    P = list(order[:8])
    for j in order[8:]:
        values = [entropy(K, [*P[:i], j, *P[i + 1 :]]) for i in range(8)]
        if max(values) > entropy(K, P) + 1e-12:
            P[int(np.argmax(values))] = j
    assert (select_by_entropy(gram, 8, np.random.default_rng(3)) == np.sort(P)).all()


def test_fixed_size_is_optimal_on_its_vectors():
    X, y = make_banana(200, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    C = 3.0
    model = FixedSizeLSSVC(n_vectors=15, C=C, gamma=1.0, random_state=0).fit(X, y, weight)
    residual = np.where(y == model.classes_[1], 1.0, -1.0) - model.decision_function(X)
    V = model.support_vectors_
    gradient = RBF(1.0)(V, V) @ model.dual_coef_[0] - C * RBF(1.0)(V, X) @ (weight * residual)
    assert np.abs(gradient).max() < 1e-7
    assert abs(weight @ residual) < 1e-7


@pytest.mark.parametrize("n_vectors", [90, 10_000])
def test_all_rows_give_the_full_machine(n_vectors):
    X, y = make_banana(90, random_state=0)
    full = LSSVC(C=2.0, gamma=5.0).fit(X, y).decision_function(X)
    pruned = PrunedLSSVC(n_vectors=n_vectors, C=2.0, gamma=5.0).fit(X, y).decision_function(X)
    np.testing.assert_allclose(pruned, full, atol=1e-9)
    fixed = FixedSizeLSSVR(n_vectors=n_vectors, C=2.0, gamma=5.0).fit(X, X[:, 0]).predict(X)
    np.testing.assert_allclose(fixed, LSSVR(C=2.0, gamma=5.0).fit(X, X[:, 0]).predict(X), atol=1e-6)


def test_pruning_follows_the_support_values():
    X, y = make_banana(100, random_state=0)
    once = PrunedLSSVC(n_vectors=95, C=2.0, gamma=1.0).fit(X, y)
    full = LSSVC(C=2.0, gamma=1.0).fit(X, y)
    smallest = full.support_[np.argsort(np.abs(full.dual_coef_[0]))[:5]]
    assert set(once.support_) == set(range(100)) - set(smallest)
    left = np.sort(once.support_)
    again = LSSVC(C=2.0, gamma=1.0).fit(X[left], y[left])
    np.testing.assert_allclose(once.decision_function(X), again.decision_function(X), atol=1e-9)
    assert PrunedLSSVC(n_vectors=30).fit(X, y).n_vectors_ == 30
    assert (
        PrunedLSSVC(n_vectors=30, share=0.5).fit(X, y).n_iter_
        < PrunedLSSVC(n_vectors=30, share=0.05).fit(X, y).n_iter_
    )


@pytest.mark.parametrize(
    "model", [PrunedLSSVC(n_vectors=40, gamma=1.0), FixedSizeLSSVC(n_vectors=20, gamma=1.0, random_state=0)]
)
def test_row_order_duplicates_and_label_flip(model):
    X, y = make_banana(120, random_state=3)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 120)
    order = rng.permutation(np.repeat(np.arange(120), weight))
    weighed = model.fit(X, y, weight).decision_function(X)
    for other in (
        model.fit(X[order], y[order]).decision_function(X),
        -model.fit(X, -y, weight).decision_function(X),
    ):
        np.testing.assert_allclose(weighed, other, atol=1e-8)
    assert model.fit(X.astype(np.float32), y).dual_coef_.dtype == np.float32


def test_pruning_agrees_on_kinds_of_input():
    X, y = make_banana(80, random_state=0)
    K = RBF(1.0)(X, X)
    reference = PrunedLSSVC(n_vectors=30, gamma=1.0).fit(X, y).decision_function(X)
    for other in (
        PrunedLSSVC(n_vectors=30, gamma=1.0).fit(sparse.csr_array(X), y).decision_function(X),
        PrunedLSSVC(n_vectors=30, kernel="precomputed").fit(K, y).decision_function(K),
    ):
        np.testing.assert_allclose(other, reference, atol=1e-8)


def test_obvious_models_and_clear_errors():
    X = np.arange(10.0)[:, None]
    np.testing.assert_allclose(FixedSizeLSSVR(n_vectors=3).fit(X, np.full(10, 3.0)).predict(X), 3.0)
    np.testing.assert_allclose(FixedSizeLSSVR().fit(X[:1], [5.0]).predict(X), 5.0)
    for bad in ({"n_vectors": 0}, {"C": -1.0}):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter"):
            FixedSizeLSSVR(**bad).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="The 'share' parameter"):
        PrunedLSSVC(share=1.0).fit(X, X[:, 0] > 3)


@scikit_checks(
    [kind(kernel=kernel) for kind in (PrunedLSSVC, FixedSizeLSSVC) for kernel in KERNELS]
    + [FixedSizeLSSVR(kernel=kernel) for kernel in KERNELS]
    + [PrunedLSSVC(n_vectors=20), FixedSizeLSSVC(n_vectors=20)]
)
def test_estimator_checks(estimator, check):
    check(estimator)
