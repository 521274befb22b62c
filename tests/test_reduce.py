"""`reduce` on every kind of model: the same function, fewer vectors, clear errors."""

import copy
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification, make_regression
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as ProcessRBF
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from profiles import hard
from reference_reduction import algorithm_1, algorithm_2
from slimsvm import LSSVC, LSSVR, FullSVC, KernelExpansion, Reduced, reduce
from slimsvm.budget import stored_bytes
from slimsvm.datasets import make_banana
from slimsvm.errors import BudgetError
from slimsvm.kernels import RBF, Laplacian
from slimsvm.readout import LargestReadout
from slimsvm.reduction import start
from slimsvm.reduction.held_out import folds
from slimsvm.reduction.prune import CRITERIA
from slimsvm.reduction.task import Mistakes

prune = partial(reduce, method="prune")
ALL = 10**6  # more vectors than any model has: nothing is removed


def classes(n, k, seed=0):
    """k overlapping classes with text labels."""
    X, y = make_classification(n, 4, n_informative=4, n_redundant=0, n_classes=k, n_clusters_per_class=1,
                               class_sep=0.7, random_state=seed)  # fmt: skip
    return X, np.array(list("zyxwv"))[y]


X4, Y4 = classes(120, 4)
X2, Y2 = classes(80, 2)
XR, YR = make_regression(70, 3, n_targets=2, noise=1.0, random_state=0)
NEW4 = np.random.default_rng(1).standard_normal((300, 4))
NEW3 = np.random.default_rng(1).standard_normal((300, 3))
gp = GaussianProcessRegressor

SAME = [
    *[(SVC(kernel=kernel, C=2.0), X2, Y2, NEW4) for kernel in ("rbf", "linear", "poly", "sigmoid")],
    *[
        (SVC(C=5.0, decision_function_shape=shape, break_ties=ties, gamma="auto"), X4, Y4, NEW4)
        for shape, ties in (("ovr", False), ("ovr", True), ("ovo", False))
    ],
    (SVC(C=5.0), sparse.csr_matrix(X4), Y4, sparse.csr_matrix(NEW4)),
    (NuSVC(nu=0.4), X4, Y4, NEW4),
    (SVR(C=10.0), XR, YR[:, 0], NEW3),
    (NuSVR(C=10.0, kernel="poly", coef0=1.0), XR, YR[:, 0], NEW3),
    (OneClassSVM(nu=0.3), XR, None, NEW3),
    *[
        (KernelRidge(alpha=0.1, kernel=kernel), np.abs(XR), YR, np.abs(NEW3))
        for kernel in ("rbf", "polynomial", "laplacian", "cosine")
    ],
    (KernelRidge(kernel="chi2", gamma=0.5), np.abs(XR), YR, np.abs(NEW3)),
    (KernelRidge(kernel="poly", degree=2.5, gamma=0.1, coef0=1), np.abs(XR), YR[:, 0], np.abs(NEW3)),
    *[(KernelPCA(3, kernel=kernel, gamma=0.2), XR, None, NEW3) for kernel in ("rbf", "cosine")],
    (KernelPCA(2, kernel="linear"), XR, None, NEW3),
    (gp(1.5 * ProcessRBF(2.0) + WhiteKernel(0.1), optimizer=None), XR, YR, NEW3),
    (gp(ConstantKernel(2.0) * ProcessRBF([1.0, 2.0, 3.0]), normalize_y=True, alpha=0.1, optimizer=None),
     XR, YR[:, 0], NEW3),
    (gp(Matern(), alpha=0.1, optimizer=None), XR, YR[:, 0], NEW3),
    (LSSVC(), X4, Y4, NEW4),
    (LSSVC(kernel="laplacian"), X2, Y2, NEW4),
    (LSSVR(), XR, YR, NEW3),
    (FullSVC(), X4, Y4, NEW4),
    (make_pipeline(StandardScaler(), SVC()), X4, Y4, NEW4),
    (make_pipeline(SVC()), X4, Y4, NEW4),
]  # fmt: skip


def answers(model, X):
    names = ("predict", "decision_function", "transform", "score_samples")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


