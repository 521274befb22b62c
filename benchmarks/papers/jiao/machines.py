"""The sets and machines of Tables V to XVII: one function for each kind of column.

Every machine of several classes is one against the rest, a machine a class, and its vectors are the different rows of
all of them together, as the paper counts them. The paper's gamma is C / 2 of the least-squares machines here (its eq.
12) and C of the SVM.
"""

from __future__ import annotations

import base64
import functools
import time
import warnings
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from harness import Array, Record, Split, published
from slimsvm import LSSVC, GreedyLSSVC, PrunedLSSVC
from slimsvm.datasets import make_ringnorm

from . import published as paper

# The paper's CG and SMO stop at a mean squared error of 1e-6 (eq. 39), ours at a largest error of the root of it.
LEAST_SQUARES_TOL = 1e-3
# A share so large that SVS drops all rows it has to in its first round.
AT_ONCE = 0.999
CACHE_MEGABYTES = 2000
# Decision values of one class are kept in 1/1000, and as this where they are below (as of most rows of other classes),
# so that the journal stays small.
LOWEST_DECISION, DECISION_STEP = -1.25, 1e-3


@functools.lru_cache(maxsize=1)
def split_of(name: str, draw: int = 0) -> Split:
    """Training and test rows as the paper prepares them; ringnorm is drawn, "mnist 2000" is the first 2,000 rows."""
    if name == "ringnorm":
        size = paper.TABLE_IV[name]
        X, y = make_ringnorm(size.training + size.test, random_state=draw)
        return Split(X[: size.training], X[size.training :], y[: size.training], y[size.training :])
    X, X_test, y, y_test = published("mnist" if name.startswith("mnist") else name)
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    if name == "satimage":
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    n = {"mnist1": paper.TABLE_IV["mnist1"].training, "mnist 2000": 2000}.get(name, len(X))
    return Split(X[:n], X_test, y[:n], y_test)


def columns(records: Iterable[Record]) -> Record:
    """Records of the same fields as lists of each field."""
    records = list(records)
    return {field: [record[field] for record in records] for field in records[0]}


def percent(share: float) -> float:
    return round(100 * float(share), 3)


def fitted(model: Any, X: Array, y: Array) -> tuple[float, bool]:
    """Processor seconds of a fit, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(X, y)
        return round(time.process_time() - start, 4), bool(caught)


def signs(y: Array, label: Any) -> Array:
    return np.where(y == label, 1, -1)


def answers(classes: Array, outputs: list[Array]) -> Array:
    """Labels from the outputs of the machines: one machine for two classes, else one for each."""
    if len(outputs) == 1:
        return np.where(outputs[0] > 0, classes[1], classes[0])
    return classes[np.argmax(outputs, axis=0)]


def against_rest(classes: Array) -> Array:
    """The classes that have a machine of their own."""
    return classes[1:] if len(classes) == 2 else classes


# ---------------------------------------------------------------------------- FSALS and PFSALS


def greedy_machine(
    log2_gamma: int, log2_width: float, epsilon: float, candidates: int | None, seed: int
) -> GreedyLSSVC:
    return GreedyLSSVC(
        C=2.0 * 2.0**log2_gamma,
        gamma=2.0**log2_width,
        max_error=epsilon,
        n_candidates=candidates,
        random_state=seed,
    )


def greedy(
    *, name: str, log2_gamma: int, log2_width: float, epsilon: float, candidates: int | None, draws: int
) -> Record:
    """FSALS (no candidates) or PFSALS: accuracy, vectors, seconds for each draw of the rows."""

    def one(draw: int) -> Record:
        X, X_test, y, y_test = split_of(name, draw)
        model = greedy_machine(log2_gamma, log2_width, epsilon, candidates, draw)
        seconds, _ = fitted(model, X, y)
        return {
            "accuracy": percent(model.score(X_test, y_test)),
            "vectors": int(model.n_vectors_),
            "seconds": seconds,
        }

    return columns(map(one, range(draws)))


# ---------------------------------------------------------------------------- LS-SVM and its pruning


def least_squares(*, name: str, log2_gamma: int, solver: str, draws: int) -> Record:
    """LS-SVM by "cg", "smo" or "cholesky"."""

    def one(draw: int) -> Record:
        X, X_test, y, y_test = split_of(name, draw)
        model = LSSVC(
            C=2.0 * 2.0**log2_gamma,
            gamma=2.0 ** paper.WIDTHS[name],
            solver=solver,
            tol=LEAST_SQUARES_TOL,
            random_state=0,
        )
        seconds, warned = fitted(model, X, y)
        return {
            "accuracy": percent(model.score(X_test, y_test)),
            "vectors": int(model.n_vectors_),
            "seconds": seconds,
            "iterations": int(np.max(model.n_iter_)),
            "warned": warned,
        }

    return columns(map(one, range(draws)))


def pruned(*, name: str, log2_gamma: int, share: float, draws: int) -> Record:
    """SVS: every two-class machine is pruned to as many vectors as FSALS has for it; the time is SVS's alone."""

    def one(draw: int) -> Record:
        X, X_test, y, y_test = split_of(name, draw)
        width = paper.WIDTHS[name]
        reference = greedy_machine(log2_gamma, width, 0.5, None, draw).fit(X, y)
        sizes = [len(output.vectors) for output in reference.path_.outputs]
        used: set[int] = set()
        outputs, total = [], 0.0
        for label, size in zip(against_rest(reference.classes_), sizes, strict=True):
            model = PrunedLSSVC(n_vectors=size, C=2.0 * 2.0**log2_gamma, gamma=2.0**width, share=share)
            seconds, _ = fitted(model, X, signs(y, label))
            total += seconds
            outputs.append(model.decision_function(X_test))
            used |= set(model.support_.tolist())
        return {
            "accuracy": percent(np.mean(answers(reference.classes_, outputs) == y_test)),
            "vectors": len(used),
            "seconds": round(total, 4),
        }

    return columns(map(one, range(draws)))


