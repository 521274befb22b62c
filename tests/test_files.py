"""Model files: what is saved is what is loaded, to the last bit, for everything there is."""

from __future__ import annotations

import copy
import inspect
import io
import itertools
import os
import pickle
import stat
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
import safetensors
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import everyone
import slimsvm
from profiles import in_turns
from slimsvm import KernelExpansion, Model, ModelFormatError, Reduced, TableEncoder, atomic, reduce
from slimsvm.adapters.slim import slim
from slimsvm.adapters.whole import as_model
from slimsvm.budget import stored_bytes
from slimsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from slimsvm.persistence.container import LENGTH_BYTES
from slimsvm.persistence.estimators import ESTIMATORS, TABLE
from slimsvm.persistence.files import content_for, estimator_from
from slimsvm.projection import Projection
from slimsvm.readout import DensityReadout, FeaturesReadout, SignReadout, VotesReadout
from slimsvm.rounding import NUMBERS, rounded, same_expansion

KERNELS = ("rbf", "linear", "poly", "sigmoid", "laplacian")
OUR_NAMES = [*everyone.KINDS]
# Features of which some lie far away, one has another scale, and one is constant.
RNG = np.random.default_rng(1)


def fitted(name, X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return everyone.fit(name, X, y, **parameters)


def again(model, **options):
    return estimator_from(content_for(model, **options), "the file")


def same_value(a, b) -> bool:
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        )
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(
            same_value(getattr(a, n), getattr(b, n)) for n in a.__dataclass_fields__
        )
    if isinstance(a, tuple):
        return isinstance(b, tuple) and all(map(same_value, a, b))
    if sparse.issparse(a):
        return sparse.issparse(b) and same_value(a.toarray(), b.toarray())
    return type(a) is type(b) and a == b


def check_same(loaded, model, T):
    """Equal in class, parameters, attributes and every answer."""
    assert type(loaded) is type(model)
    everyone.same_bits(everyone.answers(loaded, T), everyone.answers(model, T))
    assert vars(loaded).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if name == "expansion_":
            assert same_expansion(loaded.expansion_, value)
        elif name not in ("readout_", "model", "path_"):
            assert same_value(getattr(loaded, name), value), name


# Every estimator, kernel and kind


@pytest.mark.parametrize(
    ("name", "kernel", "n_classes"), in_turns(itertools.product(OUR_NAMES, KERNELS), [2, 3])
)
def test_every_estimator_comes_back_with_every_kernel(name, kernel, n_classes):
    if not everyone.has(name, "kernel") and kernel != "rbf":
        pytest.skip("has no other kernel")
    X, y, _, T = everyone.data(name, n_classes=n_classes)
    options = {"kernel": kernel, "gamma": 0.3} if everyone.has(name, "kernel") else {}
    model = fitted(name, X, y, **options)
    loaded = again(model)
    check_same(loaded, model, T)
    check_same(clone(loaded).fit(X, y) if name == "LSSVC" else loaded, model, T)


@pytest.mark.parametrize("form", ["float32", "csr", "csr float32", "names", "widths", "kernel"])
@pytest.mark.parametrize("name", OUR_NAMES)
def test_every_estimator_comes_back_from_every_kind_of_rows(name, form):
    X, y, _, T = everyone.data(name, n_classes=3)
    options = {}
    if "float32" in form:
        X, T = X.astype(np.float32), T.astype(np.float32)
    if "csr" in form:
        X, T = (sparse.csr_array(np.where(np.abs(rows) < 0.7, 0, rows)) for rows in (X, T))
    if form == "names":
        X, T = (pd.DataFrame(rows, columns=["size", "weight", "größe"]) for rows in (X, T))
    if form in ("widths", "kernel") and not everyone.has(name, "kernel"):
        pytest.skip("has one width")
    if form == "widths":
        options = {"kernel": "rbf", "gamma": np.array([0.1, 0.5, 0.0])}
    if form == "kernel":
        options = {
            "kernel": Laplacian((0.1, 0.5, 1 / 3)) if name != "EmpiricalSVC" else Polynomial(0.1, 1.0, 2)
        }
    model = fitted(name, X, y, **options)
    loaded = again(model)
    check_same(loaded, model, T)
    if form == "names":
        assert list(loaded.feature_names_in_) == list(X.columns)