@pytest.mark.parametrize(
    ("model", "X", "y", "new"), SAME, ids=[f"{i}-{row[0]}" for i, row in enumerate(SAME)]
)
def test_nothing_removed_is_the_same_model(model, X, y, new):
    model = clone(model).fit(X, y)
    before = joblib.hash(model)
    slim = reduce(model, X, y, max_vectors=ALL)
    expected, found = answers(model, new), answers(slim, new)
    assert set(expected) <= set(found)
    for name, values in expected.items():
        if name == "predict" and values.dtype.kind in "OU":
            np.testing.assert_array_equal(found[name], values)
        else:
            scale = np.abs(values).max()
            np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-7 * scale, err_msg=name)
    reduce(model, X, y, max_loss=0.05)
    assert joblib.hash(model) == before
    assert slim.n_features_in_ == new.shape[1]
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(slim.classes_, model.classes_)
    if y is not None and hasattr(model, "score"):
        assert slim.score(X, y) == pytest.approx(model.score(X, y), abs=1e-6)


@pytest.mark.parametrize(
    ("model", "X", "y", "new"), SAME, ids=[f"{i}-{row[0]}" for i, row in enumerate(SAME)]
)
def test_half_the_vectors_without_data(model, X, y, new):
    model = clone(model).fit(X, y)
    n = reduce(model, max_vectors=ALL)
    last = n[-1] if isinstance(n, Pipeline) else n
    size = max(1, last.n_vectors_ // 2)
    slim = reduce(model, max_vectors=size)
    last = slim[-1] if isinstance(slim, Pipeline) else slim
    assert last.n_vectors_ == size == last.expansion_.n_vectors == slim.reduction_.n_after
    for values in answers(slim, new).values():
        assert len(values) == new.shape[0]


def test_both_algorithms_of_the_paper_with_its_lambda():
    X, y = make_banana(120, random_state=0)
    svc = SVC(C=10.0, gamma=0.5).fit(X, y)
    K = rbf_kernel(svc.support_vectors_, gamma=0.5)
    for criterion, algorithm in (("distance", algorithm_1), ("redundancy", algorithm_2)):
        slim = prune(svc, X, y, criterion=criterion, ridge=0.001, max_vectors=12)
        removed, left, coef = algorithm(K, svc.dual_coef_.T, 12, 0.001)
        assert slim.reduction_.removed.tolist() == removed
        np.testing.assert_array_equal(slim.support_vectors_, svc.support_vectors_[left])
        np.testing.assert_allclose(slim.dual_coef_, coef.T, rtol=1e-7)
        whole = Reduced(
            SVC(C=10.0, gamma=0.5), method="prune", criterion=criterion, ridge=0.001, max_vectors=12
        )
        np.testing.assert_array_equal(whole.fit(X, y).predict(X), slim.predict(X))


def test_loss_stops_just_below_the_limit():
    X, y = make_banana(300, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    signs = np.where(y == svc.classes_[1], 1.0, -1.0)

    def hinge(model):
        return np.maximum(0, 1 - signs * model.decision_function(X)).mean()  # eq. (9)

    for criterion in CRITERIA:
        slim = prune(svc, X, y, criterion=criterion)
        report = slim.reduction_
        assert report.values[0] == pytest.approx(hinge(svc))
        assert report.values[-1] == pytest.approx(hinge(slim))
        assert hinge(slim) <= hinge(svc) + 0.025
        assert (
            hinge(prune(svc, X, y, criterion=criterion, max_vectors=slim.n_vectors_ - 1)) > hinge(svc) + 0.025
        )
        assert len(report.removed) + slim.n_vectors_ == report.n_before
        assert (np.diff(report.sizes[:-1]) == -1).all()
    assert "vectors in" in str(report)


def test_large_data_are_checked_now_and_then(monkeypatch):
    X, y = make_banana(300, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    each = prune(svc, X, y)
    monkeypatch.setattr(start, "HELD_BYTES", 0)
    seldom = prune(svc, X, y)
    assert each.n_vectors_ <= seldom.n_vectors_ <= each.n_vectors_ + 2
    assert seldom.reduction_.values[-1] <= seldom.reduction_.values[0] + 0.025


def test_multiclass_votes_with_all_pairs_on_one_set_of_vectors():
    X, y = classes(400, 5, seed=3)
    new = np.random.default_rng(0).standard_normal((2000, 4)) * 1.5
    svc = SVC(C=3.0).fit(X, y)
    whole = reduce(svc, max_vectors=ALL)
    assert whole.expansion_.n_outputs == 10
    np.testing.assert_array_equal(whole.predict(new), svc.predict(new))
    slim = reduce(svc, X, y)
    assert slim.n_vectors_ < 0.8 * len(svc.support_)
    assert slim.score(X, y) > svc.score(X, y) - 0.03


def test_without_data_the_labels_are_those_of_the_vectors():
    X, y = classes(200, 3)
    svc = SVC(C=3.0).fit(X, y)
    own = prune(svc)
    given = prune(svc, svc.support_vectors_, y[svc.support_])
    np.testing.assert_array_equal(own.reduction_.removed, given.reduction_.removed)
    assert own.reduction_.values == pytest.approx(given.reduction_.values)


def test_weights_count_like_repeated_rows():
    X, y = make_banana(150, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    weight = np.arange(150) % 3
    weighted = prune(svc, X, y, sample_weight=weight, max_loss=0.05)
    repeated = prune(svc, np.repeat(X, weight, axis=0), np.repeat(y, weight), max_loss=0.05)
    assert weighted.n_vectors_ == repeated.n_vectors_
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))
    with pytest.raises(ValueError, match="sample_weight"):
        prune(svc, X, y, sample_weight=np.zeros(150))


def test_flipped_labels_flip_the_sign():
    X, y = make_banana(200, random_state=0)
    one, other = (prune(SVC(C=10.0, tol=1e-8).fit(X, s * y), X, s * y) for s in (1, -1))
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-4)


def test_regression_stops_by_explained_variance():
    X, y = make_regression(200, 4, noise=5.0, random_state=0)
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.05).fit(X, y)
    slim = reduce(ridge, X, y, max_loss=0.01)
    assert slim.n_vectors_ < 150
    assert ridge.score(X, y) - 0.01 <= slim.score(X, y)
    scaled = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.05).fit(X, 1e6 * y)
    assert reduce(scaled, X, 1e6 * y, max_loss=0.01).n_vectors_ == slim.n_vectors_


