"""What is run for Xia, Li and Irwin (2008): the plain and the two-stage machine on two spirals and on the checkerboard.

The spirals have no test rows in the paper. Ours are 1,940 points of the same two curves, ten times as dense. The
checkerboard's rows are not published; ours are drawn, 1,000 to train and 20,000 to test, on [-1, 1] x [-1, 1], five
times.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from harness import Array, Record, Split
from papers.cells import Cell, Journal
from slimsvm import LSSVC, TwoStageLSSVC
from slimsvm.datasets import make_checkerboard, make_ringnorm, make_two_spirals
from slimsvm.kernels import RBF
from slimsvm.methods.two_stage.selection import TwoStage

from . import published as paper

DRAWS = 5
SIDE = 2.0
# Points of a ROC curve that are kept.
ROC_POINTS = 60
# The plain machine's own choice on the board: ten folds on the training rows.
SIGMAS = (0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2)
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 10
# The rectangular dictionary: random rows that may become vectors (section 5).
CANDIDATES = (100, 150, 200, 300, 500, 700, 1000)
SPEED_ROWS, SPEED_VECTORS = 5000, 100


def width(sigma: float) -> float:
    """Our gamma for a sigma of eq. (3)."""
    return 1.0 / (2.0 * sigma**2)


def rows(problem: str, draw: int = 0) -> Split:
    if problem == "spirals":
        return Split(*_swapped(make_two_spirals(shuffle=False), make_two_spirals(1940, shuffle=False)))
    train = make_checkerboard(paper.BOARD_FULL.n_rows, random_state=draw)
    return Split(*_swapped(train, make_checkerboard(20_000, random_state=100 + draw)))


def _swapped(train: tuple[Array, Array], test: tuple[Array, Array]) -> tuple[Array, Array, Array, Array]:
    return train[0], test[0], train[1], test[1]


def plain(sigma: float, weight: float, *, with_intercept: bool = False) -> LSSVC:
    """The LS-SVM of eq. (5), or of eq. (12) with b^2 in what is minimised; `weight` is the paper's gamma."""
    return LSSVC(C=2.0 * weight, gamma=width(sigma), penalize_intercept=with_intercept)


def two_stage(n_vectors: int | None, sigma: float, **options: Any) -> TwoStageLSSVC:
    return TwoStageLSSVC(n_vectors=n_vectors, gamma=width(sigma), random_state=0, **options)


def thinned(curve: tuple[Array, Array]) -> list[list[float]]:
    """A ROC curve with few points, its ends among them."""
    keep = np.unique(np.linspace(0, len(curve[0]) - 1, ROC_POINTS).astype(int))
    return [[round(float(value), 4) for value in values[keep]] for values in curve]


