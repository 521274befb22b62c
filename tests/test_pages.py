"""What the pages show works: their examples run, and what they teach to add obeys the laws of the library."""

from __future__ import annotations

import ast
import atexit
import doctest
import importlib
import inspect
import itertools
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import everyone
import pages
import slimsvm
import slimsvm.methods
import test_laws
from profiles import hard
from slimsvm import LSSVC, LSSVR, EmpiricalFeatureMap, EmpiricalSVC
from slimsvm.datasets import make_banana
from test_solvers import solver_case

__all__ = ["TestFarthest", "TestPlainCG", "solver_case"]

DOCS = pages.ROOT / "docs"
METHOD, RULE, SOLVER = (DOCS / f"add-a-{what}.md" for what in ("method", "selection-rule", "solver"))
HOMES = dict(slimsvm._HOMES)  # without what a page adds
FOLDER = tempfile.TemporaryDirectory()
atexit.register(FOLDER.cleanup)


def written(page: Path, *, under: str = "") -> Path:
    """The folder into which the files of a page were written."""
    folder = Path(FOLDER.name) / page.stem
    pages.write(pages.files(page, under=under), folder)
    return folder


def from_page(page: Path, module: str):
    """A module that a page shows."""
    folder = str(written(page))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    return importlib.import_module(module)


# The examples


# Half a minute; tests/test_projection.py has sparse rows of any width that take less.
LONG = ("sparse-text",)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=hard if page.stem in LONG else ()) for page in pages.PAGES],
)
def test_the_examples_of_a_page_print_what_it_says(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # examples may write pictures
    monkeypatch.syspath_prepend(str(written(page)))
    ran = list(pages.run(page))
    if page.name == "README.md":
        assert sum(block.output is not None for block in ran) >= 2
    plt.close("all")


@pytest.mark.parametrize(
    "page",
    [*pages.PAGES, pages.ROOT / "CONTRIBUTING.md", pages.ROOT / "cpp" / "README.md"],
    ids=lambda page: page.relative_to(pages.ROOT).as_posix(),
)
def test_every_link_and_path_of_a_page_exists(page):
    missing = [target for target in pages.targets(page) if not target.exists()]
    assert not missing


def test_the_readme_names_every_estimator_and_its_room():
    rows = [line for line in (pages.ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    for name, home in HOMES.items():
        if home.startswith("methods.") and inspect.isclass(getattr(slimsvm, name)):
            room = "/".join(home.split(".")[:2])
            assert any(f"`{name}`" in row and room in row for row in rows), name


# Add a selection rule, add a solver: the test files the pages show, with the laws they inherit

TestFarthest = from_page(RULE, "test_farthest").TestFarthest
TestPlainCG = from_page(SOLVER, "test_plain_cg").TestPlainCG


@pytest.mark.parametrize("estimator", [EmpiricalSVC(max_vectors=15), EmpiricalFeatureMap(max_vectors=15)])
def test_a_rule_may_be_a_function(estimator):
    X, y = make_banana(150, random_state=0)
    select = from_page(RULE, "farthest").select_farthest
    model = clone(estimator).set_params(selection=select).fit(X, y)
    assert model.n_vectors_ == 15
    again = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    np.testing.assert_array_equal(again.support_, model.support_)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(order[clone(model).fit(X[order], y[order]).support_], model.support_)


@pytest.mark.parametrize("estimator", [LSSVC(C=5.0), LSSVR(C=5.0)])
def test_a_solver_may_be_a_function(estimator):
    X, y = make_banana(150, random_state=0)
    solve = from_page(SOLVER, "plain_cg").solve_plain_cg
    model = clone(estimator).set_params(solver=solve).fit(X, y)
    np.testing.assert_allclose(model.expansion_(X), estimator.fit(X, y).expansion_(X), atol=1e-6)
    with pytest.warns(match="stopped at its limit .* after 2 iterations, solver solve_plain_cg"):
        clone(model).set_params(max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="need a positive definite kernel"):
        clone(model).set_params(kernel="sigmoid").fit(X, y)


def test_a_solver_of_the_hinge_may_be_a_function():
    from slimsvm.methods.empirical.interior_point import solve_interior_point

    def solve(problem, *, tol, max_iter, rng):
        return solve_interior_point(problem, tol=tol, max_iter=max_iter)

    X, y = make_banana(150, random_state=0)
    model, wanted = (EmpiricalSVC(solver=s, eta=0.1).fit(X, y) for s in (solve, "interior_point"))
    np.testing.assert_array_equal(model.dual_coef_, wanted.dual_coef_)


# Add a method


def line_for(file: str, place: str) -> dict:
    """The entry of a dictionary that the page adds."""
    return ast.literal_eval("{" + pages.parts(METHOD)[file, place] + "}")


HOME = line_for("src/slimsvm/__init__.py", "_HOMES")
[(NAME, MODULE)] = HOME.items()


@pytest.fixture(scope="module")
def toy():
    """The name of the page's estimator, which is in the package and on the list of the laws meanwhile."""
    rooms = written(METHOD, under="src/slimsvm/") / "methods"
    slimsvm.methods.__path__.append(str(rooms))
    importlib.invalidate_caches()
    slimsvm._HOMES.update(HOME)
    try:
        with everyone.also(getattr(slimsvm, NAME), **line_for("tests/everyone.py", "QUICK")[NAME]):
            yield NAME
    finally:
        slimsvm.methods.__path__.remove(str(rooms))
        del slimsvm._HOMES[NAME]
        vars(slimsvm).pop(NAME, None)


def laws():
    """Every law of test_laws.py with its further parameters, without the name of the estimator."""
    for title, law in vars(test_laws).items():
        if not title.startswith("test_"):
            continue
        choices = {}
        for mark in getattr(law, "pytestmark", []):
            if mark.name == "parametrize" and mark.args[0] != "name":
                choices[mark.args[0]] = mark.args[1]
        for values in itertools.product(*choices.values()):
            yield pytest.param(law, dict(zip(choices, values, strict=True)), id=f"{title}-{values}")


@pytest.mark.parametrize(("law", "options"), laws())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_method_of_the_page_obeys_the_laws(law, options, toy, request):
    wanted = set(inspect.signature(law).parameters) - {"name", *options}
    law(name=toy, **options, **{fixture: request.getfixturevalue(fixture) for fixture in wanted})


def test_the_method_of_the_page_is_a_scikit_learn_estimator(toy):
    check_estimator(everyone.make(toy))


def test_the_examples_of_the_method_run(toy):
    for module in (MODULE, MODULE.replace("estimators", "drawing")):
        found = doctest.testmod(importlib.import_module(f"slimsvm.{module}"))
        assert found.attempted > 0
        assert found.failed == 0
    assert "<kernel>" not in getattr(slimsvm, toy).__doc__  # the shared texts are in their places


def test_the_room_of_the_page_can_be_imported_first():
    rooms = written(METHOD, under="src/slimsvm/") / "methods"
    code = (
        f"import slimsvm.methods; slimsvm.methods.__path__.append({str(rooms)!r}); "
        f"import slimsvm.{MODULE} as room; slimsvm._HOMES.update({HOME!r}); assert slimsvm.{NAME} is room.{NAME}"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
