"""The search of Iwamura and Abe (2008), section V.A, for C, gamma and eta.

Five folds on each of the first five training parts. For each gamma, the best C of each part, the smallest of equals;
the gamma of highest mean rate; the median of its five C. Then eta and C of the sparse machine in the same way at that
gamma, and C alone for linear kernels.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from harness import Record
from papers.cells import Journal
from slimsvm import EmpiricalSVC, FullSVC

from . import published as paper
from .machines import LINEAR, SEARCH_MAX_ITER, realisation, sparse

SEARCH_PARTS, SEARCH_FOLDS = 5, 5
# What is searched besides C.
VALUES: dict[str, tuple[float, ...]] = {"full": paper.GAMMA_GRID, "sparse": paper.ETA_GRID}


def built(kind: str, loss: str, d: int, value: float, gamma: float, C: float) -> Any:
    """A machine of the search; `value` is what is searched besides C."""
    if kind == "linear SVM":
        return FullSVC(C=C, kernel="linear", max_iter=SEARCH_MAX_ITER)
    if kind == "linear OSV":
        return EmpiricalSVC(C=C, kernel="linear", vectors="orthogonal")
    if kind == "linear NOSV":
        return EmpiricalSVC(C=C, kernel="linear", eta=paper.ETA_LINEAR)
    if kind == "full":
        return FullSVC(C=C, gamma=value / d, loss=loss, max_iter=SEARCH_MAX_ITER)
    return sparse(C, gamma / d, value, loss)


def search(*, name: str, kind: str, loss: str, part: int, value: float, gamma: float) -> Record:
    """Mean rate of five folds of a training part, for each C."""
    split = realisation(name, part)
    folds = list(StratifiedKFold(SEARCH_FOLDS, shuffle=True, random_state=0).split(split.X, split.y))
    rates = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for C in paper.C_GRID:
            model = built(kind, loss, split.X.shape[1], value, gamma, C)
            scores = [
                clone(model).fit(split.X[train], split.y[train]).score(split.X[valid], split.y[valid])
                for train, valid in folds
            ]
            rates.append(round(float(np.mean(scores)), 6))
    return {"rates": rates}


def best(journal: Journal, name: str, kind: str, loss: str, gamma: float) -> tuple[float, float] | None:
    """The value of highest mean rate over the parts, each at its own best C, and the median of those C.

    The first of equal values wins, and the smallest of equal C. None where a part is missing.
    """
    chosen: tuple[float, float, float] | None = None
    for value in VALUES.get(kind, (0.0,)):
        parts = [
            journal.found(search, name=name, kind=kind, loss=loss, part=part, value=value, gamma=gamma)
            for part in range(SEARCH_PARTS)
        ]
        if None in parts:
            return None
        rates = np.array([part["rates"] for part in parts if part is not None])
        mean = float(rates.max(axis=1).mean())
        if chosen is None or mean > chosen[0]:
            chosen = mean, value, float(np.median(np.array(paper.C_GRID)[rates.argmax(axis=1)]))
    return None if chosen is None else chosen[1:]


def found_rbf(journal: Journal, name: str, loss: str) -> list[float] | None:
    """C, gamma, C of the sparse machine and eta, as the search found them."""
    full = best(journal, name, "full", loss, 0.0)
    if full is None:
        return None
    sparse_found = best(journal, name, "sparse", loss, full[0])
    return None if sparse_found is None else [full[1], full[0], sparse_found[1], sparse_found[0]]


def found_linear(journal: Journal, name: str) -> list[float] | None:
    found = [best(journal, name, kind, "hinge", 0.0) for kind in LINEAR]
    return None if None in found else [pair[1] for pair in found if pair is not None]


def found_parameters(journal: Journal, name: str) -> Record | None:
    """Rows of Tables II, III and X as our search found them."""
    linear = found_linear(journal, name)
    l1, l2 = (found_rbf(journal, name, loss) for loss in ("hinge", "squared_hinge"))
    return None if linear is None or l1 is None or l2 is None else {"linear": linear, "l1": l1, "l2": l2}