def test_principal_components_and_expansions_keep_their_outputs():
    X = load_iris().data
    pca = KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    slim = reduce(pca, X, max_loss=0.01)
    assert slim.n_vectors_ < 75
    before, after = pca.transform(X), slim.transform(X)
    assert np.mean((before - after) ** 2 / before.var(axis=0)) <= 0.01
    assert slim.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1"]
    expansion = KernelExpansion(RBF(0.1), X, np.random.default_rng(0).standard_normal((150, 3)), np.ones(3))
    smaller = reduce(expansion, max_loss=0.01)
    assert smaller.n_vectors_ < 150
    np.testing.assert_array_equal(smaller.transform(X), smaller.expansion_(X))


def test_score_stops_instead_of_loss():
    X, y = make_banana(400, random_state=0)
    svc = SVC(C=10.0).fit(X[:200], y[:200])
    slim = prune(svc, X[200:], y[200:], scoring="accuracy", max_loss=0.02)
    assert slim.score(X[200:], y[200:]) >= svc.score(X[200:], y[200:]) - 0.02
    assert slim.reduction_.measure == "score"
    assert slim.reduction_.values[-1] == slim.score(X[200:], y[200:])
    assert slim.n_vectors_ < 40
    refined = reduce(svc, X[200:], y[200:], scoring="accuracy", max_loss=0.02, method="refine")
    assert refined.n_vectors_ <= slim.n_vectors_
    assert refined.score(X[200:], y[200:]) >= svc.score(X[200:], y[200:]) - 0.02
    with pytest.raises(ValueError, match="y is needed"):
        prune(svc, X, scoring="accuracy")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_exact_changes_no_output(kernel):
    X, y = make_banana(300, random_state=0)
    X = np.round(X, 1)  # equal rows
    svc = SVC(kernel=kernel, C=1.0).fit(X, y)
    slim = reduce(svc, method="exact")
    assert slim.n_vectors_ < len(svc.support_)
    assert kernel == "rbf" or slim.n_vectors_ == 2
    np.testing.assert_allclose(slim.decision_function(X), svc.decision_function(X), atol=1e-6)


