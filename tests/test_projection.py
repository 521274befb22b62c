"""A projection in front of an expansion: as a value, its refinement, and CompactSVC(metric="linear")."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from profiles import HARD
from slimsvm import BudgetError, CompactSVC, CompactSVR, KernelExpansion, ModelFormatError, reduce
from slimsvm.budget import bytes_for, stored_bytes
from slimsvm.kernels import RBF, Laplacian, Linear
from slimsvm.losses import Squared, SquaredHinge
from slimsvm.projection import Projection
from slimsvm.refinement.losses import RoundedHinge, RoundedInsensitive
from slimsvm.refinement.projection import (
    Problem,
    ProjectedModel,
    Terms,
    gaussian,
    image,
    norm_gradients,
    objective,
    placed,
    principal_directions,
    refine_map_by_products,
    refine_map_in_batches,
    refine_map_whole,
)


def random_projection(d=12, r=3, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return Projection(rng.standard_normal((r, d)).astype(dtype), rng.standard_normal(r))


def expansion(kernel=None, dtype=np.float64, d=12, r=3, m=7, k=2):
    rng = np.random.default_rng(1)
    vectors, coef = rng.standard_normal((m, r)).astype(dtype), rng.standard_normal((m, k))
    return KernelExpansion(
        kernel or RBF(0.3), vectors, coef, rng.standard_normal(k), random_projection(d, r, dtype)
    )


# The value


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF((0.1, 0.5, 2.0)), Laplacian(0.4)])
def test_rows_go_through_the_map_first(kernel):
    f = expansion(kernel)
    X = np.random.default_rng(2).standard_normal((30, 12))
    bare = replace(f, projection=None)
    np.testing.assert_allclose(f(X), bare(X @ f.projection.matrix.T - f.projection.shift), rtol=1e-12)
    assert f.n_features == 12
    assert f.vectors.shape == (7, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_rows_have_the_image_of_dense_ones(dtype):
    f = expansion(dtype=dtype)
    X = sparse.random_array((40, 12), density=0.3, random_state=np.random.default_rng(0), dtype=dtype).tocsr()
    assert f(X).dtype == dtype
    np.testing.assert_allclose(f(X), f(X.toarray()), rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [0.0, 1e4, 1e30])
def test_a_row_alone_has_the_bits_it_has_among_others(dtype, far):
    f = expansion(dtype=dtype)
    X = np.random.default_rng(3).standard_normal((40, 12)).astype(dtype)
    X[::3] += dtype(far)
    alone = np.vstack([f.projection(row[None]) for row in X])
    assert alone.tobytes() == f.projection(X).tobytes()
    assert np.isfinite(f(X)).all()


def test_data_far_from_the_origin_lose_nothing_in_float32():
    rng = np.random.default_rng(4)
    X = (rng.standard_normal((50, 12)) + 1e4).astype(np.float32)
    matrix = rng.standard_normal((3, 12)).astype(np.float32)
    shift = matrix.astype(np.float64) @ X.astype(np.float64).mean(axis=0)
    exact = X.astype(np.float64) @ matrix.astype(np.float64).T - shift
    np.testing.assert_allclose(Projection(matrix, shift)(X), exact, atol=1e-6 * np.abs(exact).max())


def test_rows_beyond_all_bounds_have_kernel_values_of_zero():
    f = expansion()
    X = np.full((9, 12), 1e308)
    X[:, ::2] = -1e308
    np.testing.assert_allclose(f(X), np.tile(f.intercept, (9, 1)))


def test_its_numbers_cannot_be_written_to_and_survive_a_pickle():
    f = pickle.loads(pickle.dumps(expansion()))
    X = np.random.default_rng(5).standard_normal((4, 12))
    assert f(X).tobytes() == expansion()(X).tobytes()
    for array in (f.projection.matrix, f.projection.shift):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_verbs_of_an_expansion_know_it():
    f = expansion()
    X = np.random.default_rng(6).standard_normal((9, 12))
    np.testing.assert_allclose(f.take(np.arange(7))(X), f(X))
    both = KernelExpansion.merge([f, f])
    np.testing.assert_allclose(both(X), np.hstack([f(X), f(X)]), rtol=1e-12)
    with pytest.raises(ValueError, match="same projection"):
        KernelExpansion.merge([f, replace(f, projection=random_projection(seed=9))])
    single = f.astype(np.float32)
    assert single.projection.matrix.dtype == np.float32
    assert f.nbytes == 8 * (7 * 3 + 7 * 2 + 2 + 3 * 12 + 3)
    assert (
        stored_bytes(f) == f.nbytes + 8 == bytes_for(7, n_features=12, n_outputs=2, number="float64", rank=3)
    )
    stored = KernelExpansion.from_dict(f.to_dict())
    assert stored(X).tobytes() == f(X).tobytes()
    assert "x 3 of 12 features" in repr(f)
    broken = {**f.to_dict(), "projection": {"matrix": np.ones((2, 12)), "shift": np.zeros(2)}}
    with pytest.raises(ModelFormatError, match="do not fit together"):
        KernelExpansion.from_dict(broken)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="'rbf' and 'laplacian' only"):
        expansion(Linear())
    with pytest.raises(ValueError, match="image of the projection"):
        KernelExpansion(RBF(1.0), np.ones((2, 4)), np.ones(2), 0.0, random_projection())
    with pytest.raises(ValueError, match="shape"):
        Projection(np.ones((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match="finite"):
        Projection(np.full((2, 3), np.nan), np.ones(2))
    with pytest.raises(ValueError, match="X has 5 features, but the model has 12"):
        expansion()(np.ones((2, 5)))


# Its refinement


def small_problem(loss, k=2):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 5)), np.where(rng.random((20, k)) > 0.5, 1.0, -1.0)
    model = ProjectedModel(
        0.4 * rng.standard_normal((3, 5)), 0.5 * rng.standard_normal((4, 3)), rng.standard_normal((4, k)),
        rng.standard_normal(k),
    )  # fmt: skip
    centre, weights = np.array([0.1, 0.0, -0.2, 0.3, 0.0]), rng.uniform(0.5, 1.5, (20, k))
    return model, Problem(X, centre, Y, weights, loss, Terms(0.03, 0.2))


@pytest.mark.parametrize("loss", [Squared(), SquaredHinge()])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_gradients_equal_finite_differences(loss, make):
    model, problem = small_problem(loss)
    parts = [model.matrix, model.vectors, model.coef, model.intercept]
    _, gradients = objective(model, replace(problem, X=make(problem.X)), 0.16)
    for number, part in enumerate(parts):
        expected = np.zeros_like(part)
        for at in np.ndindex(part.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [array.copy() for array in parts]
                moved[number][at] += step
                values.append(objective(ProjectedModel(*moved), problem, 0.16)[0])
            expected[at] = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(gradients[number], expected, atol=1e-7, rtol=1e-5)


def test_the_norm_is_that_of_the_function():
    model, _ = small_problem(Squared())
    f = KernelExpansion(RBF(1.0), model.vectors, model.coef, model.intercept)
    assert norm_gradients(model.vectors, model.coef)[0] == pytest.approx(
        float(np.square(f.rkhs_norm()).sum())
    )


def hidden_circle(n=600, d=30, seed=0):
    """Two classes by the distance from the origin in two of d directions, none of them an axis."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    directions = np.linalg.qr(np.random.default_rng(99).standard_normal((d, 2)))[0]
    return X, (np.square(X @ directions).sum(axis=1) > 1.4).astype(int)