@pytest.mark.parametrize("name", everyone.WRAPPED)
def test_reduced_models_come_back_slim(name):
    for n_classes in (2, 3):
        X, y, _, T = everyone.data(name, n_classes=n_classes)
        model = fitted(name, X, y)
        check_same(again(model), model.estimator_, T)


MORE = {  # attributes that only some settings have
    "GreedyLSSVC": {"validation_fraction": 0.3},
    "MatchingPursuitSVC": {"validation_fraction": 0.3},
    "TwoStageLSSVC": {"n_vectors": None, "choose_by": "cv"},
    "TwoStageLSSVR": {"n_vectors": None, "choose_by": "loo"},
    "EmpiricalFeatureMap": {"orthonormal": True, "max_vectors": 9},
    "EmpiricalSVC": {"vectors": "orthogonal", "kernel": "linear"},
    "CompactSVC": {"metric": "linear", "rank": 2, "class_weight": {0: 1.0, 1: 2.5, 2: 1}},
    "CompactSVR": {"metric": "linear", "rank": 2, "number": "int8"},
    "RVR": {"method": "em"},
    "SparseKernelDensity": {"bandwidth": "cv"},
}


@pytest.mark.parametrize("name", MORE)
def test_what_only_some_settings_have_comes_back(name):
    X, y, _, T = everyone.data(name, n_classes=3)
    options = {key: value for key, value in MORE[name].items() if everyone.has(name, key)}
    assert options == MORE[name]
    model = fitted(name, X, y, **options)
    loaded = again(model)
    check_same(loaded, model, T)
    if name.startswith("Compact"):
        assert loaded.expansion_.projection.same_as(model.expansion_.projection)
        assert same_value(loaded.path_, model.path_)


def test_the_path_of_a_greedy_fit_comes_back():
    X, y, _, T = everyone.data("GreedyLSSVC", n_classes=3)
    for rows in (X, sparse.csr_array(X), X.astype(np.float32)):
        model = fitted("GreedyLSSVC", rows, y, validation_fraction=0.3)
        loaded = again(model)
        for size in model.path_.sizes:
            f, g = model.expansion_at(int(size)), loaded.expansion_at(int(size))
            np.testing.assert_array_equal(f(T), g(T))
        np.testing.assert_array_equal(loaded.path_.objective, model.path_.objective)


def test_the_table_has_every_estimator():
    assert set(ESTIMATORS) == set(everyone.KINDS)
    assert len(ESTIMATORS) == 27


# Models of others, pipelines, values


