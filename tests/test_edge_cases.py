"""Data at the edge: every estimator ends in a sound model or in one clear error, whatever scikit-learn's SVC does.

What SVC of scikit-learn 1.9 does with the same data is said beside each case.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import everyone
from everyone import NAMES, WRAPPED, answers, close, data, fit, has, make, same_bits, size, takes
from profiles import hard
from slimsvm import CompactSVC, EmpiricalFeatureMap, SparseProbitClassifier, ZeroNormSelector
from slimsvm.kernels import RBF, Polynomial, resolve_gamma
from slimsvm.methods.compact.scaling import centre_of, widths_for
from slimsvm.readout import LargestReadout, Probability, SignReadout
from slimsvm.threads import n_threads
from slimsvm.training import TrainingSet

# A row alone and among others differ by the rounding of sums of the model's terms, in float64.
ROUNDING = 1e-10

every_estimator = pytest.mark.parametrize("name", NAMES)
classifiers = [name for name in NAMES if is_classifier(make(name)) or name == "ZeroNormSelector"]
regressors = [name for name in NAMES if is_regressor(make(name))]
with_width = pytest.mark.parametrize("name", [name for name in NAMES if has(name, "gamma")])
with_penalty = pytest.mark.parametrize("name", [name for name in NAMES if has(name, "C")])
weighted = pytest.mark.parametrize("name", [name for name in NAMES if takes(name, "sample_weight")])
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning"
)  # that a fit is unfinished, or knows one class only


def sound(name, X, y, weight=None, T=None, **parameters):
    """A fitted model whose answers are finite, and the same for a row alone; without equal vectors."""
    model = fit(name, X, y, weight, **parameters)
    T = X if T is None else T
    whole = answers(model, T)
    for method, answer in whole.items():
        known = np.asarray(answer)
        assert known.dtype.kind != "f" or np.isfinite(known).all(), method
    first = {method: answer[:1] for method, answer in whole.items()}
    close(answers(model, T[:1]), first, ROUNDING, size(model, T))
    if hasattr(model, "expansion_"):
        vectors = model.expansion_.vectors
        assert len(np.unique(np.asarray(vectors), axis=0)) == model.n_vectors_
    return model


@contextmanager
def or_said(*reasons):
    """A ValueError within must give one of these reasons."""
    try:
        yield
    except ValueError as error:
        if not any(reason in str(error) for reason in reasons):
            raise


def score(name, X, y, **parameters):
    """The score on the training rows, or None where there is none."""
    model = sound(name, X, y, **parameters)
    return model.score(X, y) if is_classifier(model) or is_regressor(model) else None


@every_estimator
def test_equal_rows_with_conflicting_targets(name):
    """SVC: every row is a vector."""
    X, y, _, T = data(name, n=30)
    opposite = None if y is None else (y.max() - y)
    model = sound(name, np.vstack([X, X]), None if y is None else np.concatenate([y, opposite]), T=T)
    assert getattr(model, "n_vectors_", 0) <= 30


@every_estimator
def test_rows_that_are_all_equal(name):
    """SVC: fits, with gamma=1."""
    X, y, _, _ = data(name)
    for constant in (0.0, 0.1):
        with or_said("two different rows", "keeps no row"):
            model = sound(name, np.full_like(X, constant), y)
            assert getattr(model, "n_vectors_", 0) <= 1


def test_a_selector_on_rows_that_are_all_equal_keeps_one_feature():
    X, y = np.ones((20, 3)), np.arange(20) % 2
    for kernel in ("rbf", "poly", "linear"):
        with pytest.warns(UserWarning, match="ZeroNormSelector: no feature is worth its cost"):
            model = ZeroNormSelector(kernel=kernel).fit(X, y)
        assert model.get_support().tolist() == [True, False, False]


TOO_LARGE = ("so large", "not finite", "are too large", "large values", "too large for")


@every_estimator
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_so_large_that_squares_overflow(name, form):
    """SVC: "dual coefficients or intercepts are not finite"."""
    X, y, _, _ = data(name)
    one = X.copy()
    one[3, 1] = 1e200
    # NumPy's warnings of overflow within scikit-learn's own machines are theirs
    told = "ignore" if name in WRAPPED else "warn"
    with np.errstate(over=told, invalid=told):
        for rows in (X * 1e200, one):
            with or_said(*TOO_LARGE):
                found = answers(fit(name, form(rows), y), rows[:2])
                assert not any(np.isnan(np.asarray(answer, dtype=float)).any() for answer in found.values())


@with_width
@pytest.mark.parametrize("factor", [1e-200, 1e-310])
def test_rows_so_small_that_squares_vanish(name, factor):
    """SVC: predicts the majority and says nothing."""
    X, y, _, _ = data(name)
    assert SVC().fit(X * factor, (X[:, 0] > 0.3)).predict(X * factor).sum() == 0
    if name.startswith("Compact"):  # scale the rows themselves
        pytest.skip("chooses its own widths")
    with pytest.raises(ValueError, match="near to each other that gamma='scale' overflows; divide X by its"):
        fit(name, X * factor, y, **({"kernel": "rbf"} if has(name, "kernel") else {}))


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "kernel")])
def test_rows_whose_products_vanish_are_refused(name):
    """SVC: predicts the majority and says nothing."""
    X, y, _, _ = data(name, n=20)
    with pytest.raises(ValueError, match=r"so small .* that their products vanish; divide X by its scale"):
        fit(name, X * 1e-160, y, kernel="linear")


@pytest.mark.parametrize("far", [1e20, np.finfo(np.float64).min])
def test_one_far_row_costs_a_density_no_digits(far):
    X = np.random.default_rng(0).standard_normal((40, 2))
    wanted = fit("SparseKernelDensity", X, None).score_samples(X)
    model = fit("SparseKernelDensity", np.vstack([X, [[far, 0.0]]]), None)
    found = model.score_samples(X)
    assert np.abs(found - wanted).max() < 0.5
    assert model.score_samples(X[:1])[0] == pytest.approx(found[0], abs=1e-12)


@every_estimator
def test_an_offset_changes_little(name):
    """SVC: takes distances from norms and products, and loses digits; so does what is reduced of it."""
    X, y, _, _ = data(name)
    if name in WRAPPED:
        pytest.skip("libsvm loses digits")
    near, far = score(name, X, y), score(name, X + 1e8, y)
    assert near is None or far > near - 0.1


@with_width
@pytest.mark.parametrize("gamma", [1e-12, 1e12])
def test_a_kernel_matrix_of_ones_or_the_identity(name, gamma):
    """SVC: every row is a vector."""
    X, y, _, T = data(name)
    sound(name, X, y, gamma=gamma)
    sound(name, X, y, gamma=gamma, T=T)


@with_penalty
def test_a_penalty_that_is_everything(name):
    """SVC: predicts the majority."""
    X, y, _, _ = data(name)
    sound(name, X, y, C=1e-12)


@with_penalty
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_penalty_that_is_nothing_on_noisy_labels_ends(name, kernel):
    """SVC: does not end within 12 seconds on 300 rows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.integers(0, 2, 50)
    y = y + 0.0 if name in regressors else (None if data(name)[1] is None else y)
    sound(name, X, y, C=1e12, **({"kernel": kernel} if has(name, "kernel") else {}))


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "kernel")])
def test_the_linear_kernel_on_columns_of_any_size_ends(name):
    """SVC: does not end within 12 seconds on 300 rows of 5."""
    X, y, _, _ = data(name)
    sound(name, X * np.array([1.0, 1e3, 1e6]), y, kernel="linear")


