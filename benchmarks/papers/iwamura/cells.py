"""What is run for Iwamura and Abe (2008): their machines on realisations of the 13 sets, and their search.

The set-up is the paper's where its text says it: inputs scaled to [0, 1] by the training part, C, gamma and eta of
Tables II, III and X. Its numbers of vectors tell two things that the text does not: gamma is divided by the number of
inputs, and the Cholesky rule sees the rows of label -1 first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness import Record
from papers.cells import Cell, Journal

from . import published as paper
from .machines import LINEAR, against_eta, fit_times, measure, over_C, stopped_early
from .search import SEARCH_PARTS, VALUES, best, found_parameters, search

# Realisations of a cell.
CHUNK = 10
# Realisations that are run of the machines whose hyper-parameters our own search found.
FOUND_REALISATIONS = 20


def of_paper(name: str) -> Record:
    return {
        "linear": list(paper.TABLE_II[name]),
        "l1": list(paper.TABLE_III[name]),
        "l2": list(paper.TABLE_X[name]),
    }


# Seconds of all machines on one realisation, of the search for one C-grid of a full and of a sparse machine.
EXPECTED = {
    "banana": (0.5, 2.5, 1.5), "breast_cancer": (0.4, 1.5, 1), "diabetis": (0.4, 4, 1.5), "german": (4.5, 5, 3),
    "heart": (0.05, 0.6, 0.6), "image": (4, 10, 30), "ringnorm": (0.9, 1.6, 3), "flare_solar": (0.3, 1.5, 1),
    "splice": (1.5, 9, 50), "thyroid": (0.05, 0.4, 0.6), "titanic": (0.1, 0.6, 0.5), "twonorm": (0.2, 1.6, 2),
    "waveform": (0.2, 1.8, 3),
}  # fmt: skip


def cells(journal: Journal) -> Iterator[Cell]:
    for name, size in paper.TABLE_I.items():
        data = (f"ida_{name}",)
        each, full_seconds, sparse_seconds = EXPECTED[name]

        def chunks(parameters: Record, n: int, table: str, *, waits: bool = False) -> Iterator[Cell]:
            for first in range(0, n, CHUNK):
                where = {"name": name, "first": first, "last": min(first + CHUNK, n)}
                seconds = CHUNK * each
                quick = not waits and first == 0 and name in ("heart", "thyroid", "titanic")
                yield Cell(table, measure, {**where, **parameters}, seconds, data, quick=quick, waits=waits)

        yield from chunks(
            of_paper(name), size.realisations, "Tables IV to IX and XI to XIII, the paper's parameters"
        )
        yield Cell("Table IX, fits beside SVC.fit", fit_times, {"name": name}, 2.0, data, quick=True)

        for loss in ("hinge", "squared_hinge"):
            what = {"name": name, "loss": loss}
            yield Cell(
                "Experiments on differences", over_C, what, 8 * (full_seconds + sparse_seconds) / 10, data
            )
        yield Cell(
            "Experiments on differences", stopped_early, {"name": name}, 2.0, data, quick=name == "heart"
        )

        def searches(
            kind: str, loss: str, gamma: float, seconds: float, *, waits: bool = False
        ) -> Iterator[Cell]:
            for value in VALUES.get(kind, (0.0,)):
                for part in range(SEARCH_PARTS):
                    what = {
                        "name": name,
                        "kind": kind,
                        "loss": loss,
                        "part": part,
                        "value": value,
                        "gamma": gamma,
                    }
                    table = "Table II, found" if kind in LINEAR else "Tables III and X, found"
                    quick = (
                        kind == "full" and loss == "hinge" and part == 0 and value == 0.1 and name == "heart"
                    )
                    yield Cell(table, search, what, seconds, data, quick=quick, waits=waits)

        for kind, factor in zip(LINEAR, (1.0, 0.3, 0.3), strict=True):
            yield from searches(kind, "hinge", 0.0, factor * full_seconds)
        for loss in ("hinge", "squared_hinge"):
            yield from searches("full", loss, 0.0, full_seconds)
            full = best(journal, name, "full", loss, 0.0)
            waits = full is None
            gamma = of_paper(name)["l1"][1] if full is None else full[0]
            yield from searches("sparse", loss, gamma, sparse_seconds, waits=waits)
        found = found_parameters(journal, name)
        yield from chunks(
            found or of_paper(name),
            min(FOUND_REALISATIONS, size.realisations),
            "Tables IV, V, VII, XI and XII, our own search's parameters",
            waits=found is None,
        )
    for name, loss in (("banana", "hinge"), ("waveform", "squared_hinge")):
        yield Cell(
            "Figures 1 and 2", against_eta, {"name": name, "loss": loss}, 1.0, (f"ida_{name}",), quick=True
        )


def rows_of(journal: Journal, name: str, parameters: Record, n: int) -> Record | None:
    """What was found on the realisations that were run, chunks put together; None where there are none."""
    whole: dict[str, Any] = {"runs": {}, "osv_excess": [], "ranks": [], "unmerged": []}
    for first in range(0, n, CHUNK):
        part = journal.found(measure, name=name, first=first, last=min(first + CHUNK, n), **parameters)
        if part is None:
            continue
        for key, fields in part["runs"].items():
            for field, values in fields.items():
                whole["runs"].setdefault(key, {}).setdefault(field, []).extend(values)
        for key in ("osv_excess", "ranks", "unmerged"):
            whole[key] += part[key]
    return whole if whole["ranks"] else None
