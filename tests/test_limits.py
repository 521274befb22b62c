"""Nothing large unannounced: what is refused, what is announced, and what works on many rows or columns."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

import everyone
import slimsvm
from profiles import HARD, hard
from slimsvm import KernelExpansion, LongFitWarning, limits
from slimsvm.rows import STREAM_COLUMNS, distinct_rows, narrowed, occurring

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")

# With default parameters and 100,000 rows of three features: refused, announced, or fitted in minutes.
REFUSED = {
    "GreedyLSSVC", "GreedyLSSVR", "LPSVC", "PrunedLSSVC", "SparseProbitClassifier", "SparsityControlledSVC",
    "TwoStageLSSVC", "TwoStageLSSVR", "ZeroNormSVC", "ZeroNormSVR",
}  # fmt: skip
ANNOUNCED = {
    "FullSVC", "LSSVC", "LSSVR", "MatchingPursuitSVC", "MatchingPursuitSVR", "RVC", "RVR", "Reduced OneClassSVM",
    "Reduced SVC", "Reduced SVR", "SparseGreedyGPC", "SparseGreedyGPR", "SparseKernelDensity",
}  # fmt: skip
# EmpiricalSVC and EmpiricalFeatureMap are refused as soon as they have selected too many vectors.
FITTED = {
    "CompactSVC", "CompactSVR", "EmpiricalFeatureMap", "EmpiricalSVC", "FixedSizeLSSVC", "FixedSizeLSSVR",
    "ZeroNormSelector",
}  # fmt: skip
N_ROWS = 100_000


def many_rows(name, n=N_ROWS, d=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, y if name.endswith("R") else (y > 0).astype(int)


def default(name):
    return everyone.WRAPPED[name]() if name in everyone.WRAPPED else everyone.KINDS[name]()


def wide(X, d=300_000_000):
    """The same rows with their columns far apart among very many, as CSR, and where they went."""
    columns = np.linspace(5, d - 7, X.shape[1]).astype(np.int32)
    rows, places = np.nonzero(X)
    return sparse.csr_array((X[rows, places], (rows, columns[places])), shape=(len(X), d)), columns


def test_every_estimator_is_known_to_be_refused_announced_or_fitted():
    assert REFUSED | ANNOUNCED | FITTED == set(everyone.NAMES)
    assert len(REFUSED) + len(ANNOUNCED) + len(FITTED) == len(everyone.NAMES)


@pytest.mark.parametrize("name", sorted(REFUSED | ANNOUNCED))
def test_many_rows_are_refused_or_announced_at_once(name):
    X, y = many_rows(name)
    error, text = (
        (MemoryError, r"GiB, above the limit of 2 GiB; .*(use|set|lower)")
        if name in REFUSED
        else (LongFitWarning, r"this may take about .* (hours|minutes|days) .*; (lower|set|use)")
    )
    model = default(name)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=text):
            model.fit(X, y)
    assert time.process_time() - start < 3.0
    assert not hasattr(model, "n_features_in_")


def test_a_selection_that_grows_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "COLUMNS_LIMIT_BYTES", 8 * 2000 * 300)
    X, y = many_rows("EmpiricalSVC", n=2000)
    for model in (slimsvm.EmpiricalSVC(gamma=1e3), slimsvm.EmpiricalFeatureMap(gamma=1e3)):
        for selection in ("cholesky", "pivoted_cholesky", "random_cholesky"):
            with pytest.raises(MemoryError, match=r"2000 rows with [34]\d\d vectors.*set max_vectors"):
                model.set_params(selection=selection).fit(X, y)
        model.set_params(max_vectors=250, selection="cholesky").fit(X, y)


def test_parameters_that_limit_the_work_are_not_refused():
    X, y = many_rows("GreedyLSSVC", n=N_ROWS)
    model = slimsvm.GreedyLSSVC(n_candidates=59, max_vectors=20, random_state=0).fit(X, y)
    assert model.score(X[:1000], y[:1000]) > 0.7


# Messages


def test_a_refusal_says_bytes_limit_and_what_to_do():
    with pytest.raises(MemoryError, match=r"^the table needs 298 GiB, above the limit of 2 GiB; use less\.$"):
        limits.check_memory(8.0 * 200_000**2, "the table needs", "use less")
    limits.check_memory(2.0**20, "the table needs", "use less")


def test_a_refusal_knows_what_is_left(monkeypatch):
    monkeypatch.setattr(limits, "memory_left", lambda: 2.0**30)
    limits.check_memory(2.0**29, "the table needs", "use less")
    with pytest.raises(MemoryError, match=r"1.5 GiB, and 1 GiB of memory are left; use less"):
        limits.check_memory(1.5 * 2**30, "the table needs", "use less")
    with pytest.raises(
        MemoryError, match=r"0.5 GiB about 3 times, 1.5 GiB in all, and 1 GiB of memory are left"
    ):
        limits.check_memory(2.0**29, "the table needs", "use less", times=3)


def test_long_work_is_announced_and_short_work_is_not():
    limits.announce("LSSVC", "iterations", 1.0, limits.LONG_SECONDS, instead="use less")
    with pytest.warns(
        LongFitWarning,
        match=r"^LSSVC: this may take about 3.9 hours \(50 iterations of about 4.7 minutes each, at most 1,000\)",
    ):
        limits.announce("LSSVC", "iterations", 280.0, 50, most=1000, instead="use less")


@needs_proc
def test_what_is_left_follows_the_limit_of_the_process():
    code = (
        "import resource; from slimsvm.limits import memory_left\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + 2**28, -1))\n"
        "assert 2**27 < memory_left() <= 2**28 + 2**20, memory_left()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# Little memory


@needs_proc
def test_little_memory_is_a_memory_error_and_no_crash():
    # one thread: OpenBLAS makes its threads again after a fork, and ends the process where they get no memory
    sizes = ["3000", "1", "100", "200"] if HARD else ["300", "4"]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("limit_checks.py")), *sizes],
        capture_output=True, text=True, timeout=3000, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == len(everyone.NAMES) * (len(sizes) - 1), done.stderr
    assert [line for line in lines if not line.endswith((": ok", ": MemoryError"))] == []


@needs_proc
def test_blas_without_memory_for_its_buffers_is_a_memory_error():
    code = (
        "import resource, numpy as np; from slimsvm import LSSVC; LSSVC()\n"
        "X = np.random.default_rng(0).standard_normal((300, 2))\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + 2**23, -1))\n"
        "try:\n    LSSVC().fit(X, X[:, 0] > 0); print('fitted')\n"
        "except MemoryError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stdout.startswith(("the buffers of BLAS need", "fitted"))


# Very many columns


@pytest.mark.parametrize("name", ["EmpiricalSVC", "FixedSizeLSSVR", "FullSVC", "LSSVC", "RVC"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_empty_columns_cost_nothing_and_change_nothing(name, kernel):
    X, y, _, T = everyone.data(name, n=40)
    y = y if y.ndim == 1 else y[:, 0]
    options = {"kernel": kernel} if kernel == "linear" else {"kernel": kernel, "gamma": 0.3}
    narrow = everyone.fit(name, X, y, **options)
    tracemalloc.start()
    model = everyone.fit(name, wide(X)[0], y, **options)
    answers = everyone.answers(model, wide(T)[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**25
    assert model.expansion_.n_features == 300_000_000
    if name in ("FullSVC", "LSSVC", "RVC"):  # the others depend on the order of the rows, which is another
        everyone.close(answers, everyone.answers(narrow, T), 1e-4, everyone.size(narrow, T))


def test_gamma_scale_counts_empty_columns():
    X, y, _, _ = everyone.data("LSSVC", n=40)
    d = 300_000_000
    expected = SVC(gamma="scale").fit(sparse.csr_array(X), y)._gamma * 3 * X.var()
    assert expected == pytest.approx(1.0)
    W = wide(X)[0]
    variance = (X**2).sum() / (40 * d) - (X.sum() / (40 * d)) ** 2
    assert slimsvm.LSSVC().fit(W, y).expansion_.kernel.gamma == pytest.approx(1.0 / (d * variance))


@pytest.mark.parametrize("name", ["CompactSVC", "CompactSVR", "SparseKernelDensity", "ZeroNormSelector"])
def test_numbers_for_very_many_columns_are_refused(name):
    X, y, _, _ = everyone.data(name, n=40)
    tracemalloc.start()
    with pytest.raises(MemoryError, match=r"300000000 columns.* 2\.24 GiB.*leave out columns"):
        everyone.make(name).fit(wide(X)[0], y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**25


def test_reducing_a_model_of_very_many_columns_takes_little_memory():
    X, y, _, T = everyone.data("LSSVC", n=40)
    W = wide(X)[0]
    model = slimsvm.LSSVC(gamma=0.3).fit(W, y)
    tracemalloc.start()
    slim = slimsvm.reduce(model, W, y, max_vectors=5)
    slim.predict(wide(T)[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert slim.n_vectors_ <= 5
    assert peak < 2**25


def test_a_stored_model_that_claims_a_huge_shape_takes_little_memory():
    X, y, _, _ = everyone.data("LSSVC", n=40)
    stored = slimsvm.LSSVC(gamma=0.3).fit(sparse.csr_array(X), y).expansion_.to_dict()
    m = stored["shape"][0]
    tracemalloc.start()
    claimed = KernelExpansion.from_dict({**stored, "shape": (m, 2**40)})
    assert np.isfinite(claimed(sparse.csr_array((3, 2**40)))).all()
    with pytest.raises(slimsvm.ModelFormatError):
        KernelExpansion.from_dict({**stored, "shape": (2**40, 3)})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**25


def test_narrow_rows_are_the_same_rows():
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [1.0, 0.0, 2.0]])
    W, columns = wide(X, d=STREAM_COLUMNS + 10)
    narrow, found = occurring(W)
    np.testing.assert_array_equal(found, columns[[0, 2]])
    np.testing.assert_array_equal(narrow.toarray(), X[:, [0, 2]])
    left, right = narrowed(W[:1], W[1:])
    np.testing.assert_array_equal(left.toarray() @ right.toarray().T, X[:1] @ X[1:].T)
    first, group = distinct_rows(W)
    assert len(first) == 2
    assert group[0] == group[2] != group[1]


# What works


@hard
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("CompactSVC", {}),
        ("EmpiricalSVC", {"max_vectors": 100}),
        ("FixedSizeLSSVC", {}),
        ("FixedSizeLSSVR", {}),
        ("GreedyLSSVC", {"n_candidates": 146, "max_vectors": 300}),
        ("MatchingPursuitSVC", {"n_candidates": 59}),
        ("SparseGreedyGPR", {"tol": 0.0}),
        ("TwoStageLSSVC", {"n_candidates": 300, "n_vectors": 50}),
    ],
)
def test_what_works_on_200000_rows(name, parameters):
    X, y = many_rows(name, n=200_000, d=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongFitWarning)
        model = everyone.KINDS[name](**parameters, random_state=0).fit(X, y)
    assert model.score(X[:5000], y[:5000]) > 0.5
