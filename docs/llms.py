"""llms.txt: every page with its first sentence and every public name with what it is, for programs that read.

``python docs/llms.py`` prints it; building the site writes it beside the pages.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import slimsvm

DOCS = Path(__file__).parent
ROOT = DOCS.parent
FENCED = re.compile(r"^(```+|:::+).*?^\1$", re.MULTILINE | re.DOTALL)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_PROSE = ("![", "|", "#", "<", "- ", "(")


def plain(markdown: str) -> str:
    """Text without emphasis and links, on one line."""
    return " ".join(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("**", "").split())


def first_sentence(text: str) -> str:
    """Everything up to the first full stop that ends a sentence."""
    return re.split(r"(?<=[.?!])\s", plain(text), maxsplit=1)[0]


def title_and_opening(page: Path) -> tuple[str, str]:
    """The title of a page, and the first sentence below it."""
    text = FENCED.sub("", page.read_text())
    _, title, below = re.split(r"^# (.+)$", text, maxsplit=1, flags=re.MULTILINE)
    paragraphs = [part.strip() for part in below.split("\n\n")]
    prose = [part for part in paragraphs if part and not part.startswith(NOT_PROSE)]
    return plain(title), first_sentence(prose[0]) if prose else ""


def entries(page: Path) -> dict[str, str]:
    """What the toctrees of a page name, relative to the page, each with the title given there, or none."""
    lines = [line.strip() for block in TOCTREE.findall(page.read_text()) for line in block.splitlines()]
    found = [re.fullmatch(r"(?:(.+?) <(.+)>|([^:].*))", line) for line in lines if line and line[0] != ":"]
    return {match[2] or match[3]: match[1] or "" for match in found if match}


def in_reading_order() -> dict[Path, str]:
    """The pages in the order of the toctrees, beginning with the landing page, with their titles."""
    order, titles = [DOCS / "index.md"], {DOCS / "index.md": ""}
    for page in order:  # which grows meanwhile
        for entry, title in entries(page).items():
            path = (page.parent / f"{entry}.md").resolve()
            if path.exists() and path not in titles:
                order.append(path)
                titles[path] = title
    return {page: titles[page] or title_and_opening(page)[0] for page in order}


def text() -> str:
    """The whole file."""
    title, opening = title_and_opening(DOCS / "index.md")
    lines = [f"# {title}", "", f"> {opening}", "", "## Pages", ""]
    for page, name in in_reading_order().items():
        about = title_and_opening(page)[1]
        lines.append(f"- [{name}]({page.relative_to(ROOT).with_suffix('.html')}): {about}")
    lines += ["", "## Public names", ""]
    for name in slimsvm.__all__:
        value = getattr(slimsvm, name)
        described = inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value)
        about = inspect.getdoc(value) if described else "Names of the classes that skops may trust."
        target = "docs/data.html" if inspect.ismodule(value) else f"docs/api/slimsvm.{name}.html"
        lines.append(f"- [{name}]({target}): {first_sentence(about or '')}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(text(), end="")
