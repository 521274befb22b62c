"""What test_core.py runs in processes of their own: one per instruction set, or one to be interrupted."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np

import reference
from far_row_checks import compare_far_rows  # noqa: F401
from slimsvm import _core

TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
ROWS = (1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20)  # around the edges of tiles and of the short path
VECTORS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 64, 65, 96, 97, 100)
FEATURES = (1, 2, 3, 6, 15, 16, 17, 33)
OUTPUTS = (1, 3)
NO_WIDTHS = np.empty(0)


def kernels(d: int) -> dict:
    """For each kernel: its name and parameters in the core, and its reference, for d features."""
    widths = np.linspace(0.5, 1.5, d) / d
    gamma = 1.0 / d
    return {
        "rbf": ((0.0, 0.0, 0, widths), lambda X, Z: reference.rbf(X, Z, widths)),
        "laplacian": ((0.0, 0.0, 0, widths), lambda X, Z: reference.laplacian(X, Z, widths)),
        "linear": ((1.0, 0.0, 1, NO_WIDTHS), reference.linear),
        "poly": ((gamma, 0.5, 3, NO_WIDTHS), lambda X, Z: reference.poly(X, Z, gamma, 0.5, 3)),
        "sigmoid": ((gamma, -0.25, 0, NO_WIDTHS), lambda X, Z: reference.sigmoid(X, Z, gamma, -0.25)),
    }


def compare_with_reference() -> None:
    """Every kernel, dtype and shape, near the origin and (for distances) far from it."""
    print(_core.instruction_set())
    rng = np.random.default_rng(0)
    for d in FEATURES:
        for dtype in (np.float32, np.float64):
            X = rng.standard_normal((max(ROWS), d)).astype(dtype)
            Z = rng.standard_normal((max(VECTORS), d)).astype(dtype)
            for name, (parameters, truth) in kernels(d).items():
                _compare_shapes(name, parameters, truth, X, Z, rng)
                if name in ("rbf", "laplacian"):
                    far = np.asarray(1e4, dtype=dtype)
                    _compare_block(name, parameters, truth, X + far, Z + far)

    _check_hinge(rng)


def _check_hinge(rng) -> None:
    """The machine of one reweighting round reaches its gap, around the edges of registers."""
    for n, m in ((3, 1), (17, 9), (40, 33), (90, 130)):
        B, y = rng.standard_normal((n, m)), rng.choice([-1.0, 1.0], n)
        columns, scale, one = np.arange(m + 1), rng.uniform(0.1, 1, m + 1), np.ones(n)
        w, beta, _, gap = _core.scaled_hinge(B, y, columns, scale, one, one, 0 * one, 1e-6, 50)
        Z = y[:, None] * np.column_stack([B, one]) * scale
        assert reference.hinge_gap(Z, one, one, beta) <= 1.01e-6, (n, m, gap)
        np.testing.assert_allclose(w, beta @ Z, atol=1e-12)


def _compare_shapes(name, parameters, truth, X, Z, rng) -> None:
    dtype, limit = X.dtype, TOLERANCE[X.dtype]
    K = truth(X, Z)
    for k in OUTPUTS:
        coef = rng.standard_normal((len(Z), k)).astype(dtype)
        intercept = rng.standard_normal(k).astype(dtype)
        size = (np.abs(K) @ np.abs(coef) + np.abs(intercept)).max()
        for n in ROWS:
            for m in VECTORS:
                got = _core.expansion(name, *parameters, X[:n], Z[:m], coef[:m], intercept, 1)
                wanted = K[:n, :m] @ coef[:m] + intercept
                assert got.dtype == dtype
                assert got.shape == wanted.shape
                error = np.abs(got - wanted).max() / size
                assert error <= limit, f"expansion {name} {dtype} {n=} {m=} {k=} d={X.shape[1]}: {error}"
    size = np.abs(K).max()
    for n in ROWS:
        for m in VECTORS:
            got = _core.gram(name, *parameters, X[:n], Z[:m], 1)
            assert got.dtype == dtype
            assert got.shape == (n, m)
            error = np.abs(got - K[:n, :m]).max() / size
            assert error <= limit, f"gram {name} {dtype} {n=} {m=} d={X.shape[1]}: {error}"


def _compare_block(name, parameters, truth, X, Z) -> None:
    K = truth(X, Z)
    for n in (3, len(X)):  # the short path and the packed one
        error = reference.relative_error(_core.gram(name, *parameters, X[:n], Z, 1), K[:n])
        assert error <= TOLERANCE[X.dtype], f"gram {name} {X.dtype} far {n=} d={X.shape[1]}: {error}"


def compare_threads() -> None:
    """The bits do not depend on the number of threads."""
    rng = np.random.default_rng(1)
    for n, m, d, k in ((1000, 77, 5, 1), (515, 130, 33, 3), (9, 5, 2, 1), (1003, 11, 7, 1), (517, 20, 33, 3)):
        for dtype in (np.float32, np.float64):
            X, Z = (rng.standard_normal((rows, d)).astype(dtype) for rows in (n, m))
            coef, intercept = rng.standard_normal((m, k)).astype(dtype), np.ones(k, dtype=dtype)
            for name, (parameters, _) in kernels(d).items():
                alone = _core.expansion(name, *parameters, X, Z, coef, intercept, 1)
                block = _core.gram(name, *parameters, X, Z, 1)
                for threads in (2, 3, 7):
                    again = _core.expansion(name, *parameters, X, Z, coef, intercept, threads)
                    assert again.tobytes() == alone.tobytes(), f"expansion {name} {threads=}"
                    again = _core.gram(name, *parameters, X, Z, threads)
                    assert again.tobytes() == block.tobytes(), f"gram {name} {threads=}"


def compare_finite() -> None:
    """The expansion that watches for what is not finite: the same bits, and nothing where there is such a row."""
    rng = np.random.default_rng(2)
    for n in (1, 7, 8, 9, 40, 300):
        for m in (1, 9, 60):
            for dtype in (np.float32, np.float64):
                X, Z = (rng.standard_normal((rows, 5)).astype(dtype) for rows in (n, m))
                coef, intercept = rng.standard_normal((m, 2)).astype(dtype), np.ones(2, dtype=dtype)
                widths = np.array([0.1, 0.2, 0.0, 0.3, 0.4])
                wanted = _core.expansion("rbf", 0.0, 0.0, 0, widths, X, Z, coef, intercept, 1)
                for threads in (1, 3):
                    got = _core.finite_expansion(widths, X, Z, coef, intercept, threads)
                    assert got.tobytes() == wanted.tobytes(), (n, m, dtype, threads)
                    for value in (np.nan, np.inf, -np.inf):
                        dirty = X.copy()
                        dirty[rng.integers(n), rng.integers(1, 3)] = value
                        got = _core.finite_expansion(widths, dirty, Z, coef, intercept, threads)
                        assert got is None, (n, m, dtype, threads, value)
                    for column in (1, 2):  # the second has width 0
                        large = X.copy()
                        large[n // 2, column] = np.finfo(dtype).max
                        got = _core.finite_expansion(widths, large, Z, coef, intercept, threads)
                        assert np.isfinite(got).all(), (n, m, dtype, threads, column)
    nothing = np.zeros((0, 5))
    assert _core.finite_expansion(widths, np.ones((3, 5)), nothing, np.zeros((0, 1)), np.ones(1), 1) is None


def fork_after_threads() -> None:
    """A child process can start threads of its own after its parent has."""
    X = np.random.default_rng(0).standard_normal((2000, 10))
    coef, intercept = np.ones((2000, 1)), np.zeros(1)
    arguments = ("rbf", 0.0, 0.0, 0, np.ones(10), X, X, coef, intercept, 2)
    before = _core.expansion(*arguments)
    child = os.fork()
    if child == 0:
        same = _core.expansion(*arguments).tobytes() == before.tobytes()
        os._exit(0 if same else 3)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0, status
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def interrupt(threads: int) -> None:
    """Print the seconds from SIGINT to KeyboardInterrupt in a call that would take many more."""
    n, m, d = 400_000, 100_000, 16
    X, Z = np.zeros((n, d), dtype=np.float32), np.zeros((m, d), dtype=np.float32)
    coef, intercept = np.zeros((m, 1), dtype=np.float32), np.zeros(1, dtype=np.float32)
    sent = []

    def send() -> None:
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    start = time.monotonic()
    try:
        _core.expansion("rbf", 0.0, 0.0, 0, np.ones(d), X, Z, coef, intercept, threads)
    except KeyboardInterrupt:
        print(time.monotonic() - sent[0])
    else:
        sys.exit(f"the call ended by itself after {time.monotonic() - start:.2f} s")


def exhaust_memory() -> None:
    """A result that no machine can hold is a MemoryError, and the interpreter lives on."""
    X = np.zeros((30_000_000, 1))
    try:
        _core.gram("linear", 1.0, 0.0, 1, NO_WIDTHS, X, X, 1)
    except MemoryError:
        assert _core.gram("linear", 1.0, 0.0, 1, NO_WIDTHS, X[:9], X[:2], 1).shape == (9, 2)
        print("MemoryError")
