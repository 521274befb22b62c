"""The site is whole: every page is reached, every public name described, every link and picture there."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pages
import slimsvm
from profiles import hard

DOCS = pages.ROOT / "docs"
SITE = [
    *sorted(DOCS.glob("*.md")),
    *sorted((DOCS / "results").glob("*.md")),
    *sorted((pages.ROOT / "benchmarks" / "results").glob("*.md")),
    *(pages.ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")),
    *(pages.ROOT / name for name in ("cpp/README.md", "tests/fuzz/README.md")),
]
LINK = re.compile(
    r"!?\[[^\]]*\]\(([^)\s]+)\)|^:(?:link|img-top):\s*(\S+)$|<img[^>]+src=\"([^\"]+)\"", re.MULTILINE
)


def module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


llms = module(DOCS / "llms.py")


def named_in_the_reference() -> set[str]:
    """Names that api.md lists, below the package."""
    blocks = re.findall(
        r"^   :toctree: api\n(.*?)^```$", (DOCS / "api.md").read_text(), re.MULTILINE | re.DOTALL
    )
    return {line.strip() for block in blocks for line in block.splitlines() if line.strip()}


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings, as the renderers of Markdown spell them."""
    headings = re.findall(r"^#+ (.+)$", pages.FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_landing_page():
    missing = [
        page.relative_to(pages.ROOT).as_posix() for page in SITE if page not in llms.in_reading_order()
    ]
    assert not missing, f"in no toctree: {missing}"


def test_every_entry_of_a_toctree_exists():
    made_by_the_build = {DOCS / "gallery" / "index"}
    for page in llms.in_reading_order():
        for entry in llms.entries(page):
            target = (page.parent / entry).resolve()
            assert target in made_by_the_build or target.with_name(target.name + ".md").exists(), (
                page,
                entry,
            )


def test_every_public_name_is_in_the_reference():
    missing = set(slimsvm.__all__) - {"datasets"} - named_in_the_reference()
    assert not missing, f"to be added to docs/api.md: {sorted(missing)}"


def test_every_name_of_the_reference_exists():
    for name in named_in_the_reference():
        value = slimsvm
        for part in name.split("."):
            if value is slimsvm and part not in dir(slimsvm):
                value = importlib.import_module(f"slimsvm.{part}")
            else:
                value = getattr(value, part)


@pytest.mark.parametrize("page", SITE, ids=lambda page: page.relative_to(pages.ROOT).as_posix())
def test_links_and_pictures_exist(page):
    text = re.sub(r"^```(?!\{).*?^```$|`[^`\n]+`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in ("".join(found) for found in LINK.findall(text)):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if target.parent in (DOCS / "api", DOCS / "gallery"):  # made by the build
            continue
        target = target if target.exists() else target.with_name(target.name + ".md")
        assert target.exists(), link
        assert target.suffix != ".md" or target in SITE, f"{link} is no page of the site (docs/conf.py)"
        assert not anchor or anchor in anchors(target), link


def test_every_page_opens_with_what_the_reader_gets():
    for page in DOCS.glob("*.md"):
        title, opening = llms.title_and_opening(page)
        assert len(title) < 60, title
        assert len(opening.split()) >= 5, (page, opening)


def test_every_picture_is_there_and_shown():
    script = (DOCS / "pictures.py").read_text()
    families = re.findall(r'^    "([\w-]+)": \(\n', script, re.MULTILINE)
    drawn = {*re.findall(r'^    "([\w-]+)": draw_', script, re.MULTILINE), *families}
    assert len(families) >= 7
    shown = {
        Path(link).stem
        for page in (*DOCS.glob("*.md"), pages.ROOT / "README.md")
        for link in re.findall(r"(?<!results/)pictures/([\w-]+\.\w+)", page.read_text())
    }
    there = {path.stem for path in (DOCS / "pictures").iterdir()}
    assert drawn <= there
    assert shown == there


def test_every_test_that_a_promise_names_exists():
    named = re.findall(r"`(tests/\w+\.py)::(\w+)`", (DOCS / "reliability.md").read_text())
    assert len(named) > 30
    for file, test in named:
        assert f"def {test}(" in (pages.ROOT / file).read_text(), test


def test_the_figures_of_the_landing_page_are_those_of_the_readme():
    tables = [
        text[text.index("| means over the sets") : text.index("Times and speeds are relative")]
        for text in ((DOCS / "index.md").read_text(), (pages.ROOT / "README.md").read_text())
    ]
    assert tables[0] == tables[1]  # and those are compared with what was measured, in test_figures.py


def test_llms_lists_every_page_and_every_public_name():
    text = llms.text()
    for page in SITE:
        assert f"({page.relative_to(pages.ROOT).with_suffix('.html').as_posix()}): " in text
    for name in slimsvm.__all__:
        assert re.search(rf"^- \[{name}\]\(\S+\): \S+", text, re.MULTILINE), name


def test_formulas_are_read_as_they_are_meant():
    pytest.importorskip("sphinx")
    mathml = module(DOCS / "mathml.py")
    halves = [mathml.converted(formula, as_block=False) for formula in (r"\tfrac12 |f|", r"\tfrac{1}{2} |f|")]
    assert halves[0] == halves[1]
    assert "<mn>12</mn>" not in halves[0]
    for page in DOCS.glob("*.md"):
        for formula in re.findall(r"\$\$(.+?)\$\$", pages.FENCED.sub("", page.read_text()), re.DOTALL):
            assert "<math" in mathml.converted(formula, as_block=True)


@hard
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("furo")
    pytest.importorskip("sphinx_gallery")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs",
        "-d",
        str(tmp_path / "trees"),
    ]
    done = subprocess.run(
        [*command, ".", str(tmp_path / "site")], cwd=pages.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for page in SITE:
        assert (tmp_path / "site" / page.relative_to(pages.ROOT).with_suffix(".html")).exists()
    assert (tmp_path / "site" / "llms.txt").read_text() == llms.text()
    for name in slimsvm.__all__:
        assert name == "datasets" or (tmp_path / "site" / "docs" / "api" / f"slimsvm.{name}.html").exists()
