"""What is run for Huang et al. (2010): Table 2, the figures, and what the paper names without figures of its own."""

from __future__ import annotations

from collections.abc import Iterator

from papers.cells import Cell, Journal

from . import published as paper
from .examples import TOYS, housing, ripley_250, ripley_1000, ripley_settings, selection, sinc, toys
from .nested import at_once, grid_of, nested

# Seconds of a fold of Table 2 on 1000 rows, and on the two sets of fewer than 300; German's narrow kernels are slow.
EXPECTED = {
    "SVC": (10.0, 3.0), "SSVC_A": (25.0, 8.0), "SSVC_W": (110.0, 30.0), "RVM": (20.0, 4.0), "SPC": (25.0, 4.0),
    "LP-SVC": (80.0, 20.0), "SC-SVC": (110.0, 10.0),
}  # fmt: skip
GERMAN = {"SSVC_A": 2.0, "SSVC_W": 3.0, "LP-SVC": 3.0, "RVM": 2.0}
# The set of which a quick run has a fold, and the machines of which it has all folds with one setting.
QUICK, QUICK_AT_ONCE = "Thyroid", ("SVC", "SSVC_A")


def expected(title: str, method: str) -> float:
    few = paper.TABLE_1[title].rows < 300
    return EXPECTED[method][few] * (GERMAN.get(method, 1.0) if title == "German" else 1.0)


def table_2() -> Iterator[Cell]:
    for title, size in paper.TABLE_1.items():
        for method in paper.METHODS:
            if method == "RVM":
                continue
            what = {"title": title, "method": method, "grid": grid_of(title, method)}
            seconds = expected(title, method)
            for fold in range(paper.FOLDS):
                quick = title == QUICK and fold == 0
                yield Cell(
                    f"Table 2, {method}", nested, {**what, "fold": fold}, seconds, (size.name,), quick=quick
                )
            yield Cell(
                "Table 2, one setting for all folds", at_once, what, seconds, (size.name,),
                quick=title == QUICK and method in QUICK_AT_ONCE,
            )  # fmt: skip


def cells(journal: Journal) -> Iterator[Cell]:
    yield from table_2()
    for shape in TOYS:
        yield Cell("Figure 2", toys, {"shape": shape}, 2.0, quick=True)
    for work, figure in ((ripley_250, 3), (ripley_1000, 4), (ripley_settings, 4)):
        yield Cell(f"Figure {figure}", work, {}, 4.0, ("ripley",), quick=True)
    uses = "Sections 3.3 and 3.5: regression, selection, mixed and p-norms"
    yield Cell(uses, sinc, {"n": 200, "noise": 0.1}, 1.0, quick=True)
    for fold in range(10):
        yield Cell(uses, housing, {"fold": fold}, 10.0, ("reg_boston",), quick=fold == 0)
    for kind in ("plane", "ring"):
        yield Cell(uses, selection, {"kind": kind}, 10.0, quick=kind == "plane")
