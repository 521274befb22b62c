"""The code blocks of a Markdown page, and how a reader would run them."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# A block whose first line is a comment with a file's name, and perhaps a place in it, is that file, or a part of it.
NAMED = re.compile(r"# ([\w./-]+\.py)(?:, in (\w+))?$")
# How paths of the repository begin, and paths of the package.
FOLDERS = ("src/", "tests/", "docs/", "cpp/", "benchmarks/", "examples/")
INSIDE = (
    "methods/", "solvers/", "refinement/", "reduction/", "adapters/", "kernels/", "datasets/", "cli/",
)  # fmt: skip


@dataclass(frozen=True)
class Block:
    """One fenced block: what stands behind the fence, its text, its line, and the output printed below it."""

    info: str
    text: str
    line: int
    output: str | None = None

    @property
    def name(self) -> tuple[str, str | None] | None:
        """The file it is, and the place in it."""
        found = NAMED.match(self.text.split("\n", 1)[0]) if self.info == "python" else None
        return (found[1], found[2]) if found else None

    @property
    def body(self) -> str:
        """The text without the line that names it."""
        return self.text.split("\n", 1)[1] if self.name else self.text

    @property
    def is_run(self) -> bool:
        """Whether a reader can type it in as it stands; "python needs ..." says what else that takes."""
        return self.info == "python" and self.name is None


def blocks(page: Path) -> list[Block]:
    """All fenced blocks; a plain one right behind a python one is what that prints."""
    text = page.read_text()
    found: list[Block] = []
    end = 0
    for match in FENCED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if (
            match[1] == "text"
            and found
            and found[-1].info == "python"
            and not text[end : match.start()].strip()
        ):
            found[-1] = Block(found[-1].info, found[-1].text, found[-1].line, match[2])
        else:
            found.append(Block(match[1], match[2], line))
        end = match.end()
    return found


def files(page: Path, *, under: str = "") -> dict[str, str]:
    """The whole files a page shows, by name."""
    named = [(block.name, block.body) for block in blocks(page) if block.name]
    return {
        name.removeprefix(under): body
        for (name, place), body in named
        if place is None and name.startswith(under)
    }


def parts(page: Path) -> dict[tuple[str, str], str]:
    """The parts of files a page shows, by file and place."""
    named = [(block.name, block.body) for block in blocks(page) if block.name]
    return {(name, place): body for (name, place), body in named if place is not None}


def write(texts: dict[str, str], folder: Path) -> None:
    """Write files as a reader would."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def same(printed: str, shown: str) -> bool:
    """Whether two texts agree, numbers to two per cent or a unit of the last digit that is shown.

    Last digits depend on the processor's instructions.
    """
    if NUMBER.split(printed) != NUMBER.split(shown):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(_near(a, b) for a, b in pairs)


def _near(printed: str, shown: str) -> bool:
    a, b = (float(text.replace(",", "")) for text in (printed, shown))
    unit = 10.0 ** -len(shown.partition(".")[2])
    return abs(a - b) <= max(0.02 * b, 1.001 * unit)


def run(page: Path) -> Iterator[Block]:
    """Run the examples of a page in one namespace, and compare what they print; yields each block that was run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if not block.is_run:
            continue
        if ">>>" in block.text:
            test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
            report = io.StringIO()
            doctest.DocTestRunner().run(test, out=report.write, clear_globs=False)
            assert not report.getvalue(), report.getvalue()
            names = test.globs
        else:
            code = compile("\n" * block.line + block.text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                exec(code, names)
            if block.output is not None:
                printed = shown.getvalue()
                assert same(printed, block.output), f"{page.name}:{block.line} printed\n{printed}"
        yield block


def targets(page: Path) -> list[Path]:
    """Files that a page links to, and paths of this repository that it names in code."""
    text = FENCED.sub("", page.read_text())
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    named = [name for name in re.findall(r"`([\w./-]+)`", text) if name.startswith(FOLDERS)]
    inside = [name for name in re.findall(r"`([\w./-]+)`", text) if name.startswith(INSIDE)]
    return [
        *(page.parent / link for link in links),
        *(ROOT / name for name in named),
        *(ROOT / "src" / "slimsvm" / name for name in inside),
    ]
