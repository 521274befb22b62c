"""What is run for Huang et al. (2010): Table 2, the figures, and what the paper names without figures of its own."""

from __future__ import annotations

from collections.abc import Iterator

from papers.cells import Cell, Journal

from . import published as paper
from .algorithms import algorithms, chosen_setting, ripley_rounds
from .beyond import (
    DENSITIES,
    DENSITY_ROWS,
    FREE_ROWS,
    RELEVANCE,
    density,
    fastrvm,
    fastrvm_is_there,
    free_density,
    many_rows,
    relevance,
)
from .examples import (
    TOYS,
    housing,
    mixed,
    norms,
    ripley_250,
    ripley_1000,
    ripley_settings,
    selection,
    sinc,
    toys,
)
from .nested import at_once, grid_of, nested, with_one_setting
from .tables import CHECKED, setting_for_all

# Seconds of a fold of Table 2 on 1000 rows, and on the two sets of fewer than 300; German's narrow kernels are slow.
EXPECTED = {
    "SVC": (10.0, 3.0), "SSVC_A": (25.0, 8.0), "SSVC_W": (20.0, 5.0), "RVM": (20.0, 4.0), "SPC": (25.0, 4.0),
    "LP-SVC": (20.0, 5.0), "SC-SVC": (110.0, 10.0),
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
            what = {"title": title, "method": method, "grid": grid_of(title, method)}
            seconds = expected(title, method)
            for fold in range(paper.FOLDS):
                quick = title == QUICK and fold == 0
                yield Cell(
                    f"Table 2, {method}", nested, {**what, "fold": fold}, seconds, (size.name,), quick=quick
                )
            yield Cell(
                f"Table 2, {method}", at_once, what, seconds, (size.name,),
                quick=title == QUICK and method in QUICK_AT_ONCE,
            )  # fmt: skip


def cells(journal: Journal) -> Iterator[Cell]:
    yield from table_2()
    for title, size in paper.TABLE_1.items():
        for method in CHECKED:
            setting = setting_for_all(journal, title, method)
            yield Cell(
                "Table 2, one setting for all folds",
                with_one_setting,
                {"title": title, "method": method, "setting": setting},
                10.0,
                (size.name,),
                waits=setting is None,
            )
    for title, size in paper.TABLE_1.items():
        for fold in range(paper.FOLDS):
            setting = chosen_setting(journal, title, fold)
            what = {"title": title, "fold": fold, "setting": setting}
            seconds = 10.0 if size.rows > 300 else 3.0
            quick = title == QUICK and fold == 0
            table = "Table 2, the paper's SMO and epsilon"
            yield Cell(table, algorithms, what, seconds, (size.name,), quick=quick, waits=setting is None)
    for shape in TOYS:
        yield Cell("Figure 2", toys, {"shape": shape}, 2.0, quick=True)
    for work, figure in ((ripley_250, 3), (ripley_1000, 4), (ripley_settings, 4), (ripley_rounds, 4)):
        yield Cell(f"Figure {figure}", work, {}, 4.0, ("ripley",), quick=True)
    uses = "Sections 3.3 and 3.5: regression, selection, mixed and p-norms"
    yield Cell(uses, sinc, {"n": 200, "noise": 0.1}, 1.0, quick=True)
    for fold in range(10):
        yield Cell(uses, housing, {"fold": fold}, 10.0, ("reg_boston",))
    for kind in ("plane", "ring"):
        yield Cell(uses, selection, {"kind": kind}, 10.0, quick=kind == "plane")
    for name in ("ripley", "crescents"):
        data = ("ripley",) if name == "ripley" else ()
        yield Cell(uses, mixed, {"name": name}, 3.0, data, quick=True)
        yield Cell(uses, norms, {"name": name}, 3.0, data, quick=True)
    for name, n in RELEVANCE:
        hard = name == "ringnorm"
        seconds = (5.0 if hard else 0.3) * (n / 500) ** 1.2
        yield Cell("RVC and fastrvm", relevance, {"name": name, "n": n}, seconds, quick=n == 500)
        seconds = (10.0 if hard else 0.3) * (n / 500) ** (3 if hard else 2.3)
        yield Cell("RVC and fastrvm", fastrvm, {"name": name, "n": n}, seconds, waits=not fastrvm_is_there())
    for kind in ("RVC", "RVR"):
        yield Cell("RVC and RVR on 20,000 rows", many_rows, {"kind": kind}, 150.0)
    for d in (1, 2):
        for bandwidth, limit in DENSITIES:
            what = {"d": d, "bandwidth": bandwidth, "limit": limit}
            seconds = 5.0 if d == 1 or bandwidth == "cv" else 25.0
            yield Cell(
                "Equations 18 to 20: sparse density",
                density,
                what,
                seconds,
                quick=d == 1 and bandwidth == "cv",
            )
        for n_fitted in FREE_ROWS:
            what = {"d": d, "n_fitted": n_fitted}
            yield Cell(
                "Equations 18 to 20: sparse density", free_density, what, 35.0 * n_fitted / DENSITY_ROWS
            )
