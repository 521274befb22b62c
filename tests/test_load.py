"""Many fits at once and one after the other: threads, processes, memory."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import slimsvm
from everyone import NAMES, answers, data, fit, known, make, same_bits
from interruptions import blas_limits
from profiles import HARD, hard
from slimsvm.datasets import make_banana

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
THREADS = 8
# Fits in all, those of the warm-up, rows of each, and what may be taken in between: a quarter of what it would be if a
# kernel matrix were kept in each.
FITS, WARM_UP, MEMORY_ROWS = 200, 50, 120
MOST_GROWTH = (FITS - WARM_UP) * 8 * MEMORY_ROWS**2 // 4

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:CompactSVC predicts one class only"),
]


def fitted_answers(name: str) -> tuple[str, dict[str, np.ndarray]]:
    """What a model says, fitted wherever this is called."""
    warnings.simplefilter("ignore")  # a new process has filters of its own
    X, y, weight, T = data(name)
    return name, answers(fit(name, X, y, weight), T)


@pytest.fixture(scope="module")
def models():
    """Every model, fitted with nothing else going on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: known(name) for name in NAMES}


@pytest.fixture(scope="module")
def alone(models):
    """What every model says, asked one after the other."""
    return {name: answers(model, data(name)[3]) for name, model in models.items()}


# Threads


def test_eight_threads_fit_everything_at_once(alone):
    def work(shift):
        with_names = [NAMES[(shift + i) % len(NAMES)] for i in range(0, len(NAMES), 1 if HARD else THREADS)]
        return [(name, answers(fit(name, *data(name)[:3]), data(name)[3])) for name in with_names]

    with threadpool_limits(2, user_api="blas"):
        before = blas_limits()
        with ThreadPoolExecutor(THREADS) as pool:
            done = [pair for pairs in pool.map(work, range(THREADS)) for pair in pairs]
        assert blas_limits() == before
    assert {name for name, _ in done} == set(NAMES)
    for name, found in done:
        same_bits(found, alone[name])


def test_eight_threads_ask_one_model(models, alone):
    with ThreadPoolExecutor(THREADS) as pool:
        for name, model in models.items():
            T = data(name)[3]
            for found in pool.map(lambda _, model=model, T=T: answers(model, T), range(THREADS)):
                same_bits(found, alone[name])


def test_fits_in_threads_silence_no_warning():
    """scikit-learn's own checks change filters, for complex numbers; ours must not swallow what others say."""
    X, y = make_banana(300, random_state=0)
    filters, shown = list(warnings.filters), warnings._showwarnmsg_impl

    def work(seed):
        for _ in range(5):
            slimsvm.FullSVC(C=1.0 + seed).fit(X, y)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)
        added = {action for action, *_ in warnings.filters if action in ("always", "ignore")}
        added -= {action for action, *_ in filters}
        swallowed = warnings._showwarnmsg_impl is not shown
        warnings.filters[:], warnings._showwarnmsg_impl = filters, shown
    assert not swallowed
    assert not added


# Processes


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_pool_that_forks(alone):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for name, found in pool.map_async(fitted_answers, NAMES, chunksize=5).get(300):
            same_bits(found, alone[name])


@hard
def test_a_pool_that_spawns(alone):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for name, found in pool.map_async(fitted_answers, NAMES, chunksize=5).get(600):
            same_bits(found, alone[name])


@hard
@pytest.mark.parametrize("name", ["CompactSVC", "FullSVC", "LSSVC", "RVC", "ZeroNormSVC"])
def test_a_search_in_processes(name):
    X, y = make_banana(100, random_state=0)
    grid = {"gamma": [0.3, 1.0]} if name != "CompactSVC" else {"max_vectors": [2, 4]}
    found, wanted = (
        GridSearchCV(make(name), grid, cv=3, n_jobs=n_jobs).fit(X, y).cv_results_["mean_test_score"]
        for n_jobs in (2, 1)
    )
    np.testing.assert_array_equal(found, wanted)


# Memory


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@needs_proc
@pytest.mark.parametrize("name", NAMES if HARD else ["FullSVC"])
def test_memory_stays_flat(name):
    X, y, weight, T = data(name, n=MEMORY_ROWS)
    grown = []
    for _ in range(2):  # what the allocator keeps for itself, it has after the first time
        for i in range(FITS):
            answers(fit(name, X, y, weight), T)
            if i == WARM_UP:
                gc.collect()
                before = resident()
        gc.collect()
        grown.append(resident() - before)
        if grown[-1] < MOST_GROWTH:
            break
    assert min(grown) < MOST_GROWTH, grown


@hard
@needs_proc
@needs_fork
def test_little_memory_after_a_fork_with_two_blas_threads():
    """OpenBLAS starts its threads again after a fork, and ends the process where they get no memory."""
    sizes = ["300", "1", "30", "100", "300"]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("limit_checks.py")), *sizes],
        capture_output=True, text=True, timeout=3000, env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == len(NAMES) * (len(sizes) - 1), done.stderr
    assert [line for line in lines if not line.endswith((": ok", ": MemoryError"))] == []
