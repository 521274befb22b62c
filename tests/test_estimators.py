"""Every estimator passes scikit-learn's checks with every kernel and obeys the laws of contracts.py."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import reference
from contracts import ClassifierContract, EstimatorContract, narrow_rbf
from profiles import scikit_checks
from reference import relative_error
from slimsvm import LSSVC, LSSVR, EmpiricalFeatureMap, EmpiricalSVC, FullSVC
from slimsvm.datasets import make_banana
from slimsvm.kernels import RBF
from slimsvm.losses import Hinge, SquaredHinge
from slimsvm.problem import KernelGram, Problem

KERNELS = {
    **{name: name for name in ("rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed")},
    "Kernel": RBF(0.5),
    "function": narrow_rbf,
}


def checked_estimators():
    """Estimators by a name that does not change from run to run."""
    for label, kernel in KERNELS.items():
        yield f"LSSVC {label}", LSSVC(kernel=kernel)
        yield f"LSSVR {label}", LSSVR(kernel=kernel)
        for loss in ("hinge", "squared_hinge"):
            yield f"FullSVC {loss} {label}", FullSVC(loss=loss, kernel=kernel)
            yield f"EmpiricalSVC {loss} {label}", EmpiricalSVC(loss=loss, kernel=kernel)
        yield f"EmpiricalFeatureMap {label}", EmpiricalFeatureMap(kernel=kernel)
    yield "EmpiricalFeatureMap orthonormal", EmpiricalFeatureMap(orthonormal=True)
    yield "EmpiricalSVC orthogonal", EmpiricalSVC(kernel="linear", vectors="orthogonal")
    for solver in ("active_set", "interior_point", "smo", "cd"):
        yield f"EmpiricalSVC {solver}", EmpiricalSVC(solver=solver)
    for selection in ("pivoted_cholesky", "random_cholesky"):
        yield f"EmpiricalSVC {selection}", EmpiricalSVC(selection=selection)
    for kind in (LSSVC, LSSVR):
        for label in ("rbf", "linear", "sigmoid", "precomputed"):
            yield f"{kind.__name__} cg {label}", kind(kernel=KERNELS[label], solver="cg")
        for label in ("rbf", "linear", "laplacian"):
            yield f"{kind.__name__} smo {label}", kind(kernel=KERNELS[label], solver="smo")


def may_stop_early(estimator, check) -> bool:
    """Where a ConvergenceWarning is the right answer to what scikit-learn asks for."""
    name = getattr(check, "func", check).__name__
    # sets max_iter to 1000 and weights classes by 1000 against 0.0001
    short = name == "check_class_weight_classifiers" and getattr(estimator, "solver", "") == "smo"
    # cubes of rows 100 from the origin: kernel values near 1e12, where libsvm's rounding ends its progress
    steep = isinstance(estimator, FullSVC | EmpiricalSVC) and estimator.kernel in ("poly", "precomputed")
    # coordinate descent crawls where the features are of very different size, and says so
    crawls = isinstance(estimator, EmpiricalSVC) and estimator.solver == "cd"
    return short or steep or crawls


@scikit_checks(dict(checked_estimators()))
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        if may_stop_early(estimator, check):
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# The laws


class TestLSSVC(ClassifierContract):
    def make(self, **parameters):
        return LSSVC(**{"C": 3.0, "coef0": 1.0, **parameters})


class TestLSSVCByConjugateGradients(ClassifierContract):
    accuracy = 1e-6

    def make(self, **parameters):
        return LSSVC(
            **{"C": 3.0, "coef0": 1.0, "solver": "cg", "random_state": 0, "tol": 1e-10, **parameters}
        )


class TestLSSVR(EstimatorContract):
    def make(self, **parameters):
        return LSSVR(**{"C": 3.0, "coef0": 1.0, **parameters})

    def test_targets_side_by_side(self):
        X, y, weight, T = self.data()
        Y = np.column_stack([y, np.cos(X[:, 2]), -y])
        model = self.make().fit(X, Y, sample_weight=weight)
        outputs = model.predict(T)
        assert outputs.shape == (len(T), 3)
        assert model.dual_coef_.shape == (3, model.n_vectors_)
        for column in range(3):
            alone = self.make().fit(X, Y[:, column], sample_weight=weight)
            self.close(alone.predict(T), outputs[:, column])
        one = self.make().fit(X, y[:, None], sample_weight=weight)
        assert one.predict(T).shape == (len(T), 1)

    def test_shifted_and_scaled_targets(self):
        X, y, weight, T = self.data()
        model = self.make().fit(X, y, sample_weight=weight)
        other = self.make().fit(X, 100 * y + 7, sample_weight=weight)
        self.close(other.predict(T), 100 * model.predict(T) + 7)


class TestFullSVC(ClassifierContract):
    accuracy = 2e-4  # libsvm keeps kernel values in float32

    def make(self, **parameters):
        return FullSVC(**{"C": 3.0, "coef0": 1.0, "kkt_tol": 1e-7, **parameters})

    # not the sigmoid: its problem is not convex, and the point found depends on the order of the rows
    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_it_is_the_ordinary_machine(self, kernel, make):
        X, y, weight, T = self.data(150)
        # where the sigmoid kernel is far from definite there is no one optimum, and the order of rows decides
        shape = {"gamma": 0.05, "coef0": 0.0} if kernel == "sigmoid" else {"gamma": 0.2, "coef0": 1.0}
        ours = self.make(kernel=kernel, **shape).fit(make(X), y, sample_weight=weight)
        theirs = SVC(C=3.0, kernel=kernel, tol=1e-7, **shape).fit(make(X), y, sample_weight=weight)
        self.close(ours.decision_function(T), theirs.decision_function(T))
        assert abs(ours.n_vectors_ - len(theirs.support_)) <= 2

    def test_default_gamma_is_that_of_scikit_learn(self):
        X, y, _, T = self.data(150)
        wanted = SVC(C=3.0, tol=1e-7).fit(X, y).decision_function(T)
        self.close(self.make().fit(X, y).decision_function(T), wanted)

    def test_text_and_many_classes(self):
        X, y = load_digits(return_X_y=True)
        model = FullSVC(C=5.0, gamma="scale").fit(X[:600], y[:600])
        assert model.score(X[600:], y[600:]) > 0.93
        assert model.support_vectors_.shape == (model.n_vectors_, 64)


class TestFullSVCSquaredHinge(ClassifierContract):
    accuracy = 2e-4

    def make(self, **parameters):
        return FullSVC(**{"C": 3.0, "coef0": 1.0, "loss": "squared_hinge", "kkt_tol": 1e-7, **parameters})


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_the_fitted_machine_is_optimal(loss, kernel):
    X, y = make_banana(200, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, 200)
    model = FullSVC(C=2.0, loss=loss, kernel=kernel, gamma=0.5, kkt_tol=1e-8).fit(X, y, sample_weight=weight)
    alpha = np.zeros((200, 1))
    alpha[model.support_] = model.dual_coef_.T
    gram = KernelGram(model.expansion_.kernel, X)
    measure = Hinge() if loss == "hinge" else SquaredHinge()
    problem = Problem(gram, np.where(y > 0, 1.0, -1.0)[:, None], measure, 2.0 * weight)
    assert problem.optimality(alpha, model.intercept_)[0] < 1e-6


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_equal_rows_of_both_classes(loss, kernel):
    """Vectors contain no duplicates, also where one point has two labels."""
    X, y = make_banana(60, random_state=0)
    X, y = np.vstack([X, X[:10]]), np.r_[y, -y[:10]]
    model = FullSVC(C=2.0, loss=loss, kernel=kernel, kkt_tol=1e-8).fit(X, y)
    assert len(np.unique(model.support_vectors_, axis=0)) == model.n_vectors_
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_huge_c_on_noisy_labels_ends_within_the_budget(loss):
    X, y = make_banana(150, noise=1.0, random_state=0)
    start = time.monotonic()
    model = FullSVC(C=1e12, loss=loss).fit(X, y)
    assert time.monotonic() - start < 30
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_too_few_iterations_warn(loss):
    X, y = make_banana(200, random_state=0)
    message = rf"FullSVC: the solver stopped at its limit.*raise max_iter.*iterations, loss {loss}, C 1\.0\)"
    with pytest.warns(ConvergenceWarning, match=message):
        FullSVC(loss=loss, max_iter=3).fit(X, y)


@pytest.mark.parametrize("kind", [LSSVC, LSSVR])
def test_smo_says_that_it_needs_a_positive_definite_kernel(kind):
    X, y = make_banana(50, random_state=0)
    with pytest.raises(ValueError, match="solver='smo' needs a positive definite kernel"):
        kind(kernel="sigmoid", gamma=1.0, coef0=-1.0, C=100.0, solver="smo").fit(X, y)


def test_least_squares_machines_against_their_definition():
    X, y = make_banana(80, random_state=0)
    X[60:] = X[:20]  # equal rows, some of them with the other label
    T = make_banana(30, random_state=1)[0]
    weight = np.random.default_rng(0).uniform(0.5, 2, 80)
    alpha, b = reference.least_squares_machine(reference.rbf(X, X, 0.8), y[:, None], 4.0 * weight)
    wanted = (reference.rbf(T, X, 0.8) @ alpha + b)[:, 0]
    for kind in (LSSVC, LSSVR):
        model = kind(C=4.0, gamma=0.8).fit(X, y, sample_weight=weight)
        outputs = model.decision_function(T) if is_classifier(model) else model.predict(T)
        assert relative_error(outputs, wanted) < 1e-9
        assert model.n_vectors_ == 60


@pytest.mark.parametrize("kind", [LSSVC, LSSVR, FullSVC])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid"])
def test_gamma_counts_rows_by_their_weight(kind, kernel):
    X, y = make_banana(40, random_state=0)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    counts[:2] = 1
    wanted = SVC().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))._gamma
    model = kind(kernel=kernel).fit(X, y, sample_weight=counts)
    assert model.gamma_ == pytest.approx(wanted, rel=1e-12)
    assert kind(kernel=kernel, gamma="auto").fit(X, y).gamma_ == 0.5


# With the rest of scikit-learn


@pytest.mark.parametrize("estimator", [LSSVC(), FullSVC()])
def test_search_and_pipelines(estimator):
    X, y = make_blobs(90, centers=3, random_state=0)
    labels = np.array(["a", "b", "c"])[y]
    name = type(estimator).__name__.lower()
    grid = {f"{name}__C": [0.1, 10.0], f"{name}__kernel": ["rbf", "linear"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), estimator), grid, cv=3).fit(X, labels)
    assert search.best_score_ > 0.8
    precomputed = GridSearchCV(type(estimator)(kernel="precomputed"), {"C": [0.1, 10.0]}, cv=3).fit(
        reference.rbf(X, X, 0.1), labels
    )
    assert precomputed.best_score_ > 0.8


@pytest.mark.parametrize("kind", [LSSVC, LSSVR, FullSVC])
def test_weights_are_routed(kind):
    X, y = make_banana(90, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, 90)
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = cross_validate(model, X, y, cv=3, params={"sample_weight": weight}, return_estimator=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, kind().set_fit_request(sample_weight=True))
        pipeline.fit(X, y, sample_weight=weight)
    direct = kind().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline[-1].dual_coef_, direct.dual_coef_)
    assert np.isfinite(routed["test_score"]).all()


@pytest.mark.parametrize("kind", [LSSVC, LSSVR, FullSVC])
def test_they_print_what_was_changed(kind):
    assert repr(kind(C=2.0, kernel="linear")) == f"{kind.__name__}(C=2.0, kernel='linear')"