def test_refinement_lowers_the_objective_and_repeats_to_the_bit(monkeypatch):
    X, y = hidden_circle()
    X = X.astype(np.float32)
    Y, centre = np.where(y == 1, 1.0, -1.0)[:, None], np.zeros(X.shape[1])
    directions = principal_directions(X, centre, 4, np.random.default_rng(0))
    start = placed(directions, X, centre, Y, np.ones_like(Y), y, 10, 1e-6, np.random.default_rng(0))
    assert start.vectors.shape == (10, 4)
    problem = Problem(X, centre, Y, np.ones_like(Y), SquaredHinge(), Terms(1e-6, 1e-3))
    unit = float(np.square(start.matrix).mean())

    def value(model):
        return objective(model, replace(problem, X=X.astype(float)), unit)[0]

    def run(n_threads):
        return refine_map_in_batches(
            start, problem, n_steps=300, rng=np.random.default_rng(1), n_threads=n_threads
        )

    monkeypatch.setattr(
        "slimsvm.refinement.projection.PIECE_WORK", 0
    )  # batches in pieces, as for large models
    found = run(1)
    assert value(found) < 0.9 * value(start)
    assert found.matrix.tobytes() == run(2).matrix.tobytes()
    whole = refine_map_whole(start, problem, max_iter=100)
    assert value(whole) < value(found)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "loss",
    [SquaredHinge(), RoundedHinge(), Squared(), RoundedInsensitive(0.3)],
    ids=lambda loss: type(loss).__name__,
)
@pytest.mark.parametrize(("n", "d", "rank", "m", "k"), [(57, 6, 2, 5, 1), (40, 3, 3, 4, 3), (9, 13, 1, 1, 2)])
def test_the_compiled_search_ends_where_the_gradient_vanishes(make, loss, n, d, rank, m, k):
    rng = np.random.default_rng(0)
    X, centre = rng.standard_normal((n, d)), 0.3 * rng.standard_normal(d)
    Y = (
        rng.standard_normal((n, k))
        if isinstance(loss, Squared | RoundedInsensitive)
        else rng.choice([-1.0, 1.0], (n, k))
    )
    weights = rng.uniform(0.5, 1.5, (n, k))
    start = ProjectedModel(
        rng.standard_normal((rank, d)) / np.sqrt(d),
        rng.standard_normal((m, rank)),
        rng.standard_normal((m, k)),
        np.zeros(k),
    )
    problem = Problem(make(X), centre, Y, weights, loss, Terms(1e-2, 1e-1))
    plain, unit = replace(problem, X=X), float(np.square(start.matrix).mean())
    (first, steep), found = (
        objective(start, plain, unit),
        refine_map_whole(start, problem, max_iter=3000, tol=1e-14),
    )
    value, flat = objective(found, plain, unit)
    assert value < 0.8 * first
    assert max(np.abs(part).max() for part in flat) < 0.01 * max(np.abs(part).max() for part in steep)
    # no step is the start, and each step goes down
    still = refine_map_whole(start, problem, max_iter=0)
    for ours, given in zip(vars(still).values(), vars(start).values(), strict=True):
        np.testing.assert_allclose(ours, given, rtol=1e-12, atol=1e-12)
    values = [objective(refine_map_whole(start, problem, max_iter=i), plain, unit)[0] for i in range(6)]
    assert values == sorted(values, reverse=True)
    # and it is no worse than by matrix products, after as many steps as the search of a shape takes
    ours, theirs = (
        objective(
            refine(start, replace(plain, X=X - centre, centre=0 * centre), max_iter=100, tol=1e-5),
            plain,
            unit,
        )[0]
        for refine in (refine_map_whole, refine_map_by_products)
    )
    assert ours < 1.1 * theirs + 0.01 * first


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_principal_directions_are_those_of_the_covariance(make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8)) * np.array([5, 4, 3, 1, 1, 1, 1, 1.0]) + 3.0
    found = principal_directions(make(X), X.mean(axis=0), 3, rng)
    wanted = np.linalg.eigh(np.cov(X.T))[1][:, ::-1][:, :3].T
    np.testing.assert_allclose(np.abs(np.sum(found * wanted, axis=1)), 1.0, atol=1e-6)