def judged(model: Any, split: Split) -> Record:
    """Fit and look at training and test rows; seconds beside those of SVC with the same kernel."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(split.X, split.y)
        seconds = time.process_time() - start
    start = time.process_time()
    SVC(C=10.0, gamma=model.gamma).fit(split.X, split.y)
    svc_seconds = time.process_time() - start
    outputs = model.decision_function(split.X_test)
    return {
        "vectors": model.n_vectors_,
        "right": int((model.predict(split.X) == split.y).sum()),
        "accuracy": round(100 * float(np.mean(model.predict(split.X_test) == split.y_test)), 3),
        "auc": round(float(roc_auc_score(split.y_test, outputs)), 5),
        "roc": thinned(roc_curve(split.y_test, outputs)[:2]),
        "seconds": round(seconds, 4),
        "svc_seconds": round(svc_seconds, 4),
        "warnings": [str(warning.message) for warning in caught],
        **(
            {"forward_loss": float(model.forward_loss_[-1]), "loss": float(model.loss_)}
            if hasattr(model, "forward_loss_")
            else {}
        ),
    }


def full_machine(*, problem: str, draw: int, sigma: float, weight: float, with_intercept: bool) -> Record:
    return judged(plain(sigma, weight, with_intercept=with_intercept), rows(problem, draw))


def sparse_machine(*, problem: str, draw: int, n_vectors: int, sigma: float) -> Record:
    return judged(two_stage(n_vectors, sigma), rows(problem, draw))


def choose_full(*, problem: str, draw: int, with_intercept: bool) -> Record:
    """Sigma and C of the plain machine by ten folds on the training rows."""
    split = rows(problem, draw)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(split.X, split.y))
    scale = SIDE if problem == "board" else 1.0
    sigmas = SIGMAS if problem == "board" else (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
    found = {}
    for sigma in sigmas:
        for C in CS:
            model = plain(sigma * scale, C / 2, with_intercept=with_intercept)
            scores = [
                model.fit(split.X[train], split.y[train]).score(split.X[valid], split.y[valid])
                for train, valid in folds
            ]
            found[sigma, C] = float(np.mean(scores))
    sigma, C = max(found, key=lambda pair: found[pair])
    return {"sigma": sigma * scale, "C": C, "score": round(100 * found[sigma, C], 3)}


def sizes(*, problem: str, draw: int, sigma: float, choose_by: str) -> Record:
    """The number of vectors by ten folds or by leaving one out, and the curve it was read from."""
    split = rows(problem, draw)
    model = two_stage(None, sigma, choose_by=choose_by).fit(split.X, split.y)
    curve = model.cv_scores_ if choose_by == "cv" else model.press_
    return {
        "chosen": model.n_vectors_,
        "right": int((model.predict(split.X) == split.y).sum()),
        "accuracy": round(100 * float(np.mean(model.predict(split.X_test) == split.y_test)), 3),
        "curve": [float(f"{value:.5g}") for value in curve],
    }


def dictionary(*, draw: int, n_vectors: int, sigma: float, n_candidates: int) -> Record:
    """The rectangular dictionary: only some rows may become vectors."""
    found = judged(two_stage(n_vectors, sigma, n_candidates=n_candidates), rows("board", draw))
    return {key: found[key] for key in ("vectors", "accuracy", "loss", "seconds")}


def fewest(*, sigma: float) -> Record:
    """The fewest vectors that separate all rows of the spirals."""
    split = rows("spirals")
    for m in range(2, paper.SPIRALS_SIZES[-1] + 1):
        if two_stage(m, sigma).fit(split.X, split.y).score(split.X, split.y) == 1.0:
            return {"vectors": m}
    return {"vectors": None}


def speed(*, features: int) -> Record:
    """Seconds of the stages beside one kernel matrix and beside SVC.fit."""
    X, y = make_ringnorm(SPEED_ROWS, random_state=0)
    X, Y = np.ascontiguousarray(X[:, :features]), np.where(y == y.max(), 1.0, -1.0)[:, None]
    kernel = RBF(1.0 / (2 * features))

    def seconds(function: Any) -> float:
        start = time.process_time()
        function()
        return round(time.process_time() - start, 4)

    matrix = min(seconds(lambda: kernel(X, X)) for _ in range(3))
    selection = TwoStage(kernel(X, X) + 1.0, Y)

    def forward() -> None:
        while len(selection.chosen) < SPEED_VECTORS:
            selection.forward_step()

    first = seconds(forward)
    rounds, exchanged = [], 1
    while exchanged:
        start = time.process_time()
        exchanged = selection.refine_round()
        rounds.append(round(time.process_time() - start, 4))
    svc = seconds(lambda: SVC(C=1.0, gamma=1.0 / (2 * features)).fit(X, y))
    return {"matrix": matrix, "forward": first, "rounds": rounds, "svc": svc}


# ---------------------------------------------------------------------------- the list


def readings(problem: str) -> dict[str, tuple[float, float]]:
    """Sigma and weight of the plain machine: as printed, and with the two exchanged, in two ways.

    LS-SVMlab, where such parameters come from, takes gam and sig2 in this order, and its kernel is
    exp(-|x - z|^2 / sig2).
    """
    full = paper.SPIRALS_FULL if problem == "spirals" else paper.BOARD_FULL
    return {
        "as printed": (full.sigma, full.gamma),
        "exchanged": (full.gamma, full.sigma),
        "exchanged, the small number as sig2 of LS-SVMlab": (float(np.sqrt(full.gamma / 2)), full.sigma),
    }


def cells(journal: Journal) -> Iterator[Cell]:
    for problem, n_draws in (("spirals", 1), ("board", DRAWS)):
        name = "Figures 1 to 6, two spirals" if problem == "spirals" else "Figures 7 to 10, checkerboard"
        for draw in range(n_draws):
            where = {"problem": problem, "draw": draw}
            for sigma, weight in readings(problem).values():
                for with_intercept in (False, True):
                    what = {**where, "sigma": sigma, "weight": weight, "with_intercept": with_intercept}
                    yield Cell(name, full_machine, what, 1.0, quick=draw == 0)
            for with_intercept in (False, True):
                choice = {**where, "with_intercept": with_intercept}
                yield Cell(
                    name, choose_full, choice, 40.0 if problem == "board" else 3.0, quick=problem == "spirals"
                )
                found = journal.found(choose_full, **choice) or {"sigma": 1.0, "C": 1.0}
                what = {**choice, "sigma": found["sigma"], "weight": found["C"] / 2}
                yield Cell(name, full_machine, what, 1.0, waits=journal.found(choose_full, **choice) is None)
            pairs = (
                [(m, paper.SPIRALS_SIGMA) for m in paper.SPIRALS_SIZES]
                if problem == "spirals"
                else [(m, s * SIDE) for m, s in (*paper.BOARD_SPARSE, (70, 0.06))]
            )
            for m, sigma in pairs:
                what = {**where, "n_vectors": m, "sigma": sigma}
                yield Cell(name, sparse_machine, what, 2.0, quick=draw == 0)
            sigma = paper.SPIRALS_SIGMA if problem == "spirals" else paper.BOARD_SPARSE[0][1] * SIDE
            for choose_by in ("cv", "loo"):
                what = {**where, "sigma": sigma, "choose_by": choose_by}
                seconds = 60.0 if problem == "board" and choose_by == "cv" else 5.0
                yield Cell(
                    "Sizes by ten folds and by leaving one out",
                    sizes,
                    what,
                    seconds,
                    quick=problem == "spirals",
                )
            if problem == "board":
                for n in CANDIDATES:
                    what = {"draw": draw, "n_vectors": 100, "sigma": sigma, "n_candidates": n}
                    yield Cell(
                        "Section 5, the rectangular dictionary", dictionary, what, 2.0, quick=draw == 0
                    )
    yield Cell("Figures 1 to 6, two spirals", fewest, {"sigma": paper.SPIRALS_SIGMA}, 10.0)
    for features in (2, 20):
        yield Cell("Times of the stages", speed, {"features": features}, 20.0, quick=features == 2)
