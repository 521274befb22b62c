"""The page of Huang et al. (2010): every table and figure, paper beside ours, from the journal alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papers.cells import Journal
from papers.pages import NOT_RUN, head

CONTENTS = ("Table 1", "Table 2", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5")


def page(journal: Journal) -> Iterator[str]:
    yield from head("Huang et al. (2010): sparse learning for support vector classification", "", journal)
    for name in CONTENTS:
        yield f"## {name}\n"
        yield f"{NOT_RUN.capitalize()}.\n"


def draw(journal: Journal, folder: Path) -> None:
    pass
