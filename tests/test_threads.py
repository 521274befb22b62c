"""BLAS keeps to one thread inside, and to what it was outside, whatever happens in between."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from slimsvm import LSSVC, CompactSVC, threads
from slimsvm.datasets import make_banana
from slimsvm.threads import n_threads, one_blas_thread


def set_num_threads(library, number):
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


def limits():
    return [
        library.get_num_threads()
        for library in ThreadpoolController().select(user_api="blas").lib_controllers
    ]


@pytest.fixture(autouse=True)
def two_blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = limits()
    for library in libraries:
        set_num_threads(library, 2)  # not by threadpool_limits, which lets no other thread change them
    if set(limits()) != {2}:
        pytest.skip("the BLAS here cannot be given two threads")
    yield
    after = limits()
    for library, number in zip(libraries, before, strict=True):
        set_num_threads(library, number)
    assert set(after) == {2}


def test_one_inside_and_as_before_outside():
    for _ in range(2):
        with one_blas_thread():
            assert set(limits()) == {1}
        assert set(limits()) == {2}


def test_nested():
    with one_blas_thread():
        with one_blas_thread():
            assert set(limits()) == {1}
        assert set(limits()) == {1}


def test_the_same_object_twice_and_as_a_decorator():
    context = one_blas_thread()
    for _ in range(2):
        with context:
            assert set(limits()) == {1}

    @one_blas_thread()
    def inner(depth):
        return inner(depth - 1) if depth else limits()

    assert set(inner(3)) == {1}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_inside(error):
    with pytest.raises(error), one_blas_thread(), one_blas_thread():
        raise error


def test_a_context_that_never_left_is_left_when_it_is_collected():
    context = one_blas_thread()
    context.__enter__()
    assert set(limits()) == {1}
    del context


def test_limits_that_were_set_inside_stay():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            threadpool_limits(3, user_api="blas")
        assert set(limits()) == {3}


def test_threads_that_overlap():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait(10)
    assert set(limits()) == {1}  # the other is still there
    leave.set()
    thread.join()


def test_many_threads_in_no_order():
    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            with one_blas_thread():
                time.sleep(1e-4 * rng.random())
                assert set(limits()) == {1}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_concurrent_fits_leave_the_limits_as_they_were():
    X, y = make_banana(60, random_state=0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: CompactSVC(max_vectors=2, random_state=seed).fit(X, y), range(8)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_knows_its_own_thread_only():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    def in_child(check):
        child = os.fork()
        if child == 0:
            os._exit(0 if check() else 1)
        return os.waitpid(child, 0)[1] == 0

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    assert in_child(lambda: set(limits()) == {2})

    def leaves():
        with one_blas_thread():
            within = set(limits()) == {1}
        return within and set(limits()) == {2}

    assert in_child(leaves)
    leave.set()
    thread.join()
    with one_blas_thread():
        assert in_child(lambda: set(limits()) == {1})


def test_a_library_with_a_limit_for_each_thread(monkeypatch):
    class OpenMP:
        threading_layer = "openmp"
        limit = threading.local()

        def get_num_threads(self):
            return getattr(self.limit, "value", 4)

        def set_num_threads(self, threads):
            self.limit.value = threads

    library = OpenMP()
    monkeypatch.setattr(threads._limits, "_look", lambda: None)
    monkeypatch.setattr(threads._limits, "_libraries", [library])
    seen = []

    def other():
        with one_blas_thread():
            seen.append(library.get_num_threads())
        seen.append(library.get_num_threads())

    with one_blas_thread():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with one_blas_thread():
            seen.append(library.get_num_threads())
        seen.append(library.get_num_threads())
    assert [*seen, library.get_num_threads()] == [1, 4, 1, 1, 4]


def test_entering_is_cheap():
    with one_blas_thread():
        start = time.perf_counter()
        for _ in range(1000):
            with one_blas_thread():
                pass
        assert time.perf_counter() - start < 0.1


def test_the_bits_do_not_depend_on_the_number_of_blas_threads():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    y = X[:, 0] * X[:, 1] > 0
    models = []
    for limit in (1, 2):
        with threadpool_limits(limit, user_api="blas"):
            models.append(LSSVC().fit(X, y))
    assert models[0].dual_coef_.tobytes() == models[1].dual_coef_.tobytes()


def test_n_jobs():
    assert n_threads(None) == n_threads(1) == 1
    assert n_threads(-1) >= 1
    assert n_threads(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        n_threads(0)