@pytest.mark.parametrize("name", classifiers)
def test_one_class_is_no_problem_to_solve(name):
    """SVC: ValueError, "got 1 class"."""
    X, y, weight, _ = data(name)
    with pytest.raises(ValueError, match=r"one class|got 1 class"):
        fit(name, X, np.ones(len(X)))
    with pytest.raises(ValueError, match=r"one class|got 1 class|Invalid input - all samples"):
        fit(name, X, y, np.where(y == 1, weight, 0.0))


@every_estimator
@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (5, 40), (30, 1)])
def test_few_rows_and_one_feature(name, shape):
    """SVC: fits."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = np.arange(shape[0]) % 2
    y = y + 0.5 if name in regressors else (None if data(name)[1] is None else y)
    few = {"n_vectors": 2} if has(name, "n_vectors") else {}
    with or_said("rows", "n_samples", "holds out no row"):
        sound(name, X, y, T=np.vstack([X, X + 0.1]), **few)


@every_estimator
def test_two_rows_at_one_point(name):
    """SVC: fits."""
    X = np.ones((2, 3))
    y = np.array([0, 1])
    y = y + 0.5 if name in regressors else (None if data(name)[1] is None else y)
    few = {"n_vectors": 1} if has(name, "n_vectors") else {}
    with or_said("rows", "n_samples", "holds out no row"):
        sound(name, X, y, **few)


@every_estimator
@pytest.mark.parametrize(("bad", "form"), [(np.nan, np.asarray), (-np.inf, sparse.csr_array)])
def test_entries_that_are_no_numbers(name, bad, form):
    """SVC: ValueError."""
    X, y, _, _ = data(name, n=20)
    model = fit(name, X, y)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
        fit(name, form(X), y)
    for method in everyone.ANSWERS:
        if hasattr(model, method):
            with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
                getattr(model, method)(form(X))


@weighted
def test_weights_that_are_none(name):
    """SVC: takes negative weights for absent rows."""
    X, y, weight, _ = data(name)
    weight[3] = -1.0
    if name not in WRAPPED:
        with pytest.raises(ValueError, match=r"sample_weight|Negative values"):
            fit(name, X, y, weight)
    for factor in (5e-324, 1e308):
        if name not in WRAPPED:
            with pytest.raises(ValueError, match=r"sample_weight is too (small|large) to be added up"):
                fit(name, X, y, np.full(len(X), factor))


# These divide the weights by their mean.
ANY_WEIGHT = ("CompactSVC", "CompactSVR", *WRAPPED)


@pytest.mark.parametrize("name", [n for n in NAMES if takes(n, "sample_weight") and n not in ANY_WEIGHT])
def test_weights_whose_squares_overflow_are_refused(name):
    """SVC: fits, and predicts one class."""
    X, y, weight, _ = data(name, n=20)
    for factor, how in ((1e-200, "small"), (1e200, "large")):
        with pytest.raises(
            ValueError, match=rf"sample_weight is too {how} to be added up .* multiply C by that"
        ):
            fit(name, X, y, weight * factor)
    if has(name, "class_weight"):
        for heavy in (1e200, 1e308):
            with pytest.raises(ValueError, match=r"sample_weight is too large .* class weights included"):
                fit(name, X, y, weight * 2, class_weight={0: heavy, 1: heavy})


@with_penalty
def test_a_penalty_beyond_what_can_be_trained_with_is_refused(name):
    X, y, weight, _ = data(name, n=20)
    if name in WRAPPED:
        pytest.skip("libsvm takes any")
    for C, how in ((1e-105, "small"), (1e40, "large")):
        with pytest.raises(
            ValueError, match=rf"C is too {how} to be trained with: times the largest sample_weigh"
        ):
            fit(name, X, y, C=C)
    if takes(name, "sample_weight"):
        with pytest.raises(ValueError, match=r"C is too large .* got C=1e\+12"):
            fit(name, X, y, weight * 1e25, C=1e12)


@weighted
def test_weights_of_any_size_side_by_side_end(name):
    """SVC: fits."""
    X, y, _, T = data(name, n=30)
    if name in WRAPPED:
        pytest.skip("libsvm's own weights")
    with or_said("C is too large to be trained with"):
        sound(name, X, y, 10.0 ** np.random.default_rng(0).uniform(-28, 28, len(X)), T=T)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "smo"])
@pytest.mark.parametrize("name", ["LSSVC", "LSSVR", "PrunedLSSVC"])
def test_a_matrix_that_is_singular_to_the_last_bit_is_solved(name, solver):
    """Kernel values so large that what C adds to them is lost."""
    X, y, _, _ = data(name)
    K = np.full((len(X), len(X)), 2.0**60)
    options = {"solver": solver} if has(name, "solver") else {}
    sound(name, K, y, kernel="precomputed", C=1e3, **options)


def test_a_compact_machine_refuses_rows_out_of_range_whether_it_scales_them_or_not():
    X, y, _, _ = data("CompactSVR", n=20)
    X[::2] = np.finfo(np.float64).min
    for scale in (True, False):
        with pytest.raises(
            ValueError, match=r"so large .* that the width of the kernel is out of the range of numbers"
        ):
            fit("CompactSVR", X, y, scale=scale)
    with pytest.raises(
        ValueError, match=r"so near to each other that the width of the kernel is out of the range"
    ):
        widths_for(np.array([12.0, 0.0]), np.array([1e-152, 1.0]))
    np.testing.assert_array_equal(centre_of(np.full((3, 1), -1e308), np.full(3, 1e9)), [-1e308])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_one_far_row_leaves_a_projection_sound(form):
    X, y, _, T = data("CompactSVC", n=40)
    X[0, 1] = 1e100
    sound("CompactSVC", form(X), y, T=T, metric="linear", scale=False)


@pytest.mark.parametrize("name", [n for n in NAMES if has(n, "kernel") and n not in WRAPPED])
def test_a_matrix_of_kernel_values_out_of_range_is_refused(name):
    """Also where the values cancel in their sum."""
    _, y, _, _ = data(name, n=20)
    K = np.outer(np.arange(20) - 9.5, np.arange(20) - 9.5) * 1e300
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(
            ValueError, match=r"kernel values of X are too large \(above 1e\+100\)|'precomputed'"
        ):
            fit(name, form(K), y, kernel="precomputed")


@pytest.mark.parametrize("factor", [1e-40, 1e40])
def test_targets_out_of_the_range_of_the_numbers_that_ship_are_refused(factor):
    X, y, _, _ = data("CompactSVR")
    for number in ("float32", "int8"):
        with pytest.raises(ValueError, match=r"y is too (small|large) to be trained on in float32"):
            fit("CompactSVR", X, y * factor, number=number)
    assert fit("CompactSVR", X, y * factor, number="float64").score(X, y * factor) > 0.5


@pytest.mark.parametrize("bandwidth", ["cv", "full"])
def test_a_density_of_rows_so_near_that_no_bandwidth_is_a_number_is_refused(bandwidth):
    X = np.random.default_rng(0).standard_normal((20, 1)) * 1e-150
    with pytest.raises(
        ValueError, match="so near to each other that the bandwidth is out of the range of numbers"
    ):
        fit("SparseKernelDensity", X, None, bandwidth=bandwidth)


def test_a_density_of_few_vectors_takes_heavy_and_far_rows():
    X = np.random.default_rng(0).standard_normal((20, 2))
    X[0] = np.finfo(np.float64).min
    for factor in (1.0, 1e12):
        fit("SparseKernelDensity", X, None, np.full(20, factor), max_vectors=2).score_samples(X[1:])
    with pytest.raises(ValueError, match=r"C is too large to be trained with: .* between 1e-100 and 1e\+15"):
        fit("SparseKernelDensity", X, None, np.full(20, 1e16))


@pytest.mark.parametrize("name", [n for n in NAMES if has(n, "C") and takes(n, "sample_weight")])
@pytest.mark.parametrize("factor", [2.0**-330, 2.0**30])
def test_the_unit_of_the_weights_does_not_matter(name, factor):
    """Powers of two change no digit; others may tip a near tie in a search: `test_compact.py` bounds by how much."""
    X, y, weight, T = data(name)
    C = make(name).C or 1.0
    found = fit(name, X, y, weight * factor, C=C / factor)
    wanted = answers(fit(name, X, y, weight, C=C), T)
    close(answers(found, T), wanted, 1e-3 if name == "FullSVC" else 1e-5)  # libsvm's own tolerance


def test_a_probit_machine_takes_heavy_rows():
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    for weight in (1e6, 1e12):
        model = SparseProbitClassifier(max_iter=300).fit(X, y, sample_weight=np.full(len(y), weight))
        assert model.score(X, y) > 0.5
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("name", [name for name in regressors if name not in WRAPPED])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_targets_out_of_range_are_refused_and_within_are_fitted(name, dtype):
    X, y, _, _ = data(name)
    X = X.astype(dtype)
    largest = 1e25 if dtype == np.float32 else 1e55
    for factor in (1e-300, 1e150):
        with pytest.raises(ValueError, match=r"y is too (small|large) to be trained on in float"):
            fit(name, X, y * factor)
    # the penalties of these two are in units of the targets
    in_units = ("GreedyLSSVR", "ZeroNormSVR")
    for factor in (largest,) if name in in_units else (1 / largest, largest):
        unit = {"epsilon": 0.1 * factor} if has(name, "epsilon") else {}
        assert fit(name, X, y * factor, **unit).score(X, y * factor) > 0.5


def test_a_reduced_machine_says_that_targets_are_too_large():
    X, y, _, _ = data("Reduced SVR")
    with pytest.raises(ValueError, match="too large for sums of squares of its outputs"):
        fit("Reduced SVR", X, y * 1e200)


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "n_jobs")])
def test_more_threads_than_a_number_can_say(name):
    X, y, _, _ = data(name, n=20)
    options = {"kernel": "rbf"} if name == "ZeroNormSelector" else {}  # its linear one has no threads
    with pytest.raises(ValueError, match="n_jobs must be at most 2147483647, got 2147483648; -1 means all"):
        fit(name, X, y, n_jobs=2**31, **options)
    assert n_threads(-(10**30)) == 1


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "degree")])
def test_a_degree_above_all_degrees(name):
    X, y, _, _ = data(name, n=20)
    with pytest.raises(ValueError, match="degree must be a whole number, 0 or more and at most 2147483647"):
        fit(name, X, y, kernel="poly", degree=2**31)


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "degree")])
def test_a_polynomial_that_overflows_is_said(name):
    """SVC: "dual coefficients or intercepts are not finite"."""
    X, y, _, _ = data(name, n=20)
    with pytest.raises(ValueError, match=r"kernel: some kernel values of X are not finite.*scale X"):
        fit(name, X * 100, y, kernel="poly", degree=300, gamma=1.0)


def test_features_too_large_for_their_dtype_are_said():
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32) * np.float32(1e15)
    model = EmpiricalFeatureMap(kernel="poly", gamma=1.0).fit(X)
    with pytest.raises(
        ValueError, match=r"kernel='poly': the outputs of .* are too large for float32; scale X"
    ):
        model.transform(X)


@pytest.mark.parametrize("link", ["logistic", "normal", "softmax"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_most_likely_class_is_the_predicted_one_however_near_they_are(link, dtype):
    near = np.array([0.0, 1e-20, -1e-20, 5e-324, 1e-9, -1e-9, 40.0, 800.0, 1e30, -40.0, -1e30], dtype=dtype)
    two = SignReadout(np.array(["a", "b"]), Probability(link))
    outputs = near[:, None]
    np.testing.assert_array_equal(two.classes[two.probabilities(outputs).argmax(axis=1)], two.answer(outputs))
    three = LargestReadout(np.array(["a", "b", "c"]), Probability(link))
    outputs = np.array(np.meshgrid(near, near, near), dtype=dtype).reshape(3, -1).T
    found = three.probabilities(outputs)
    np.testing.assert_array_equal(three.classes[found.argmax(axis=1)], three.answer(outputs))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WRAPPED])
def test_csr_rows_with_many_entries_give_the_model_of_dense_rows(name):
    """The same bits: what is nearly a tie is decided alike."""
    X, labels = (part[::2] for part in load_iris(return_X_y=True))
    rows, y = (X[:, :3], X[:, 3]) if name in regressors else (X, None if data(name)[1] is None else labels)
    dense, csr = fit(name, rows, y), fit(name, sparse.csr_array(rows), y)
    if name == "SparseKernelDensity":  # adds up distances in its own way
        close(answers(csr, rows), answers(dense, rows), 1e-12)
        return
    same_bits(answers(csr, rows), answers(dense, rows))
    close(answers(csr, sparse.csr_array(rows)), answers(dense, rows), 1e-12, size(dense, rows))


@pytest.mark.parametrize("options", [{"refine": False}, {"kernel": "poly"}, {"metric": "linear"}])
def test_compact_models_of_csr_rows_with_many_entries_are_those_of_dense_rows(options):
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    dense, csr = (CompactSVC(random_state=0, **options).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    same_bits(answers(csr, X), answers(dense, X))


def test_gamma_of_csr_rows_with_huge_entries_is_refused_as_of_dense_ones():
    X = np.array([[1e200, 0.0], [0.0, 1.0]])
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match="so large that gamma='scale' overflows"):
            resolve_gamma("scale", form(X))


def test_groups_are_counted_beyond_32_bits():
    """n different targets at n points: the numbers of the pairs go up to n * n > 2^31."""
    n = 50_000
    X, y = np.arange(n, dtype=float)[:, None], np.arange(n, dtype=float)
    given = TrainingSet(X, y[:, None], np.ones(n), np.arange(n), np.arange(n))
    merged = given.merged_by_row_and_target()
    assert merged.n == n
    np.testing.assert_array_equal(merged.X[:, 0], merged.Y[:, 0])


@hard
def test_more_kernel_values_than_32_bits_can_count():
    n, m = 70_000, 32_000
    X = np.linspace(0, 1, n, dtype=np.float32)[:, None]
    Z, coef = X[:m], np.ones((m, 1), dtype=np.float32)
    outputs = RBF(1.0).expand(X, Z, coef)
    np.testing.assert_allclose(outputs[-9:], RBF(1.0).expand(X[-9:], Z, coef), rtol=1e-5)


@pytest.mark.parametrize("name", ["FullSVC", "EmpiricalSVC"])
def test_a_limit_beyond_counting_is_no_limit(name):
    X, y, _, T = data(name, n=20)
    same_bits(answers(fit(name, X, y, max_iter=10**30), T), answers(fit(name, X, y, max_iter=10**6), T))


def test_a_degree_that_is_no_degree():
    for degree in (2**31, -1, 1.5):
        with pytest.raises(ValueError, match="degree must be a whole number"):
            Polynomial(degree=degree)