def test_refine_needs_fewer_vectors_than_pruning():
    X, y = make_banana(300, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    pruned, refined = prune(svc, X, y), reduce(svc, X, y, method="refine")
    assert refined.n_vectors_ <= 0.7 * pruned.n_vectors_
    assert refined.reduction_.values[-1] <= refined.reduction_.values[0] + 0.025
    assert refined.score(X, y) > svc.score(X, y) - 0.02
    fixed = reduce(svc, X, y, method="refine", max_vectors=7)
    assert fixed.n_vectors_ == 7
    assert fixed.reduction_.values[-1] < prune(svc, X, y, max_vectors=7).reduction_.values[-1]


def test_refine_returns_what_is_small_enough():
    X, y = make_banana(100, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    slim = reduce(svc, X, y, method="refine", max_vectors=len(svc.support_))
    np.testing.assert_array_equal(slim.support_vectors_, svc.support_vectors_)
    np.testing.assert_array_equal(slim.dual_coef_, svc.dual_coef_)


@pytest.mark.parametrize("model", [SVC(C=3.0), LSSVC(), FullSVC()])
def test_refine_several_classes(model):
    X, y = load_iris(return_X_y=True)
    model = model.fit(X, y)
    slim = reduce(model, X, y, method="refine", max_vectors=6)
    assert slim.n_vectors_ == 6
    assert slim.score(X, y) > 0.95


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_refine_other_kernels(kernel):
    X, y = make_banana(150, random_state=0)
    svc = SVC(kernel=kernel, coef0=1.0, gamma=0.1).fit(sparse.csr_matrix(X), y)
    slim = reduce(svc, sparse.csr_matrix(X), y, method="refine", max_vectors=6)
    assert slim.n_vectors_ == 6
    assert slim.score(X, y) > svc.score(sparse.csr_matrix(X), y) - 0.05


def test_refine_regression_and_components():
    X, y = make_regression(100, 2, noise=1.0, random_state=0)
    ridge = KernelRidge(alpha=0.01, kernel="rbf", gamma=0.1).fit(X, y)
    pruned, refined = (reduce(ridge, X, y, method=m, max_vectors=10) for m in ("prune", "refine"))
    assert refined.reduction_.values[-1] < pruned.reduction_.values[-1]
    pca = KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    pruned, refined = (reduce(pca, X, method=m, max_vectors=5) for m in ("prune", "refine"))
    assert refined.reduction_.values[-1] < pruned.reduction_.values[-1]


def test_refit_lowers_the_loss_at_the_same_vectors():
    X, y = make_banana(300, random_state=0)
    svc = SVC(C=100.0).fit(X, y)
    plain, fitted = (prune(svc, X, y, max_vectors=10, refit=r) for r in (False, True))
    np.testing.assert_array_equal(plain.support_vectors_, fitted.support_vectors_)
    assert fitted.reduction_.values[-1] < plain.reduction_.values[-1]


@pytest.mark.parametrize("kernel", ["laplacian", "precomputed"])
def test_refit_needs_no_derivative(kernel):
    X, y = make_regression(80, 2, noise=1.0, random_state=0)
    K = rbf_kernel(X, gamma=0.5)
    rows = K if kernel == "precomputed" else X
    ridge = KernelRidge(alpha=0.1, kernel=kernel).fit(rows, y)
    plain, fitted = (prune(ridge, rows, max_vectors=15, refit=r) for r in (False, True))
    assert fitted.reduction_.values[-1] < plain.reduction_.values[-1]


def test_our_estimators_stay_themselves():
    X, y = make_banana(150, random_state=0)
    model = LSSVC().fit(X.astype(np.float32), y)
    slim = prune(model, X.astype(np.float32), y)
    assert type(slim) is LSSVC
    assert slim.support_vectors_.dtype == slim.dual_coef_.dtype == np.float32
    np.testing.assert_array_equal(slim.support_vectors_, X.astype(np.float32)[slim.support_])
    assert model.n_vectors_ == 150 > slim.n_vectors_
    moved = reduce(model, X.astype(np.float32), y, method="refine")
    assert not hasattr(moved, "support_")
    again = prune(prune(SVC().fit(X, y), max_vectors=20), X, y, max_vectors=10)
    assert again.n_vectors_ == 10


def test_pipeline_and_feature_names():
    frame = pd.DataFrame(load_iris().data, columns=list("abcd"))
    y = load_iris().target
    pipe = make_pipeline(StandardScaler(), SVC()).fit(frame, y)
    slim = reduce(pipe, frame, y)
    assert isinstance(slim, Pipeline)
    assert slim.feature_names_in_.tolist() == list("abcd")
    assert slim.score(frame, y) > 0.95
    assert slim.reduction_ is slim[-1].reduction_
    assert slim[0] is not pipe[0]
    direct = reduce(SVC().fit(frame, y), frame, y)
    assert direct.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        direct.predict(frame.rename(columns={"a": "other"}))


def test_precomputed_and_callable_kernels_reduce_like_named_ones():
    X, y = make_banana(120, random_state=0)
    new = make_banana(50, random_state=1)[0]
    function = partial(rbf_kernel, gamma=0.5)
    named = prune(SVC(gamma=0.5, C=10.0).fit(X, y), X, y, max_vectors=15)
    called = prune(SVC(kernel=function, C=10.0).fit(X, y), X, y, max_vectors=15)
    computed = prune(
        SVC(kernel="precomputed", C=10.0).fit(function(X, X), y), function(X, X), y, max_vectors=15
    )
    np.testing.assert_allclose(called.decision_function(new), named.decision_function(new), atol=1e-8)
    np.testing.assert_allclose(
        computed.decision_function(function(new, X)), named.decision_function(new), atol=1e-8
    )
    ridge = KernelRidge(kernel="precomputed").fit(function(X, X), y)
    assert prune(ridge, function(X, X), y, max_vectors=15).n_vectors_ == 15


def test_one_vector_and_constants():
    expansion = KernelExpansion(RBF(1.0), [[0.0]], [2.0], 0.5)
    for method in ("prune", "exact", "refine"):
        assert reduce(expansion, method=method).n_vectors_ == 1
    X = np.arange(6.0)[:, None]
    flat = SVR().fit(X, np.ones(6))
    for data in (None, X):
        slim = reduce(flat, data)
        assert slim.n_vectors_ == 0
        np.testing.assert_allclose(slim.predict(X), flat.predict(X))


def test_reduced_models_are_values():
    X, y = make_banana(100, random_state=0)
    slim = reduce(SVC().fit(X, y), X, y)
    for twin in (clone(slim), copy.deepcopy(slim), joblib.hash(slim) and slim):
        np.testing.assert_array_equal(twin.predict(X), slim.predict(X))
    with pytest.raises(TypeError, match="Reduced"):
        slim.fit(X, y)
    np.testing.assert_array_equal(slim.set_params(n_jobs=2).predict(X), clone(slim).predict(X))


def fitted(**options):
    return SVC(**options).fit(X2, Y2)


BAD = [
    (lambda: reduce(SVC()), NotFittedError, "not fitted"),
    (lambda: reduce(make_pipeline(SVC())), NotFittedError, "not fitted"),
    (lambda: reduce(LSSVC()), NotFittedError, "not fitted"),
    (lambda: reduce(LogisticRegression().fit(X2, Y2)), TypeError, "model must be SVC"),
    (lambda: reduce(GridSearchCV(SVC(), {"C": [1.0]}).fit(X2, Y2)), TypeError, "best_estimator_"),
    (lambda: reduce(fitted(), X2[:, :2], Y2), ValueError, "features"),
    (lambda: reduce(KernelExpansion(RBF(1.0), X2, np.ones(80), 0.0), X2[:, :2]), ValueError, "features"),
    (lambda: reduce(fitted(), X2, Y2[:-1]), ValueError, "inconsistent"),
    (lambda: reduce(fitted(), X2, np.full(80, "q")), ValueError, "label 'q'"),
    (lambda: reduce(fitted(), None, Y2), ValueError, "X is needed"),
    (lambda: reduce(fitted(), np.full((80, 4), np.nan), Y2), ValueError, "NaN"),
    (lambda: reduce(SVR().fit(XR, YR[:, 0]), XR, YR), ValueError, "y must have 1 target"),
    (lambda: reduce(fitted(kernel=rbf_kernel)), ValueError, "X is needed.*callable"),
    (lambda: reduce(fitted(kernel=rbf_kernel), X2[:5], Y2[:5]), ValueError, "fitted to 80 rows"),
    (lambda: reduce(SVC(kernel="precomputed").fit(X2 @ X2.T, Y2)), ValueError, "X is needed.*precomputed"),
    (lambda: reduce(SVC(kernel="precomputed").fit(X2 @ X2.T, Y2), (X2 @ X2.T)[:9]), ValueError, "square"),
    (lambda: reduce(fitted(), method="magic"), ValueError, "method"),
    (lambda: reduce(fitted(), criterion="magic"), ValueError, "criterion"),
    (lambda: reduce(fitted(), max_vectors=0), ValueError, "max_vectors"),
    (lambda: reduce(fitted(), max_loss=-0.1), ValueError, "max_loss"),
    (lambda: reduce(fitted(), n_jobs=0), ValueError, "n_jobs"),
    (lambda: reduce(KernelExpansion(Laplacian(1.0), X2, np.ones(80), 0.0), method="refine", max_vectors=5),
     ValueError, "known derivative"),
    (lambda: reduce(fitted(kernel="sigmoid"), method="refine"), ValueError, "positive definite"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=[row[2] for row in BAD])
def test_errors_name_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_too_large_is_pruned_in_parts_first(monkeypatch):
    X, y = make_banana(600, random_state=0)
    svc = SVC(C=1.0).fit(X, y)
    n = len(svc.support_)
    at_once = prune(svc, X, y, max_vectors=30)
    monkeypatch.setattr("slimsvm.reduction.start.DENSE_LIMIT_BYTES", 8 * 60**2)
    assert n > 120
    in_parts = prune(svc, X, y, max_vectors=30)
    assert in_parts.n_vectors_ == 30
    removed = in_parts.reduction_.removed
    np.testing.assert_array_equal(
        in_parts.support_vectors_, svc.support_vectors_[np.setdiff1d(np.arange(n), removed)]
    )
    assert in_parts.reduction_.values[-1] < at_once.reduction_.values[-1] + 0.05
    slim = prune(svc, X, y)
    assert slim.n_vectors_ < 60
    assert slim.reduction_.values[-1] <= svc_hinge(svc, X, y) + 0.025
    with pytest.raises(MemoryError, match="GiB"):
        reduce(svc, method="exact")
    monkeypatch.setattr("slimsvm.reduction.start.DENSE_LIMIT_BYTES", 8 * 4**2)
    with pytest.raises(MemoryError, match="exceeds max_loss"):
        prune(svc, X, y)


def svc_hinge(svc, X, y):
    return np.maximum(0, 1 - np.where(y == svc.classes_[1], 1, -1) * svc.decision_function(X)).mean()


KINDS = [
    (SVC(C=2.0), X2, Y2),
    (SVC(kernel="poly", coef0=1.0), X2, Y2),
    (SVC(kernel="sigmoid", gamma=0.05), X2, Y2),
    (SVR(C=1e7), XR, 1e6 * YR[:, 0]),
    (KernelRidge(alpha=0.1, kernel="rbf"), XR, YR),
    (KernelRidge(alpha=0.1, kernel="laplacian"), XR, YR),
    (OneClassSVM(nu=0.3), XR, None),
    (KernelPCA(2, kernel="rbf", gamma=0.2), XR, None),
    (LSSVR(), XR, YR),
]


@pytest.mark.parametrize(("model", "X", "y"), KINDS, ids=[f"{i}-{row[0]}" for i, row in enumerate(KINDS)])
def test_the_default_is_nearer_than_pruning(model, X, y):
    model = clone(model).fit(X, y)
    y = y if hasattr(model, "classes_") else None  # machines without classes are followed in what they say
    by_default, pruned = reduce(model, X, y, max_vectors=6), prune(model, X, y, max_vectors=6)
    assert by_default.n_vectors_ == pruned.n_vectors_ == 6
    whole = reduce(model, X, y, max_vectors=ALL).expansion_(X)
    assert np.square(by_default.expansion_(X) - whole).mean() < np.square(pruned.expansion_(X) - whole).mean()
    small = reduce(model, X, y)
    assert small.n_vectors_ <= prune(model, X, y).n_vectors_
    assert small.reduction_.values[-1] <= small.reduction_.values[0] + (0.025 if y is None else 0.01)


def test_two_vectors_are_worth_something():
    X, y = make_banana(400, random_state=0)
    svc = SVC(C=10).fit(X, y)
    assert (
        prune(svc, X, y, max_vectors=2).score(X, y) < 0.5 < 0.8 < reduce(svc, X, y, max_vectors=2).score(X, y)
    )
    assert reduce(svc, X, y, refit=False).n_vectors_ == prune(svc, X, y).n_vectors_


def ten_classes():
    """A machine for digits, its rows and labels, and others."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, train_size=900, random_state=20, stratify=y)
    return SVC(C=10.0).fit(X, y), X, X_new, y, y_new


def test_ten_classes():
    svc, X, X_new, y, y_new = ten_classes()
    slim = reduce(svc, X, y)
    assert slim.n_vectors_ <= 20
    assert slim.score(X_new, y_new) > svc.score(X_new, y_new) - 0.0125
    assert slim.decision_function(X[:5]).shape == (5, 10)


@hard
def test_the_best_way_for_ten_classes_is_chosen():
    svc, X, X_new, y, y_new = ten_classes()
    fixed, refined = (reduce(svc, X, y, max_vectors=30, method=method) for method in ("auto", "refine"))
    assert fixed.score(X_new, y_new) >= refined.score(X_new, y_new) - 0.002


def test_few_bytes_and_many_classes_get_an_output_each():
    X, y = load_digits(return_X_y=True)
    X, y, X_new, y_new = X[:600], y[:600], X[600:], y[600:]
    svc = SVC(C=10.0).fit(X, y)
    slim = reduce(svc, X, y, max_bytes=4096)
    assert isinstance(slim.readout_, LargestReadout)
    assert 4096 - 8 * (64 + 10) < stored_bytes(slim.expansion_) <= 4096
    np.testing.assert_array_equal(slim.decision_function(X).argmax(axis=1), slim.predict(X))
    pairs = SVC(C=10.0, decision_function_shape="ovo").fit(X, y)
    votes = reduce(pairs, X, y, max_bytes=4096)
    assert votes.decision_function(X[:5]).shape == (5, 45)
    assert stored_bytes(votes.expansion_) <= 4096
    assert slim.score(X_new, y_new) > votes.score(X_new, y_new)


def test_the_default_follows_the_model_and_not_the_labels():
    X, y = make_banana(300, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    wrong = np.where(np.arange(300) % 3, y, -y)
    given, flipped = (reduce(svc, X, labels, max_vectors=8) for labels in (y, wrong))
    np.testing.assert_array_equal(given.decision_function(X), flipped.decision_function(X))


@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X4, Y4)])
def test_the_order_of_the_rows_hardly_changes_the_loss(X, y):
    svc = SVC(C=2.0, tol=1e-8).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = (reduce(svc, X[rows], y[rows], max_vectors=8) for rows in (np.arange(len(X)), order))
    assert one.reduction_.values[-1] == pytest.approx(other.reduction_.values[-1], abs=0.005)


def test_folds_hold_copies_together():
    X = np.repeat(np.random.default_rng(0).standard_normal((30, 2)), 2, axis=0)
    for kept, held in folds(X):
        assert len(kept) + len(held) == 60
        assert not set(kept // 2) & set(held // 2)
    assert list(folds(np.ones((5, 2)))) == []


def test_blurred_mistakes():
    margins = np.random.default_rng(0).standard_normal((500, 1)) + 1.0
    task = Mistakes(np.ones((500, 1)), np.ones(500))
    assert task.loss(100.0 * margins) == pytest.approx(task.loss(margins))  # units do not matter
    assert 0 < task.loss(margins) - (margins < 0).mean() < 0.05
    assert (np.diff(task.errors(np.sort(margins, axis=0))) < 0).all()
    doubled = Mistakes(np.ones((500, 1)), np.where(np.arange(500) < 250, 2.0, 0.0))
    assert doubled.loss(margins) == pytest.approx(task.take(np.arange(250)).loss(margins[:250]))
    signs = np.where(np.eye(3)[np.arange(500) % 3] > 0, 1.0, -1.0)
    outputs = np.random.default_rng(1).standard_normal((500, 3))
    by_class = Mistakes(signs, np.ones(500), by_class=True)
    wrong = outputs.argmax(axis=1) != np.arange(500) % 3
    np.testing.assert_array_equal(by_class.errors(outputs) > 0.5, wrong)


def test_lowest_score():
    X, y = make_banana(400, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    for method in ("auto", "prune", "refine"):
        loose, tight = (reduce(svc, X, y, min_score=s, method=method) for s in (0.8, 0.89))
        assert loose.score(X, y) >= 0.8
        assert tight.score(X, y) >= 0.89
        assert loose.n_vectors_ <= tight.n_vectors_ < len(svc.support_)
        with pytest.raises(BudgetError, match="more than the model itself"):
            reduce(svc, X, y, min_score=1.0, method=method)
        with pytest.raises(BudgetError, match="max_vectors=1 allows 1"):
            reduce(svc, X, y, min_score=0.89, max_vectors=1, method=method)
    by_name = reduce(svc, X, y, min_score=0.85, scoring="balanced_accuracy")
    assert by_name.reduction_.measure == "score"
    assert by_name.reduction_.values[-1] >= 0.85
    with pytest.raises(ValueError, match="y is needed"):
        reduce(svc, X, min_score=0.8)


@pytest.mark.parametrize("method", ["auto", "prune", "refine"])
def test_limit_of_the_bytes(method):
    X, y = make_banana(400, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    slim = reduce(svc, X, y, max_bytes=200, method=method)
    assert 200 - 24 < stored_bytes(slim.expansion_) <= 200
    with pytest.raises(BudgetError, match="max_bytes=30 is too small"):
        reduce(svc, X, y, max_bytes=30, method=method)


def test_exact_says_when_nothing_could_be_removed():
    svc = SVC().fit(X2, Y2)
    nothing = reduce(svc, method="exact").reduction_
    assert nothing.n_after == nothing.n_before
    assert "nothing removed" in str(nothing)
    assert "nothing removed" not in str(prune(svc).reduction_)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # scikit-learn 1.9 deprecates probability
@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X4, Y4)])
@pytest.mark.parametrize("method", ["auto", "prune"])
def test_probabilities_stay(X, y, method):
    svc = SVC(probability=True, random_state=0, C=5.0).fit(X, y)
    slim = reduce(svc, X, y, method=method)
    found = slim.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(slim.classes_[found.argmax(axis=1)], slim.predict(X))
    assert np.abs(found - svc.predict_proba(X)).mean() < 0.12
    assert not hasattr(reduce(SVC().fit(X, y), X, y, method=method), "predict_proba")
    wrapped = Reduced(SVC(probability=True, random_state=0, C=5.0), method=method).fit(X, y)
    np.testing.assert_array_equal(wrapped.predict_proba(X), found)


def test_without_data_the_default_follows_the_function():
    X, y = make_banana(400, random_state=0)
    svc = SVC(C=10.0).fit(X, y)
    slim, pruned = reduce(svc, max_vectors=12), prune(svc, max_vectors=12)
    norm = svc_distance(svc, slim)
    assert norm < svc_distance(svc, pruned)
    assert slim.gamma_ == svc._gamma


def svc_distance(svc, slim):
    """Distance of the two functions in the feature space."""
    f, g = reduce(svc, max_vectors=ALL).expansion_, slim.expansion_
    both = KernelExpansion(f.kernel, np.vstack([f.vectors, g.vectors]), np.vstack([f.coef, -g.coef]), 0.0)
    return both.rkhs_norm()[0]


def test_few_vectors_of_many_features_are_held_back():
    # five features of two hundred matter; four vectors have more numbers than there are rows
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 200))
    y = X[:, :5] @ rng.standard_normal(5) + 0.3 * rng.standard_normal(2500) > 0
    svc = SVC(C=10.0).fit(X[:500], y[:500])
    small = reduce(svc, X[:500], y[:500])
    assert small.n_vectors_ < 20
    assert small.score(X[500:], y[500:]) > svc.score(X[500:], y[500:]) - 0.04


def test_kernel_values_that_are_all_but_one_can_be_reduced():
    """The normal equations are then all rounding."""
    X = 1e8 + np.random.default_rng(0).standard_normal((6, 9))
    X[:, 0] = 1.0
    model = FullSVC(gamma=1e-16).fit(X, [0, 1, 0, 1, 0, 1])
    half = reduce(model, X, [0, 1, 0, 1, 0, 1], max_vectors=3)
    assert half.n_vectors_ <= 3
    assert np.isfinite(half.decision_function(X)).all()