def test_kernel_values_are_those_of_the_gaussian():
    rng = np.random.default_rng(0)
    Z, V = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(gaussian(Z, V), RBF(1.0)(Z, V), rtol=1e-12)
    np.testing.assert_allclose(image(np.eye(3), Z, np.ones(3)), Z - 1.0)


# CompactSVC and CompactSVR


@pytest.fixture(scope="module")
def circle():
    X, y = hidden_circle(1200)
    return X[:800], X[800:], y[:800], y[800:]


@pytest.fixture(scope="module")
def linear(circle):
    X, _, y, _ = circle
    return CompactSVC(metric="linear", max_vectors=8, random_state=0).fit(X, y)


def test_it_finds_the_directions_that_matter(circle, linear):
    _, T, _, t = circle
    assert linear.score(T, t) > 0.9
    assert linear.n_vectors_ <= 8
    assert linear.expansion_.projection is not None
    assert linear.support_vectors_.shape[1] == linear.expansion_.projection.rank < 30
    P = linear.predict_proba(T)
    np.testing.assert_array_equal(linear.classes_[P.argmax(axis=1)], linear.predict(T))
    assert set(linear.path_["metric"]) == {"linear"}


def test_dimensions_are_those_that_the_chosen_number_of_vectors_wants(circle):
    # with the many vectors that are raced first, all 30 dimensions are best
    X, T, y, t = circle
    free = CompactSVC(metric="linear", random_state=2).fit(X, y)
    assert free.expansion_.projection.rank < 30
    assert free.score(T, t) > 0.9


