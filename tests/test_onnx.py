"""ONNX graphs answer as Python does: every estimator, kernel, readout and input, near and far."""

from __future__ import annotations

import json
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import everyone
import exported
import reference
from exported import ESTIMATORS, Case, answers_of, check
from far_row_checks import DISTANCES, DTYPES, PRODUCTS, blocks, error_of, fits, model
from profiles import HARD
from slimsvm import LSSVC, LSSVR, CompactSVC, EmpiricalSVC, to_onnx
from slimsvm.adapters.slim import slim
from slimsvm.datasets import make_banana
from slimsvm.export.onnx import Layout
from slimsvm.export.onnx_kernels import DIFFERENCES_AT_ONCE

NUMBERS = ("float32", "float64")
every_number = pytest.mark.parametrize("number", NUMBERS)


def session(proto):
    """A session of one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def answers(proto, feeds):
    """Everything a graph says, by name."""
    runs = session(proto)
    return dict(zip([output.name for output in runs.get_outputs()], runs.run(None, feeds), strict=True))


def agrees(case, number):
    rows = case.rows.astype(number)
    check(Case(case.name, case.model, rows), answers(to_onnx(case.model, number=number), {"X": rows}), number)


@every_number
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_and_kernel(name, number):
    cases = [case for case in exported.estimators() if case.name.startswith(f"{name} ")]
    kernels = 5 if not name.startswith(("Reduced", "SparseKernelDensity")) else 4 if "Red" in name else 1
    assert len(cases) == (len(exported.TASKS) if HARD else 1) * kernels
    for case in cases:
        agrees(case, number)


@every_number
def test_far_from_the_origin_with_sentinels_and_with_outliers(number):
    assert len(exported.hard()) >= 3 * len(ESTIMATORS)
    for case in exported.hard():
        agrees(case, number)


@every_number
@pytest.mark.parametrize("cases", [exported.projected, exported.readouts, exported.odd])
def test_projections_readouts_and_edges(cases, number):
    for case in cases():
        agrees(case, number)


@every_number
def test_pipelines_fold_in(number):
    for case, table in exported.inputs():
        proto = to_onnx(case.model, number=number)
        if isinstance(table, np.ndarray):
            check(case, answers(proto, {"X": table.astype(number)}), number)
            continue
        texts = [name for name in table if table[name].dtype != float]
        feeds = {name: table[[name]].fillna("").to_numpy().astype(object) for name in texts}
        if "X" in feeds:
            feeds["column X"] = feeds.pop("X")
        numeric = table.drop(columns=texts).to_numpy()
        if numeric.size:
            feeds["X"] = numeric.astype(number)
        assert {tensor.name for tensor in proto.graph.input} == set(feeds)
        rounded = table.copy()
        for column in table.columns.difference(texts):
            rounded[column] = table[column].astype(number).astype(float)
        check(Case(case.name, case.model, rounded), answers(proto, feeds), number)


# Far rows


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_vectors_anywhere(dtype):
    number, compared = np.dtype(dtype).name, 0
    for m in (5, 60):
        for name, (X, Z) in blocks(dtype, m=m).items():
            for kernel in (*DISTANCES, *PRODUCTS):
                coef, intercept = model(X, Z, 2)
                with np.errstate(all="ignore"):
                    exact = reference.exact_values(kernel, X, Z)
                    storable = fits(exact, X, Z, coef, intercept)
                if kernel.name == "linear" and not storable:
                    continue
                runs = session(to_onnx(exported.features(kernel, Z, coef, intercept), number=number))
                got = runs.run(None, {"X": X})[0]
                assert np.isfinite(got).all(), f"{name}, {kernel}"
                if kernel in DISTANCES or storable:
                    compared += 1
                    alone = np.vstack([runs.run(None, {"X": X[i : i + 1]})[0] for i in range(0, len(X), 9)])
                    error = error_of(got, exact, X, coef, intercept)
                    error = max(error, error_of(alone, (exact[0][::9], exact[1][::9]), X, coef, intercept))
                    assert error <= exported.TOLERANCE[number], f"{name}, {kernel}, {m}: {error}"
    assert compared > 250


@every_number
def test_a_finite_row_never_gives_not_a_number(number):
    rng = np.random.default_rng(0)
    T = rng.standard_normal((6, 4)).astype(number)
    limits = np.finfo(number)
    T[0, 1], T[1, 2], T[2], T[3, 0], T[4] = limits.min, limits.max, limits.min, -9999, 1e30
    y = rng.random(60) > 0.5
    for kernel in exported.KERNELS:
        for kind in (LSSVC, SVC) if kernel != "laplacian" else (LSSVC,):
            estimator = kind(kernel=kernel, gamma=0.5).fit(rng.standard_normal((60, 4)), y)
            assert np.isfinite(answers(to_onnx(estimator, number=number), {"X": T})["scores"]).all(), kernel
    projected = CompactSVC(metric="linear", max_vectors=4, random_state=0).fit(
        rng.standard_normal((60, 4)), y
    )
    assert projected.expansion_.projection is not None
    found = answers(to_onnx(projected, number=number), {"X": T})
    assert np.isfinite(found["scores"]).all()
    assert np.isfinite(found["probabilities"]).all()


def test_only_standard_operators_and_small_batches_of_differences():
    for case in (*exported.odd(), *exported.readouts()):
        proto = to_onnx(case.model)
        assert [(opset.domain, opset.version) for opset in proto.opset_import] == [("", 19)]
        assert all(node.domain == "" for node in proto.graph.node)
        onnx.checker.check_model(proto, full_check=True)
    wide = exported.features(
        exported.Laplacian(1.0), np.zeros((DIFFERENCES_AT_ONCE, 2)), np.ones(DIFFERENCES_AT_ONCE), 0
    )
    assert "Scan" in [node.op_type for node in to_onnx(wide).graph.node]


@every_number
def test_another_runtime_gives_the_same_answers(number):
    """The reference implementation of ONNX itself, in NumPy."""
    for case in (*exported.odd(), *exported.readouts(), *exported.projected()):
        proto = to_onnx(case.model, number=number)
        rows = case.rows.astype(number)
        evaluator = ReferenceEvaluator(proto)
        with np.errstate(all="ignore"):
            found = dict(zip(evaluator.output_names, evaluator.run(None, {"X": rows}), strict=True))
        check(Case(case.name, case.model, rows), found, number)


def test_two_classes_of_a_plain_machine_take_few_operators():
    rng = np.random.default_rng(0)
    svc = SVC(gamma=0.05).fit(rng.standard_normal((100, 20)), np.arange(100) % 2)
    assert len(to_onnx(svc).graph.node) <= 9


# The file


def test_the_file_is_whole_and_says_what_it_is(tmp_path):
    import pandas as pd

    X, y = make_banana(80, random_state=0)
    table = pd.DataFrame(X, columns=["length", "width"])
    path = tmp_path / "banana.onnx"
    estimator = EmpiricalSVC().fit(table, np.where(y > 0, "yes", "no"))
    proto = to_onnx(estimator, path)
    assert onnx.load(path) == proto
    assert [file.name for file in tmp_path.iterdir()] == ["banana.onnx"]
    assert proto.producer_name == "slimsvm"
    assert "rbf kernel" in proto.doc_string
    known = {item.key: item.value for item in proto.metadata_props}
    assert json.loads(known["feature_names"]) == ["length", "width"]
    assert json.loads(known["classes"]) == ["no", "yes"]
    with pytest.raises(OSError, match=r"no such folder|No such file"):
        to_onnx(estimator, tmp_path / "no such folder" / "file.onnx")


def test_what_cannot_be_written_is_said():
    X, y = make_banana(40, random_state=0)
    with pytest.raises(ValueError, match=r"to_onnx writes the kernels .* not FunctionKernel"):
        to_onnx(LSSVC(kernel=lambda a, b: a @ b.T).fit(X, y))
    with pytest.raises(ValueError, match=r"to_onnx writes the kernels .* not precomputed"):
        to_onnx(LSSVC(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(ValueError, match=r"number must be 'float32' or 'float64' for to_onnx, got 'int8'"):
        to_onnx(LSSVC().fit(X, y), number="int8")
    with pytest.raises(
        ValueError, match=r"coef has numbers beyond 3.4e\+38, which number='float32' cannot hold"
    ):
        to_onnx(exported.features(exported.RBF(1.0), X[:1], [1e39], 0.0))
    with pytest.raises(TypeError, match=r"ZeroNormSelector .* has no vectors"):
        to_onnx(everyone.make("ZeroNormSelector").fit(X, y))


def test_without_the_package_there_is_a_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"to_onnx needs the package onnx: pip install 'slimsvm\[onnx\]'\."):
        to_onnx(exported.features(exported.RBF(1.0), [[0.0]], [1.0], 0.0))


# Inside pipelines of skl2onnx


def converted(pipe, rows):
    import skl2onnx

    options = {id(pipe): {"zipmap": False}} if is_classifier(pipe) else None
    return answers(skl2onnx.to_onnx(pipe, rows[:1], options=options), {"X": rows})


@every_number
@pytest.mark.parametrize("name", everyone.NAMES)
def test_skl2onnx_converts_a_pipeline_with_ours_inside(name, number):
    for n_classes in (2, 3):
        X, y, _, T = everyone.data(name, n=40, n_classes=n_classes)
        pipe = make_pipeline(StandardScaler(), PCA(2), everyone.make(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipe.fit(X, y)
        rows = T.astype(number)
        found, T = converted(pipe, rows), pipe[:-1].transform(rows.astype(np.float64))
        if name == "ZeroNormSelector":
            np.testing.assert_allclose(found["variable"], pipe[-1].transform(T), atol=1e-5)
            continue
        whole = exported.as_model(pipe[-1])
        wanted = answers_of(whole, T)
        limit = 10 * exported.TOLERANCE[number] * (1 + exported.size(whole, T).max())
        if "label" not in wanted:
            [answer] = wanted.values()
            assert np.abs(found["variable"] - answer.reshape(len(T), -1)).max() <= limit
            continue
        sure = exported.margins(whole, whole.outputs(T)) > limit
        assert (found["label"] == wanted["label"])[sure].all()
        scores = wanted.get("probabilities", wanted["scores"])
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores]) if is_classifier(pipe) else scores[:, None]
        assert (
            np.abs(found["probabilities" if is_classifier(pipe) else "scores"] - scores)[sure].max() <= limit
        )


def test_skl2onnx_takes_models_with_scalers_folded_in_but_not_texts():
    import skl2onnx

    seen = set()
    for case, table in exported.inputs():
        estimator = slim(case.model)
        estimator.n_features_in_ = case.model.inputs.n_features
        if isinstance(table, np.ndarray):
            rows = table.astype(np.float64)
            found = answers(skl2onnx.to_onnx(estimator, rows[:1]), {"X": rows})
            assert np.abs(found["probabilities"][:, 1] - case.model.outputs(rows)[:, 0]).max() < 1e-9, (
                case.name
            )
            seen.add("numbers")
        elif len(Layout.of(case.model.inputs).texts):
            with pytest.raises(ValueError, match=r"columns of text .* slimsvm\.to_onnx"):
                skl2onnx.to_onnx(estimator, np.zeros((1, case.model.inputs.n_features)))
            seen.add("texts")
    assert seen == {"numbers", "texts"}


def test_a_batch_of_no_rows_has_no_answers():
    for case in (*exported.odd(), *exported.readouts()):
        proto = to_onnx(case.model)
        if "Scan" in [node.op_type for node in proto.graph.node]:
            continue  # for which onnxruntime needs a row
        empty = np.zeros((0, case.model.inputs.n_features), np.float32)
        assert all(len(answer) == 0 for answer in answers(proto, {"X": empty}).values()), case.name


def test_skl2onnx_gives_the_same_outputs_the_second_time():
    import skl2onnx

    X, y = make_banana(60, random_state=0)
    pipe = make_pipeline(StandardScaler(), CompactSVC(max_vectors=3, random_state=0)).fit(
        X, np.where(y > 0, "a", "b")
    )
    first, second = (skl2onnx.to_onnx(pipe, X[:1]) for _ in range(2))
    for proto in (first, second):
        found = answers(proto, {"X": X})
        assert found["label"].tolist() == pipe.predict(X).tolist()
        assert np.abs(found["probabilities"] - pipe.predict_proba(X)).max() < 1e-12
    with pytest.raises(ValueError, match=r"CompactSVC needs operators of version 18: .* not 15"):
        skl2onnx.to_onnx(pipe, X[:1], target_opset=15)
    with pytest.raises(ValueError, match=r"skl2onnx writes the kernels .* not FunctionKernel"):
        skl2onnx.to_onnx(LSSVR(kernel=lambda a, b: a @ b.T).fit(X, X[:, 0]), X[:1])
