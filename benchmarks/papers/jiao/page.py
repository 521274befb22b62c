"""The page of Jiao, Bo and Wang (2007)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papers.cells import Journal
from papers.pages import head

CONTENTS: tuple[str, ...] = ()


def page(journal: Journal) -> Iterator[str]:
    yield from head(
        "Jiao, Bo & Wang (2007): fast sparse approximation for least squares support vector machine",
        "L. Jiao, L. Bo and L. Wang, *Fast sparse approximation for least squares support vector machine*, IEEE "
        "Transactions on Neural Networks 18 (2007).",
        journal,
    )


def draw(journal: Journal, folder: Path) -> None:
    """Nothing yet: the pictures come with the tables."""
