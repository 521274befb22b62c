"""LIBSVM's model files: what is read answers as LIBSVM does, what is written LIBSVM reads, nothing is lost between."""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import everyone
import file_attacks as attacks
import slimsvm
from profiles import HARD, in_turns
from slimsvm import KernelExpansion, Model, ModelFormatError, from_libsvm, reduce, to_libsvm
from slimsvm.adapters.whole import as_model
from slimsvm.inputs import Inputs
from slimsvm.kernels import RBF
from slimsvm.probability import Probability
from slimsvm.readout import DensityReadout, FeaturesReadout, SignReadout, ValueReadout, VotesReadout
from slimsvm.rounding import same_expansion

RNG = np.random.default_rng(3)
X = RNG.standard_normal((150, 4))
T = RNG.standard_normal((150, 4))
LABELS = np.array([3, 1, 7, -2, 5])
KERNELS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}


def target(n_classes, rows=X):
    value = rows[:, 0] * rows[:, 1] + rows[:, 2]
    return np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))


@pytest.fixture(scope="module")
def libsvm():
    """LIBSVM's own binding, with one thread: it starts threads for every row."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        return pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")
    finally:
        os.environ.pop("OMP_NUM_THREADS")
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def answers_of(libsvm, path, rows, probability=False):
    """Labels and values by LIBSVM itself.

    Its C functions are called as they are: its Python ones write the values of all pairs of a nu_svc where one fits.
    """
    model = libsvm.svm_load_model(str(path))
    n = model.get_nr_class()
    values = (ctypes.c_double * max(n, n * (n - 1) // 2))()
    call = libsvm.libsvm.svm_predict_probability if probability else libsvm.libsvm.svm_predict_values
    labels, found = [], []
    for row in rows:
        labels.append(call(model, libsvm.gen_svm_nodearray(row.tolist())[0], values))
        found.append(values[:n] if probability else values[: n * (n - 1) // 2])
    return np.array(labels), np.array(found), model


def signed(model, outputs, labels):
    """Outputs as LIBSVM's decision values: positive means its first label."""
    if len(model.classes_) > 2:
        return outputs
    return outputs if labels[0] == model.classes_[1] else -outputs


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_classifiers_answer_as_libsvm_does(libsvm, tmp_path, n_classes, kernel, kind):
    for labels in (LABELS, LABELS[::-1]):
        y = labels[target(n_classes)]
        options = f"-q -s {kind} -n 0.2 -t {KERNELS[kernel]} -g 0.3 -r 0.5 -d 2"
        libsvm.svm_save_model(str(tmp_path / "a.model"), libsvm.svm_train(y.tolist(), X.tolist(), options))
        wanted, values, theirs = answers_of(libsvm, tmp_path / "a.model", T)
        ours = from_libsvm(tmp_path / "a.model")
        np.testing.assert_array_equal(ours.predict(T), wanted)
        np.testing.assert_allclose(signed(ours, ours.expansion_(T), theirs.get_labels()), values, atol=1e-10)
        # and back: the same numbers, for LIBSVM and for us
        to_libsvm(ours, tmp_path / "b.model")
        again = from_libsvm(tmp_path / "b.model")
        # a nu_svc may have the signs of a class turned: its vectors change places
        assert kind or same_expansion(again.expansion_, ours.expansion_)
        np.testing.assert_allclose(again.expansion_(T), ours.expansion_(T), atol=1e-12)
        assert again.classes_.tolist() == ours.classes_.tolist()
        np.testing.assert_array_equal(answers_of(libsvm, tmp_path / "b.model", T)[0], wanted)