# ---------------------------------------------------------------------------- SVM


def svc(log2_gamma: int, log2_width: float) -> SVC:
    return SVC(C=2.0**log2_gamma, gamma=2.0**log2_width, cache_size=CACHE_MEGABYTES)


def decisions(model: SVC, X: Array) -> Array:
    """Decision values of a two-class SVC, by a product of matrices: libsvm's own loop takes as long as the fit."""
    parts = [
        rbf_kernel(part, model.support_vectors_, model.gamma) @ model.dual_coef_[0]
        for part in np.array_split(X, max(1, len(X) // 1000))
    ]
    return np.concatenate(parts) + model.intercept_[0]


def svm(*, name: str, log2_gamma: int, scheme: str, draws: int) -> Record:
    """LIBSVM's machine, one class against the rest ("rest", as the paper) or LIBSVM's own pairs ("pairs")."""
    machine = functools.partial(svc, log2_gamma, paper.WIDTHS[name])
    run = pairs_draw if scheme == "pairs" else rest_draw
    return columns(run(split_of(name, draw), machine) for draw in range(draws))


def svm_at_width(*, name: str, log2_gamma: int, log2_width: float, draws: int) -> Record:
    """LIBSVM's machine, one class against the rest, at another width than that of the tables."""
    machine = functools.partial(svc, log2_gamma, log2_width)
    return columns(rest_draw(split_of(name, draw), machine) for draw in range(draws))


def pairs_draw(split: Split, machine: Callable[[], SVC]) -> Record:
    model = machine()
    seconds, _ = fitted(model, split.X, split.y)
    accuracy = percent(model.score(split.X_test, split.y_test))
    return {"accuracy": accuracy, "vectors": len(model.support_), "seconds": seconds}


def rest_draw(split: Split, machine: Callable[[], SVC]) -> Record:
    classes, used, outputs, total = np.unique(split.y), set(), [], 0.0
    for label in against_rest(classes):
        model = machine()
        seconds, _ = fitted(model, split.X, signs(split.y, label))
        total += seconds
        used |= set(model.support_.tolist())
        outputs.append(decisions(model, split.X_test))
    accuracy = percent(np.mean(answers(classes, outputs) == split.y_test))
    return {"accuracy": accuracy, "vectors": len(used), "seconds": round(total, 4)}


def packed(array: Array) -> str:
    return base64.b85encode(zlib.compress(array.tobytes(), 9)).decode("ascii")


def unpacked(text: str, dtype: Any) -> Array:
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype=dtype)


def svm_class(*, name: str, log2_gamma: int, label: int) -> Record:
    """One of the two-class machines of `svm` where all together take too long: its support and decisions, packed."""
    X, X_test, y, _ = split_of(name)
    model = svc(log2_gamma, paper.WIDTHS[name])
    seconds, _ = fitted(model, X, signs(y, label))
    mask = np.zeros(len(X), dtype=bool)
    mask[model.support_] = True
    values = np.rint(np.maximum(decisions(model, X_test), LOWEST_DECISION) / DECISION_STEP).astype("<i2")
    return {
        "vectors": len(model.support_),
        "seconds": seconds,
        "support": packed(np.packbits(mask)),
        "decisions": packed(values),
    }


def test_labels(*, name: str) -> Record:
    """The labels of the test rows, packed: what `together` needs besides the machines."""
    return {"labels": packed(split_of(name).y_test.astype(np.uint8))}


def together(parts: list[Record], labels: str) -> Record:
    """Accuracy, different vectors and seconds of the machine that the classes' machines are together.

    Rows whose decisions are all below the lowest that is kept are counted in `unsure`.
    """
    outputs = [unpacked(part["decisions"], "<i2") for part in parts]
    masks = [unpacked(part["support"], np.uint8) for part in parts]
    lowest = round(LOWEST_DECISION / DECISION_STEP)
    return {
        "accuracy": [percent(np.mean(np.argmax(outputs, axis=0) == unpacked(labels, np.uint8)))],
        "vectors": [int(np.unpackbits(np.bitwise_or.reduce(masks)).sum())],
        "seconds": [round(sum(part["seconds"] for part in parts), 2)],
        "unsure": int(np.sum(np.max(outputs, axis=0) <= lowest)),
    }
