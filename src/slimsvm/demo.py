"""The demonstration behind `make demo`: models on data that needs no download, in one table.

Run it with `python -m slimsvm.demo`. It fits scikit-learn's SVC, reduces it, fits this library's machines and
shows, for each, its accuracy on rows it has not seen, its size, and how many predictions a second it makes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from .datasets import make_banana, make_ringnorm
from .estimators import LSSVC, EmpiricalSVC, FullSVC, GreedyLSSVC
from .reduction import reduce
from .rows import Array

# A timing repeats its call until this much time has passed.
SECONDS_PER_TIMING = 0.3


def _problems() -> Iterator[tuple[str, tuple[Array, Array, Array, Array]]]:
    """Named problems as training rows, test rows, training labels, test labels."""
    digits, cancer = load_digits(), load_breast_cancer()
    sources = {
        "digits": (digits.data, digits.target),
        "breast cancer": (cancer.data, cancer.target),
        "banana-like": make_banana(5000, random_state=0),
        "ringnorm": make_ringnorm(5000, random_state=0),
    }
    for name, (X, y) in sources.items():
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
        scaler = StandardScaler().fit(X)
        scaled = (scaler.transform(part).astype(np.float32) for part in (X, X_test))
        yield name, (*scaled, y, y_test)


def _rate(function: Callable[[Array], Any], X: Array) -> float:
    """Rows a second."""
    calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SECONDS_PER_TIMING or not calls:
        function(X)
        calls += 1
    return calls * len(X) / elapsed


def _stored_bytes(model: SVC) -> int:
    """Bytes of the arrays scikit-learn's SVC needs to predict."""
    return int(model.support_vectors_.nbytes + model.dual_coef_.nbytes + model.intercept_.nbytes)


def _machines(X: Array, y: Array, svc: SVC) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is compared: a name, and a function that fits the machine to these rows."""
    yield "slimsvm.reduce(SVC)", lambda: reduce(svc, X, y)
    yield "EmpiricalSVC", lambda: EmpiricalSVC(C=10.0, eta=0.5).fit(X, y)
    yield "GreedyLSSVC", lambda: GreedyLSSVC(C=10.0, n_candidates=146, random_state=0).fit(X, y)
    yield "FullSVC", lambda: FullSVC().fit(X, y)
    yield "LSSVC", lambda: LSSVC(C=10.0).fit(X, y)


def _line(
    name: str, label: str, score: float, size: tuple[int, int], seconds: float, rate: float, baseline: float
) -> str:
    return (
        f"{name:14} {label:22} {100 * score:7.2f}% {size[0]:8d} {size[1]:9d} {seconds:6.2f} {rate:12,.0f} "
        f"({rate / baseline:5.0f} x)"
    )


def main() -> None:
    """Print the table."""
    print("Each model is fitted to half of the rows and scored on the other half; one thread.\n")
    columns = ("data", 14), ("model", 22), ("accuracy", -8), ("vectors", -8), ("bytes", -9), ("fit s", -6)
    header = " ".join(f"{c:{w}}" if w > 0 else f"{c:>{-w}}" for c, w in columns) + "   predictions a second"
    for name, (X, X_test, y, y_test) in _problems():
        print(header if name == "digits" else "")
        start = time.perf_counter()
        svc = SVC().fit(X, y)
        seconds, baseline = time.perf_counter() - start, _rate(svc.decision_function, X_test)

        size = (len(svc.support_vectors_), _stored_bytes(svc))
        print(_line(name, "scikit-learn SVC", svc.score(X_test, y_test), size, seconds, baseline, baseline))
        for label, fit in _machines(X, y, svc):
            start = time.perf_counter()
            model = fit()
            seconds = time.perf_counter() - start
            f = model.expansion_
            size, rate = (f.n_vectors, f.nbytes), _rate(f, X_test)
            line = _line(name, label, model.score(X_test, y_test), size, seconds, rate, baseline)
            print(line, flush=True)
    print(
        "\nreduce() takes the fitted SVC and keeps its predictions; EmpiricalSVC and GreedyLSSVC choose few vectors "
        "while\nthey learn; FullSVC and LSSVC are the full machines they are measured by."
    )


if __name__ == "__main__":
    main()