@pytest.mark.parametrize("kind", [2, 3, 4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_regression_and_one_class_answer_as_libsvm_does(libsvm, tmp_path, kernel, kind):
    options = f"-q -s {kind} -t {KERNELS[kernel]} -g 0.3 -r 0.5 -d 2"
    libsvm.svm_save_model(str(tmp_path / "a.model"), libsvm.svm_train(X[:, 0].tolist(), X.tolist(), options))
    wanted, values, _ = answers_of(libsvm, tmp_path / "a.model", T)
    ours = from_libsvm(tmp_path / "a.model")
    if kind == 2:
        np.testing.assert_array_equal(ours.predict(T), wanted)
        np.testing.assert_allclose(ours.decision_function(T), values[:, 0], atol=1e-10)
        lines = (tmp_path / "a.model").read_text().splitlines()
        rho = float(next(line for line in lines if line.startswith("rho")).split()[1])
        np.testing.assert_allclose(ours.score_samples(T), values[:, 0] + rho, atol=1e-10)
    else:
        np.testing.assert_allclose(ours.predict(T), wanted, atol=1e-10)
    to_libsvm(ours, tmp_path / "b.model")
    assert same_expansion(from_libsvm(tmp_path / "b.model").expansion_, ours.expansion_)
    np.testing.assert_allclose(answers_of(libsvm, tmp_path / "b.model", T)[0], wanted, atol=1e-10)


def test_probabilities_of_two_classes_are_libsvms(libsvm, tmp_path):
    for labels in ([1, 3], [3, 1]):
        y = np.array(labels)[target(2)]
        libsvm.svm_save_model(
            str(tmp_path / "a.model"), libsvm.svm_train(y.tolist(), X.tolist(), "-q -s 0 -b 1 -g 0.3")
        )
        _, theirs, model = answers_of(libsvm, tmp_path / "a.model", T, True)
        theirs = theirs[:, np.argsort(model.get_labels())]
        ours = from_libsvm(tmp_path / "a.model")
        agree = theirs.argmax(axis=1) == np.searchsorted(ours.classes_, ours.predict(T))
        assert agree.mean() > 0.9  # LIBSVM's may contradict its own labels, ours never do
        np.testing.assert_allclose(ours.predict_proba(T)[agree], theirs[agree], atol=1e-10)
        to_libsvm(ours, tmp_path / "b.model")
        _, again, model = answers_of(libsvm, tmp_path / "b.model", T, True)
        np.testing.assert_allclose(again[:, np.argsort(model.get_labels())], theirs, atol=1e-10)
    for options, y in (("-s 0", target(3)), ("-s 3", X[:, 0])):
        libsvm.svm_save_model(
            str(tmp_path / "a.model"), libsvm.svm_train(y.tolist(), X.tolist(), f"-q -b 1 {options}")
        )
        with pytest.warns(
            UserWarning, match="probabilities in .* are left out: they are not those of two classes"
        ):
            assert not hasattr(from_libsvm(tmp_path / "a.model"), "predict_proba")


CLASSIFIERS = [name for name in everyone.KINDS if name.endswith(("SVC", "RVC", "GPC", "Classifier"))]


@pytest.mark.parametrize(
    ("name", "kernel", "n_classes"), in_turns(itertools.product(CLASSIFIERS, KERNELS), [2, 4])
)
def test_libsvm_reads_every_classifier(libsvm, tmp_path, name, kernel, n_classes):
    y = target(n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"metric": "one"} if name == "CompactSVC" else {"gamma": 0.3}
        model = everyone.fit(name, X[:80], y[:80], kernel=kernel, **options)
        to_libsvm(model, tmp_path / "a.model")
        ours = from_libsvm(tmp_path / "a.model", n_features=4)
    labels, _, _ = answers_of(libsvm, tmp_path / "a.model", T)
    outputs = model.expansion_(T)
    size = everyone.size(model, T)
    # rows on the border may go either way
    first, second = -np.sort(-outputs, axis=1)[:, :2].T if n_classes > 2 else (outputs[:, 0], 0.0)
    clear = np.abs(first - second) > 1e-9 * size
    assert clear.mean() > 0.6  # LPSVC leaves outputs of no class on the border
    np.testing.assert_array_equal(labels[clear], model.predict(T)[clear])
    np.testing.assert_array_equal(ours.predict(T)[clear], model.predict(T)[clear])


@pytest.mark.parametrize("name", [name for name in everyone.KINDS if name.endswith(("SVR", "RVR", "GPR"))])
def test_libsvm_reads_every_regressor(libsvm, tmp_path, name):
    options = {"metric": "one"} if name == "CompactSVR" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = everyone.fit(name, X[:80], X[:80, 0], **options)
    to_libsvm(model, tmp_path / "a.model")
    values, _, _ = answers_of(libsvm, tmp_path / "a.model", T)
    np.testing.assert_allclose(values, model.predict(T), atol=1e-10 * max(1.0, everyone.size(model, T)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = everyone.fit(name, X[:80], X[:80, :2], **options)
    with pytest.raises(ModelFormatError, match="it has 2 targets, and LIBSVM one"):
        to_libsvm(model, tmp_path / "a.model")


@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(kernel="poly"), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM(), SVC(kernel="sigmoid")],
    ids=lambda model: f"{type(model).__name__} {model.kernel}",
)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_models_of_scikit_learn_are_written_and_read(tmp_path, model, n_classes):
    y = LABELS[target(n_classes)]
    for rows in (X, sparse.csr_array(np.where(X > 0, X, 0.0))):
        model = model.fit(rows, y)
        to_libsvm(model, tmp_path / "a.model")
        ours = from_libsvm(tmp_path / "a.model", n_features=4)
        np.testing.assert_allclose(ours.predict(T), model.predict(T), atol=1e-9)
        if isinstance(model, SVC) and n_classes == 2:
            np.testing.assert_allclose(ours.decision_function(T), model.decision_function(T), atol=1e-9)
        assert ours.n_vectors_ == as_model(model).expansion.compact().n_vectors
        again = _again(ours, tmp_path)
        np.testing.assert_allclose(again(T), ours.expansion_(T), atol=1e-12)
        if rows is X:  # every vector is there once, in LIBSVM's own layout
            assert same_expansion(again, ours.expansion_)
            assert ours.n_vectors_ == model.n_support_.sum()


def _again(model, folder):
    to_libsvm(model, folder / "again.model")
    return from_libsvm(folder / "again.model", n_features=model.n_features_in_).expansion_


@pytest.mark.parametrize("n_classes", [2, 5])
def test_what_was_read_can_be_reduced_and_written_again(tmp_path, n_classes):
    y = LABELS[target(n_classes)]
    to_libsvm(SVC(C=10.0).fit(X, y), tmp_path / "a.model")
    model = from_libsvm(tmp_path / "a.model")
    small = reduce(model, X, y, max_vectors=30)
    assert small.n_vectors_ <= 30
    assert small.score(X, y) > model.score(X, y) - 0.05
    to_libsvm(small, tmp_path / "b.model")
    np.testing.assert_array_equal(from_libsvm(tmp_path / "b.model").predict(T), small.predict(T))
    assert from_libsvm(tmp_path / "b.model").n_vectors_ == small.n_vectors_  # copies are one vector again
    slimsvm.save(model, tmp_path / "a.slim")
    np.testing.assert_array_equal(slimsvm.load(tmp_path / "a.slim").predict(T), model.predict(T))


def test_rows_may_have_more_features_than_the_vectors_show(tmp_path):
    rows = np.column_stack([X[:, :2], np.zeros(150), np.zeros(150)])
    to_libsvm(SVC().fit(rows, target(2)), tmp_path / "a.model")
    assert from_libsvm(tmp_path / "a.model").n_features_in_ == 2
    wide = from_libsvm(tmp_path / "a.model", n_features=4)
    np.testing.assert_array_equal(wide.predict(rows), SVC().fit(rows, target(2)).predict(rows))
    with pytest.raises(ValueError, match="n_features is 1, but the vectors have 2"):
        from_libsvm(tmp_path / "a.model", n_features=1)
    far = (tmp_path / "a.model").read_text().replace(" 2:", " 2000000000:")
    (tmp_path / "far.model").write_text(far)
    with attacks.limited_memory():
        assert sparse.issparse(from_libsvm(tmp_path / "far.model").support_vectors_)


def model_of(readout, k=1, kernel=None):
    f = KernelExpansion(kernel or RBF(0.5), X[:5], RNG.standard_normal((5, k)), np.zeros(k))
    return Model(Inputs(4), f, readout)


def test_what_the_format_cannot_hold_is_refused(tmp_path):
    y = target(3)
    refused = {
        "it has a projection": everyone.fit("CompactSVC", X, y, metric="linear", rank=2),
        "it has the kernel Laplacian": slimsvm.LSSVC(kernel="laplacian").fit(X, y),
        "it has the kernel Precomputed": slimsvm.LSSVC(kernel="precomputed").fit(X @ X.T, y),
        "it has the kernel FunctionKernel": slimsvm.LSSVC(kernel=lambda A, B: np.asarray(A @ B.T) ** 2).fit(
            X, y
        ),
        "it has a width for each feature": slimsvm.LSSVC(gamma=np.array([0.1, 0.2, 0.3, 0.4])).fit(X, y),
        "it scales or encodes its inputs": make_pipeline(StandardScaler(), SVC()).fit(X, y),
        "it has labels that are not whole numbers": SVC().fit(X, np.array(["a", "b", "c"])[y]),
        "it has 2 targets": model_of(ValueReadout(False), 2),
        "it gives features or densities": model_of(FeaturesReadout()),
        "a file of LIBSVM cannot hold": model_of(DensityReadout()),
        "not whole numbers of 32 bits": model_of(SignReadout(np.array([0, 2**40]))),
    }
    for said, model in refused.items():
        with pytest.raises(ModelFormatError, match=said):
            to_libsvm(model, tmp_path / "a.model")
    assert not list(tmp_path.iterdir())
    equal = slimsvm.LSSVC(gamma=np.full(4, 0.25)).fit(X, y > 0)
    to_libsvm(equal, tmp_path / "a.model")
    np.testing.assert_array_equal(from_libsvm(tmp_path / "a.model").predict(T), equal.predict(T))
    with pytest.warns(UserWarning, match="probabilities by the normal distribution are not LIBSVM's"):
        to_libsvm(model_of(SignReadout(np.array([0, 1]), Probability("normal"))), tmp_path / "a.model")
    with pytest.warns(UserWarning, match="probabilities of several classes are not LIBSVM's"):
        to_libsvm(model_of(VotesReadout(np.arange(3), Probability("softmax")), 3), tmp_path / "a.model")
    empty = KernelExpansion(RBF(1.0), np.empty((0, 4)), np.empty((0, 3)), [1.0, 2.0, 3.0])
    to_libsvm(Model(Inputs(4), empty, VotesReadout(np.arange(3))), tmp_path / "a.model")
    assert from_libsvm(tmp_path / "a.model", n_features=4).predict(T).tolist() == [0] * len(T)


# Files that are wrong


def right_files(folder):
    """One file for each kind of model."""
    models = {
        "two": SVC(C=2.0).fit(X[:40], target(2)[:40]),
        "five": SVC(kernel="poly").fit(X[:40], LABELS[target(5)[:40]]),
        "value": SVR(kernel="sigmoid").fit(X[:40], X[:40, 0]),
        "one": OneClassSVM(kernel="linear", nu=0.2).fit(X[:40]),
        "likely": model_of(SignReadout(np.array([0, 1]), Probability("softmax", 2.0, 0.5))),
    }
    found = {}
    for name, model in models.items():
        to_libsvm(model, folder / f"{name}.model")
        found[name] = (folder / f"{name}.model").read_bytes()
    return found


WORDS = [
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"0", b"1", b"2", b"1_0", b"0x10", b"99999999999", b"1:1", b"0:1",
    b"-1:2", b"a:b", b"2147483647:1", b"2147483648:1", b"SV", b"rho", b"", b"\n", b"precomputed", b"c_svc",
    b"one_class", b"\xff", b"\x00", b":", b"1:", b"label 1 1", b"1e308", b"1e-320", b"+5", b"5.", b".5", b"5.5.5",
]  # fmt: skip


def changed(content, rng):
    """Bytes or words or lines altered, left out, doubled, moved."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        act = rng.randrange(7)
        i = rng.randrange(rng.choice([60, 200, len(data)])) % max(1, len(data))
        if act == 0:
            data[i : i + 1] = bytes([rng.randrange(256)])
        elif act == 1:
            del data[i : i + rng.choice([1, 5, 50])]
        elif act == 2:
            data = data[:i]
        elif act in (3, 4):
            words = bytes(data).split(b" ")
            j = rng.randrange(min(len(words), rng.choice([20, 1000])))
            words[j : j + rng.choice([0, 1, 1])] = [rng.choice(WORDS)]
            data = bytearray(b" ".join(words))
        else:
            lines = bytes(data).split(b"\n")
            j, k = rng.randrange(len(lines)), rng.randrange(min(len(lines), 12))
            if act == 5:
                lines[k] = lines[j]
            else:
                lines[k:k] = [lines[j]] if rng.random() < 0.5 else []
                lines[j], lines[k] = lines[k], lines[j]
            data = bytearray(b"\n".join(lines))
        if not data:
            break
    return bytes(data)


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return from_libsvm(path)


def test_altered_files_are_an_error_or_a_model(tmp_path):
    files = right_files(tmp_path)
    names, path, n = sorted(files), tmp_path / "altered.model", 12_000 if HARD else 500
    n_models = 0
    with attacks.limited_memory():
        for i in range(n):
            rng = random.Random(f"libsvm {i}")
            path.write_bytes(changed(files[names[i % len(names)]], rng))
            found = attacks.outcome(read, path)
            if not isinstance(found, ModelFormatError):
                n_models += 1
                attacks.check_consistent(found)
    assert n / 20 < n_models < n / 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("svm_type c_svc", "svm_type d_svc", "the svm_type 'd_svc' is unknown"),
        ("svm_type c_svc", "", "does not begin with svm_type"),
        ("kernel_type rbf", "kernel_type precomputed", "has a precomputed kernel and cannot be read"),
        ("kernel_type rbf", "kernel_type tree", "the kernel_type 'tree' is unknown"),
        ("gamma", "gama", "line 3: 'gama .*' is no line of a model file"),
        ("gamma", "gamma -", "line 3"),
        ("nr_class 2", "nr_class 3", "line 10: '1:.*' is not a finite number"),
        ("nr_class 2", "nr_class 1", "nr_class must be from 2"),
        ("nr_class 2", "nr_class 2\nnr_class 2", "line 5"),
        ("total_sv", "total_sv 1", "is no line"),
        ("\nlabel 0 1", "", "there is no line 'label'"),
        ("label 0 1", "label 1 1", "a label stands there twice"),
        ("label 0 1", "label 0 0.5", "'0.5' is not a whole number"),
        ("nr_sv", "nr_sv 1", "nr_sv must have 2 entries"),
        ("\nSV", "", "line 9"),
        (" 2:", " 1:", "is not a feature and its value"),
        (" 1:", " 0:", "is not a feature and its value"),
        (" 1:", " 1:nan", "is not a finite number"),
        ("rho ", "rho 1e999 ", "rho must have 1 entries, not 2"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, old, new, said):
    text = right_files(tmp_path)["two"].decode()
    assert old in text
    (tmp_path / "wrong.model").write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFormatError, match=said):
        from_libsvm(tmp_path / "wrong.model")


def test_bombs_are_refused(tmp_path):
    path = tmp_path / "bomb.model"
    with attacks.limited_memory():
        for name, text in attacks.libsvm_bombs().items():
            path.write_text(text)
            assert isinstance(attacks.outcome(read, path), ModelFormatError), name
        with path.open("wb") as file:
            file.truncate(2**40)
        with pytest.raises(ModelFormatError, match="1099511627776 bytes, more than"):
            from_libsvm(path)


def test_every_attack_that_was_kept_fails():
    paths = sorted((Path(__file__).parent / "attacks").glob("*.model"))
    assert len(paths) >= 5
    with attacks.limited_memory():
        for path in paths:
            assert isinstance(attacks.outcome(read, path), ModelFormatError), path.name