X = RNG.standard_normal((90, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 5.0]
Z = StandardScaler().fit_transform(X)
y = np.digitize(Z[:, 0] * Z[:, 1], [-0.4, 0.4])
TABLE_OF_ROWS = pd.DataFrame(
    {"size": X[:, 0], "kind": RNG.choice(["a", "b", "c"], 90), "door": RNG.integers(2, 5, 90)}
)


@pytest.mark.parametrize(
    "model",
    [
        SVC(), SVC(break_ties=True), SVC(decision_function_shape="ovo"), NuSVC(nu=0.1), SVR(),
        OneClassSVM(), KernelRidge(kernel="rbf"),
        KernelPCA(3, kernel="poly", n_jobs=1), GaussianProcessRegressor(alpha=0.1),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_of_others_come_back_slim(model):
    model = model.fit(Z, y)
    f = slim(as_model(model))
    f.n_features_in_ = 3
    f.n_jobs = getattr(model, "n_jobs", None)
    check_same(again(model), f, Z)


@pytest.mark.parametrize("labels", [
    np.array(["no", "perhaps", "yes"]), np.array(["no", "perhaps", "ünsure"], dtype=object),
    np.array([1.5, 2.0, 1e300]),
    np.array([-(2**62), 0, 2**62]), np.array([0, 1, 255], dtype=np.uint8), np.array([0.5, 1, 2], dtype=np.float32),
    np.array([b"a", b"b", b"\xff"]),
], ids=lambda labels: labels.dtype.str)  # fmt: skip
def test_classes_of_any_type_come_back(labels):
    f = KernelExpansion(RBF(1.0), Z[:4], RNG.standard_normal((4, 3)), np.zeros(3))
    made = again(slim(Model(slimsvm.inputs.Inputs(3), f, slimsvm.readout.LargestReadout(labels))))
    assert made.classes_.dtype == labels.dtype
    assert made.classes_.tolist() == labels.tolist()
    assert [type(x) for x in made.classes_.tolist()] == [type(x) for x in labels.tolist()]


def _labelled(labels):
    m = len(labels)
    f = KernelExpansion(RBF(1.0), Z[:4], np.ones((4, m)), np.zeros(m))
    return slim(Model(slimsvm.inputs.Inputs(3), f, slimsvm.readout.LargestReadout(labels)))


def test_labels_with_room_for_longer_ones_come_back():
    for labels in (np.array(["no", "perhaps", "yes"], dtype="<U500"), np.array(["a", "b", "c" * 30_000])):
        made = again(_labelled(labels))
        assert made.classes_.dtype == labels.dtype
        assert made.classes_.tolist() == labels.tolist()
    labels = np.array(["no", "perhaps", "yes"], dtype="<U200000")  # room that no file of a kilobyte is given
    made = again(_labelled(labels))
    assert made.classes_.dtype == "<U7"
    assert made.classes_.tolist() == labels.tolist()
    labels = np.array([f"label {i:03}" for i in range(999)] + ["z" * 9999])
    with pytest.raises(ModelFormatError, match="texts of which one is very much longer"):
        content_for(_labelled(labels))


def test_classes_of_truth_values_come_back():
    model = again(SVC().fit(Z, y > 0))
    assert model.classes_.dtype == bool
    with pytest.raises(ModelFormatError, match="classes of this model cannot be saved"):
        content_for(slim(replace(as_model(SVC().fit(Z, y > 0)), readout=SignReadout(np.array([None, 1])))))


def test_a_table_with_holes_comes_back():
    holes = TABLE_OF_ROWS.astype(object)
    holes.iloc[::5, 0] = None
    holes.iloc[1::7, 1] = np.nan
    pipe = make_pipeline(TableEncoder(impute=True), StandardScaler(), SVC()).fit(holes, y)
    loaded = again(pipe)
    assert loaded.model.inputs == as_model(pipe).inputs
    assert len(loaded.model.inputs.fill) == holes.shape[1]
    np.testing.assert_allclose(loaded.decision_function(holes), pipe.decision_function(holes), atol=1e-12)
    assert (loaded.predict(holes) == pipe.predict(holes)).all()


def test_a_pipeline_becomes_one_model():
    columns = ColumnTransformer([("kind", OneHotEncoder(), ["kind", "door"])], remainder=StandardScaler())
    pipe = make_pipeline(columns, SVC()).fit(TABLE_OF_ROWS, y)
    loaded = again(pipe)
    wanted = slim(as_model(pipe))
    np.testing.assert_array_equal(
        loaded.decision_function(TABLE_OF_ROWS), wanted.decision_function(TABLE_OF_ROWS)
    )
    assert loaded.model.inputs == wanted.model.inputs
    assert list(loaded.feature_names_in_) == list(TABLE_OF_ROWS.columns)
    with pytest.raises(ValueError, match="none of its categories"):
        loaded.predict(TABLE_OF_ROWS.assign(kind="z"))
    reduced = reduce(pipe, TABLE_OF_ROWS, y, max_vectors=10)
    np.testing.assert_array_equal(again(reduced).predict(TABLE_OF_ROWS), reduced.predict(TABLE_OF_ROWS))
    wrapped = Reduced(make_pipeline(StandardScaler(), SVC()), max_vectors=10).fit(X, y)
    assert (again(wrapped).predict(X) == wrapped.predict(X)).mean() > 0.97
    own = Reduced(slimsvm.EmpiricalSVC(), max_vectors=10).fit(Z, y)
    assert type(again(own)) is slimsvm.EmpiricalSVC


def test_a_density_in_a_pipeline_becomes_a_slim_one():
    pipe = make_pipeline(StandardScaler(), slimsvm.SparseKernelDensity(bandwidth=0.5)).fit(X)
    loaded = again(pipe)
    np.testing.assert_allclose(loaded.score_samples(X), pipe.score_samples(X), rtol=1e-9)
    far = X + 1e5
    np.testing.assert_allclose(loaded.score_samples(far), pipe.score_samples(far), rtol=1e-6)
    assert loaded.score(X) == loaded.score_samples(X).sum()
    f = KernelExpansion(Laplacian(1.0), Z[:3], [0.2, 0.3, 0.5], 0.0)
    made = again(Model(slimsvm.inputs.Inputs(3), f, DensityReadout()))
    np.testing.assert_array_equal(made.score_samples(Z), np.log(f(Z)[:, 0]))


def test_an_expansion_becomes_a_transformer():
    f = KernelExpansion(Sigmoid(0.1, 0.2), Z[:5], RNG.standard_normal((5, 2)), [0.1, 0.2])
    loaded = again(f)
    np.testing.assert_array_equal(loaded.transform(Z), f(Z))
    assert loaded.n_features_in_ == 3
    empty = KernelExpansion(RBF(1.0), np.empty((0, 3)), np.empty((0, 2)), [0.1, 0.2])
    np.testing.assert_array_equal(again(empty).transform(Z), empty(Z))


@pytest.mark.parametrize("name", ["LSSVC", "CompactSVC", "SVC"])
def test_kernels_that_are_code_or_matrices_are_refused(name):
    make = SVC if name == "SVC" else everyone.KINDS[name]
    for kernel in ("precomputed", lambda A, B: np.tanh(A @ B.T) + np.exp(A @ B.T)):
        if name == "CompactSVC" and kernel == "precomputed":
            continue
        model = make(kernel=kernel).fit(Z @ Z.T if kernel == "precomputed" else Z, y > 0)
        with pytest.raises((ModelFormatError, ValueError), match=r"cannot be saved|X is needed"):
            content_for(model)
    with pytest.raises(NotFittedError):
        content_for(make())
    with pytest.raises(TypeError, match="model must be SVC"):
        content_for(StandardScaler().fit(Z))


# Parameters


def test_parameters_come_back_as_they_were():
    weight = {np.int64(0): np.float32(0.1), 1: 2, "other": 3.0}
    kernel = RBF((0.1, 1 / 3, 2.0))
    model = slimsvm.LSSVC(
        C=np.float64(0.3),
        kernel=kernel,
        gamma=np.array([1, 2, 3], dtype=np.int16),
        tol=1e-7,
        random_state=np.int64(3),
    ).fit(Z, y)
    model.class_weight = weight
    loaded = again(model)
    for key, value in model.get_params().items():
        assert same_value(loaded.get_params()[key], value), key
    listed = again(
        slimsvm.CompactSVR(max_vectors=2, scoring="r2", gamma=[0.5, 1.0, 2.0], refine=False).fit(Z, Z[:, 0])
    )
    assert listed.gamma == [0.5, 1.0, 2.0]


def test_parameters_that_are_code_or_states_are_left_at_their_defaults():
    model = slimsvm.FixedSizeLSSVC(n_vectors=5, random_state=np.random.RandomState(0)).fit(Z, y)
    with pytest.warns(
        UserWarning, match="random_state=RandomState.* cannot be stored; .* has random_state=None"
    ):
        loaded = again(model)
    assert loaded.random_state is None
    assert (loaded.predict(Z) == model.predict(Z)).all()
    model = slimsvm.LSSVC().fit(Z, y).set_params(solver=print)
    with pytest.warns(UserWarning, match="solver="):
        assert again(model).solver == "auto"
    with pytest.raises(ModelFormatError, match="LSSVC cannot be saved: The 'C' parameter"):
        content_for(slimsvm.LSSVC().fit(Z, y).set_params(C=-1.0))
    model = slimsvm.LSSVC().fit(Z, y)
    model.notes_ = "mine"
    with pytest.warns(UserWarning, match="attribute notes_ of LSSVC is left out"):
        assert not hasattr(again(model), "notes_")


# Numbers


def expansion(form, kernel, dtype=np.float32):
    rng = np.random.default_rng(5)
    V = rng.standard_normal((17, 5)) * [1.0, 10.0, 1e-2, 0.0, 3.0] + [0.0, 1e3, 5.0, 2.0, 0.0]
    projection = None
    if form == "projection":
        projection = Projection(rng.standard_normal((5, 9)), rng.standard_normal(5))
    if form == "csr":
        V = sparse.csr_array(np.where(rng.random(V.shape) < 0.5, 0.0, V))
    kernel = {
        "rbf": RBF(0.3), "widths": RBF((0.1, 0.5, 0.0, 2.0, 1 / 3)), "laplacian": Laplacian(0.2), "linear": Linear(),
        "poly": Polynomial(0.01, 1.0, 2), "sigmoid": Sigmoid(0.01, 0.1),
    }[kernel]  # fmt: skip
    return KernelExpansion(
        kernel, V, rng.standard_normal((17, 3)), rng.standard_normal(3), projection
    ).astype(dtype)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kernel", ["rbf", "widths", "laplacian", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("form", ["dense", "csr", "projection"])
def test_all_numbers_come_back_bit_for_bit_in_the_bytes_of_the_budget(form, kernel, number):
    if form == "projection" and kernel not in ("rbf", "widths", "laplacian"):
        pytest.skip("a projection goes with kernels of distances")
    for dtype in (np.float64, np.float32):
        f = expansion(form, kernel, dtype)
        wanted = rounded(f, number).expansion
        content = content_for(f, number)
        assert same_expansion(estimator_from(content, "the file").expansion_, wanted)
        # what is on the grid already is found to be, and saved so
        found = content_for(wanted)
        assert same_expansion(estimator_from(found, "the file").expansion_, wanted)
        assert len(found) == len(content)
        if form != "csr":
            header = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "little")
            # one width or factor is text, a degree or coef0 too
            text = (
                0
                if kernel == "widths"
                else {"rbf": 1, "laplacian": 1, "linear": 0, "poly": 3, "sigmoid": 2}[kernel]
            )
            spare = 1 if number == "int4" else 0
            each = 8 if number == "float64" else 4
            shift = (
                f.projection.rank * 4
                if form == "projection" and number == "float32" and dtype == np.float64
                else 0
            )
            assert (
                0
                <= stored_bytes(f, number) - (len(content) - header) - text * each + shift
                <= shift + 2 * spare
            )


def test_a_machine_of_eight_bits_is_a_file_of_eight_bits(tmp_path):
    data = np.random.default_rng(0)
    X, y = data.standard_normal((300, 20)), None
    y = (X[:, :3].prod(axis=1) > 0).astype(int)
    model = slimsvm.CompactSVC(max_vectors=8, number="int8", random_state=0, metric="per_feature").fit(X, y)
    slimsvm.save(model, tmp_path / "small.slim")
    about = slimsvm.inspect(tmp_path / "small.slim")
    assert about.number == "int8"
    check_same(slimsvm.load(tmp_path / "small.slim"), model, X)
    # given a format, an estimator is rounded, and what belongs to the finer one is left out
    wide = slimsvm.RVR().fit(X[:80], X[:80, 0])
    small = again(wide, number="int8")
    assert type(small) is slimsvm.RVR
    assert not hasattr(small, "covariance_")
    assert same_expansion(small.expansion_, rounded(wide.expansion_, "int8").expansion)
    assert small.get_params() == wide.get_params()
    with pytest.raises(ValueError, match="number must be one of"):
        content_for(wide, "int3")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_density_stays_one_in_all_numbers(number):
    model = slimsvm.SparseKernelDensity(bandwidth=0.5).fit(Z)
    small = again(model, number=number)
    assert abs(small.weights_.sum() - 1.0) < 1e-12
    error = np.abs(small.score_samples(Z) - model.score_samples(Z))
    assert error.mean() < {"int4": 0.5, "int8": 0.05}.get(number, 5e-4)
    # four bits hold no weight below a fourteenth of the largest: that of a lonely row's own kernel
    nearest = np.square(Z[:, None] - model.support_vectors_).sum(axis=2).argmin(axis=1)
    held = small.weights_[nearest] > 0
    assert held.mean() > 0.98 if number == "int4" else held.all()
    assert error[held].max() < {"int4": 1.0, "int8": 0.1}.get(number, 1e-3)


# Files


def test_the_file_is_a_safetensors_file_and_tells_what_it_is(tmp_path):
    path = tmp_path / "model.slim"
    frame = pd.DataFrame(Z, columns=["a", "b", "c"])
    model = slimsvm.EmpiricalSVC(max_vectors=7).fit(frame, np.array(["no", "yes", "so"])[y])
    slimsvm.save(model, path)
    with safetensors.safe_open(path, framework="np") as file:
        assert set(file.keys()) >= {"vectors", "coef", "intercept"}
        np.testing.assert_array_equal(file.get_tensor("vectors"), model.support_vectors_)
    about = slimsvm.inspect(path)
    assert (about.estimator, about.kernel, about.number) == ("EmpiricalSVC", "rbf", "float64")
    assert (about.n_vectors, about.n_features, about.n_outputs) == (7, 3, 3)
    assert about.classes == ("no", "so", "yes")
    assert about.feature_names == ("a", "b", "c")
    assert about.parameters["max_vectors"] == 7
    assert about.n_bytes == path.stat().st_size
    assert ("coef", "F64", (7, 3)) in about.arrays
    assert "EmpiricalSVC in" in str(about)
    assert "3 classes: no, so, yes" in str(about)
    selector = fitted("ZeroNormSelector", Z, y)
    slimsvm.save(selector, path)
    assert slimsvm.inspect(path).classes == (0, 1, 2)
    assert "3 features" in str(slimsvm.inspect(path))
    with pytest.raises(FileNotFoundError):
        slimsvm.load(tmp_path / "absent.slim")
    with pytest.raises(FileNotFoundError):
        slimsvm.inspect(tmp_path / "absent.slim")


def test_the_same_model_is_the_same_bytes():
    model = slimsvm.EmpiricalSVC(max_vectors=7).fit(Z, y)
    assert content_for(model) == content_for(copy.deepcopy(model)) == content_for(again(model))


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.slim"
    model = SVC().fit(Z, y)
    slimsvm.save(model, path)
    before = path.read_bytes()
    os.chmod(path, 0o640)
    for name in ("fsync", "replace", "chmod"):
        with monkeypatch.context() as patch:

            def fail(*_args, **_options):
                raise OSError("disk is full")

            patch.setattr(atomic.os, name, fail)
            with pytest.raises(OSError, match="disk is full"):
                slimsvm.save(SVR().fit(Z, y), path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model.slim"]
    link = tmp_path / "link.slim"
    link.symlink_to(path)
    slimsvm.save(SVR().fit(Z, y), link)
    assert link.is_symlink()
    assert type(slimsvm.load(path)).__name__ == "SlimRegressor"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(FileNotFoundError):
        slimsvm.save(model, tmp_path / "no" / "model.slim")


def test_arrays_of_a_loaded_model_cannot_be_written_to():
    for rows in (Z, sparse.csr_array(Z)):
        f = again(slimsvm.EmpiricalSVC(max_vectors=5).fit(rows, y)).expansion_
        parts = [f.coef, f.intercept, *([f.vectors.data] if sparse.issparse(f.vectors) else [f.vectors])]
        assert not any(part.flags.writeable for part in parts)


# Pickle, joblib, skops


@pytest.mark.parametrize("name", everyone.NAMES)
def test_pickle_joblib_and_skops_give_the_same_model(name):
    import skops.io

    X, y, _, T = everyone.data(name, n_classes=3)
    model = fitted(name, X, y)
    wanted = everyone.answers(model, T)
    everyone.same_bits(everyone.answers(pickle.loads(pickle.dumps(model)), T), wanted)
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    everyone.same_bits(everyone.answers(joblib.load(buffer), T), wanted)
    content = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=content)) <= set(slimsvm.TRUSTED_TYPES)
    everyone.same_bits(everyone.answers(skops.io.loads(content, trusted=slimsvm.TRUSTED_TYPES), T), wanted)


def test_skops_reads_projections_csr_and_pipelines():
    import skops.io

    projected = fitted("CompactSVC", Z, y, metric="linear", rank=2)
    pipe = make_pipeline(StandardScaler(), slimsvm.LSSVC()).fit(X, y)
    folded = again(pipe)
    csr = slimsvm.EmpiricalSVC(max_vectors=5).fit(sparse.csr_array(Z), y)
    for model, T in (
        (projected, Z),
        (pipe, X),
        (folded, X),
        (csr, sparse.csr_array(Z)),
        (projected.expansion_, Z),
    ):
        loaded = skops.io.loads(skops.io.dumps(model), trusted=slimsvm.TRUSTED_TYPES)
        if isinstance(model, KernelExpansion):
            assert same_expansion(loaded, model)
        else:
            np.testing.assert_array_equal(loaded.decision_function(T), model.decision_function(T))


def test_pickles_of_another_version_or_of_parts_that_do_not_fit_are_refused():
    model = slimsvm.EmpiricalSVC(max_vectors=5).fit(Z, y)
    state = model.__getstate__()
    f = model.expansion_

    def restore(**changes):
        made = slimsvm.EmpiricalSVC.__new__(slimsvm.EmpiricalSVC)
        made.__setstate__({**state, **changes})

    restore()
    for changes in (
        {"_slimsvm_state": 2}, {"_slimsvm_state": None}, {"n_features_in_": 4}, {"support_": np.arange(3)},
        {"readout_": SignReadout(np.array([0, 1]))}, {"readout_": VotesReadout(np.arange(4))},
        {"expansion_": f.take([0, 1, 2])}, {"feature_names_in_": np.array(["a"], dtype=object)},
    ):  # fmt: skip
        with pytest.raises(ModelFormatError):
            restore(**changes)
    parts = f.__getstate__()
    for changes in (
        {"format_version": 2}, {"coef": f.coef[:3]}, {"intercept": f.intercept[:1]}, {"vectors": None}, {"more": 1},
        {"coef": f.coef * np.nan}, {"projection": Projection(np.ones((2, 3)), np.ones(2))},
    ):  # fmt: skip
        with pytest.raises(ModelFormatError):
            KernelExpansion.__new__(KernelExpansion).__setstate__({**parts, **changes})
    assert pickle.loads(pickle.dumps(slimsvm.LSSVC(C=3.0))).C == 3.0  # not fitted


def test_the_readouts_a_table_knows_are_all_there_are():
    assert {
        "SlimClassifier",
        "SlimRegressor",
        "SlimTransformer",
        "SlimDensity",
        "SlimOutlierDetector",
    } <= set(TABLE)
    assert inspect.isclass(FeaturesReadout)
