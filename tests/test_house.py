"""Where things are: laws of the layout, so that it stays what CONTRIBUTING says it is."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

import slimsvm

SOURCE = Path(slimsvm.__file__).parent
if not (SOURCE / "methods").is_dir():  # an editable installation finds the package elsewhere
    SOURCE = Path(__file__).parents[1] / "src" / "slimsvm"
FILES = sorted(SOURCE.rglob("*.py"))
# What several methods share, and who may be its users.
SHARED = sorted(path for path in (SOURCE / "solvers").glob("*.py") if path.name != "__init__.py")
MOST_LINES = 400
MOST_FITS = 8


def module_of(path: Path) -> str:
    parts = ["slimsvm", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imported(path: Path) -> set[str]:
    """Modules, and names in them, that a file imports."""
    found: set[str] = set()
    package = module_of(path).split(".")
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def room_of(path: Path) -> str:
    """The method's room, or the folder, or the file itself."""
    parts = path.relative_to(SOURCE).parts
    return "/".join(parts[:2]) if parts[0] == "methods" else parts[0]


def rooms_that_use(path: Path, seen: frozenset[Path] = frozenset()) -> set[str]:
    """Rooms that import a file, also through other shared files."""
    rooms: set[str] = set()
    for other in FILES:
        if other != path and other not in seen and module_of(path) in imported(other):
            rooms |= rooms_that_use(other, seen | {path}) if other in SHARED else {room_of(other)}
    return rooms


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.name)
def test_what_is_shared_has_at_least_two_users(path):
    assert len(rooms_that_use(path)) >= 2, rooms_that_use(path)


def test_no_file_is_longer_than_a_reader_can_hold():
    long = {module_of(path): n for path in FILES if (n := len(path.read_text().splitlines())) > MOST_LINES}
    assert not long


def test_there_are_few_fit_bodies():
    fits = [
        f"{module_of(path)}.{kind.name}"
        for path in FILES
        for kind in ast.walk(ast.parse(path.read_text()))
        if isinstance(kind, ast.ClassDef)
        for node in kind.body
        if isinstance(node, ast.FunctionDef)
        and node.name == "fit"
        and kind.name != "TableEncoder"  # no machine
    ]
    assert 1 <= len(fits) <= MOST_FITS, fits


def test_every_method_has_a_room_with_its_estimators():
    rooms = [path for path in (SOURCE / "methods").iterdir() if (path / "__init__.py").exists()]
    assert len(rooms) >= 12
    for room in rooms:
        assert (room / "__init__.py").read_text().startswith('"""'), room
    homes = {name: home for name, home in slimsvm._HOMES.items() if home.startswith("methods.")}
    for name, home in homes.items():
        assert hasattr(getattr(slimsvm, name), "__doc__")
        assert (SOURCE / Path(*home.split("."))).with_suffix(".py").exists()
