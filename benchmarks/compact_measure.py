"""Fitting, scoring and timing one method of benchmarks/compact.py."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score, root_mean_squared_error
from threadpoolctl import threadpool_limits

from compact_methods import METHODS, Method
from compact_search import Job
from compact_sets import SETS
from harness import ROWS_TIMED, Record, peak_bytes, repeated, timed

# A rate is of calls that together take at least this long.
TIMED_SECONDS = 0.3
SINGLE_ROW_CALLS = 101


def use_one_thread() -> None:
    threadpool_limits(1)
    try:
        import daal4py
    except ImportError:
        return
    daal4py.daalinit(nthreads=1)


def measure(job: Job, method: Method) -> Record:
    """Fit, score and time one method."""
    before = peak_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of pairs in the search that are then not chosen
        warnings.filterwarnings("ignore", message="The least populated class")  # shuttle
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # LightGBM
        fitted, elapsed = timed(lambda: method.fit(job))
    memory = {"peak_bytes_before": before, "peak_bytes": peak_bytes()} if job.memory else {}
    seconds = elapsed if fitted.seconds is None else fitted.seconds
    predicted, elapsed = timed(lambda: fitted.model.predict(job.X_test))
    rate = _rows_per_second(fitted.model, job.X_test, elapsed)
    if job.regression:
        scores = {
            "r2": r2_score(job.y_test, predicted),
            "rmse": root_mean_squared_error(job.y_test, predicted),
        }
    else:
        scores = {"accuracy": accuracy_score(job.y_test, predicted)}
    return {
        **{name: float(value) for name, value in scores.items()},
        "vectors": fitted.vectors,
        "bytes_float32": fitted.size.float32,
        "bytes_int8": fitted.size.int8,
        "fit_seconds": seconds,
        "rows_per_second": rate,
        "us_one_row": _one_row(fitted.model, job.X_test[:1]),
        "parameters": fitted.parameters,
        "n_train": len(job.X),
        "n_features": job.n_features,
        **fitted.more,
        **memory,
    }


def measure_alone(name: str, split: int, method: str, known: dict[str, Record]) -> Record:
    """The same in a process of its own (`harness.in_child`), and the most memory it had before and after the fit."""
    use_one_thread()
    data = SETS[name]
    return measure(Job(name, data.regression, *data.split(split), known=known, memory=True), METHODS[method])


def _rows_per_second(model: Any, X: np.ndarray, elapsed: float) -> float:
    """Predictions a second: calls of `predict` on the test rows, repeated to ROWS_TIMED, for TIMED_SECONDS.

    The same rows and the same clock for every method. Only where one call on the test rows, which took `elapsed`, is
    already that long, it is the measurement: a fixed cost does not show in it, and MNIST takes SVC minutes.
    """
    if elapsed >= TIMED_SECONDS:
        return len(X) / elapsed
    many = repeated(X, max(len(X), ROWS_TIMED))
    calls, elapsed, start = 0, 0.0, time.perf_counter()
    while elapsed < TIMED_SECONDS:
        model.predict(many)
        calls, elapsed = calls + 1, time.perf_counter() - start
    return calls * len(many) / elapsed


def _one_row(model: Any, row: np.ndarray) -> float:
    """Median microseconds of a prediction for one row, input checks and scaling included."""
    times = []
    end = time.perf_counter() + TIMED_SECONDS
    while len(times) < SINGLE_ROW_CALLS and (len(times) < 3 or time.perf_counter() < end):
        start = time.perf_counter_ns()
        model.predict(row)
        times.append(time.perf_counter_ns() - start)
    return float(np.median(times)) / 1000.0