def test_it_obeys_the_laws(circle, linear):
    X, T, y, _ = circle
    n = len(y) if HARD else 150
    order = np.random.default_rng(0).permutation(n)
    options = {"metric": "linear", "max_vectors": 8, "random_state": 0}
    fitted = CompactSVC(**options).fit(X[:n], y[:n])
    permuted = CompactSVC(**options, n_jobs=2).fit(X[order], y[order])
    assert permuted.decision_function(T).tobytes() == fitted.decision_function(T).tobytes()
    single = CompactSVC(**options).fit(X[:n].astype(np.float32), y[:n])
    assert single.decision_function(T.astype(np.float32)).dtype == np.float32
    wanted = linear.decision_function(T)
    again = pickle.loads(pickle.dumps(linear))
    assert again.decision_function(T).tobytes() == wanted.tobytes()
    same = reduce(linear, max_vectors=linear.n_vectors_, method="prune", refit=False)
    assert same.decision_function(T).tobytes() == wanted.tobytes()
    half = reduce(linear, X, y, max_vectors=4, method="prune", refit=True)
    assert half.n_vectors_ == 4
    assert half.expansion_.projection is not None
    assert half.score(X, y) > 0.7
    few = stored_bytes(linear.expansion_.take([0, 1, 2]))
    small = reduce(linear, X, y, max_bytes=few)
    assert small.n_vectors_ == 3
    assert stored_bytes(small.expansion_) <= few
    with pytest.raises(BudgetError, match="max_bytes=50 is too small"):
        reduce(linear, X, y, max_bytes=50)
    assert reduce(linear, max_vectors=4).expansion_.projection is not None


def test_units_and_offsets_of_the_columns_do_not_matter(circle, linear):
    X, T, y, t = circle
    factor, shift = 10.0 ** np.linspace(-3, 3, X.shape[1]), np.linspace(-100, 100, X.shape[1])
    other = CompactSVC(metric="linear", max_vectors=8, random_state=0).fit(X * factor + shift, y)
    assert other.score(T * factor + shift, t) > linear.score(T, t) - 0.04


def test_sparse_rows_of_any_width():
    rng, width = np.random.default_rng(0), 20_000 if HARD else 2_000
    X = sparse.random_array((400, width), density=40 / width, random_state=rng).tocsr()
    X = sparse.hstack([X, sparse.csr_array(np.sign(rng.standard_normal((400, 1))))]).tocsr()
    y = (np.asarray(X[:, [width]].todense()).ravel() > 0).astype(int)
    model = CompactSVC(metric="linear", max_vectors=4, rank=2, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    assert model.support_vectors_.shape == (model.n_vectors_, 2)


def test_several_classes_and_budgets():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    model = CompactSVC(metric="linear", max_bytes=8192, random_state=0).fit(X[:1000], y[:1000])
    assert stored_bytes(model.expansion_) <= 8192
    assert model.score(X[1000:], y[1000:]) > 0.92
    with pytest.raises(BudgetError, match="max_bytes=100 is too small"):
        CompactSVC(metric="linear", max_bytes=100).fit(X[:200], y[:200])


def test_regression_of_several_targets():
    X, _ = hidden_circle(800)
    direction = X @ np.linalg.qr(np.random.default_rng(99).standard_normal((30, 2)))[0]
    Y = np.column_stack([100 + 10 * np.sin(direction[:, 0]), direction[:, 1]])
    model = CompactSVR(metric="linear", max_vectors=12, random_state=0).fit(X[:600], Y[:600])
    assert model.predict(X[600:]).shape == (200, 2)
    assert model.score(X[600:], Y[600:]) > 0.7


def test_what_it_cannot_do_is_said():
    X, y = hidden_circle(60)
    for options in ({"kernel": "linear"}, {"refine": False}, {"gamma": 1.0}, {"max_latency_us": 50.0}):
        with pytest.raises(ValueError, match="metric='linear'"):
            CompactSVC(metric="linear", **options).fit(X, y)
