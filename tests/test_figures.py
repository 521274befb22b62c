"""Figures that the pages state are those that were measured, rounded to the digits that are shown."""

from __future__ import annotations

import json
import re

import pytest

import pages

RESULTS = pages.ROOT / "benchmarks" / "results"
COMPACT = RESULTS / "compact.md"


def number(text: str) -> float:
    return float(text.replace(",", ""))


def is_rounded(shown: str, measured: str, unit: float = 1.0) -> bool:
    """Whether `shown` is `measured`, which has a unit so many times smaller, with fewer digits."""
    last_digit = 10.0 ** -len(shown.partition(".")[2])
    return abs(number(measured) / unit - number(shown)) <= 0.5000001 * last_digit


def cells(line: str) -> list[str]:
    """The cells of a row of a table, without emphasis and units."""
    plain = line.replace("*", "").replace("`", "").strip("| \n")
    return [re.sub(r" (%|x|points)$", "", cell.strip()) for cell in plain.split("|")]


def test_what_is_rounded():
    assert is_rounded("98.1", "98.06%".rstrip("%"))
    assert is_rounded("10.3", "10,271", unit=1000)
    assert not is_rounded("98.0", "98.06")
    assert not is_rounded("7", "7.6")
    assert cells("| **7.0** | 1.6 x | +0.21 points | 85.32 % |") == ["7.0", "1.6", "+0.21", "85.32"]


# The README


METHODS = {
    "sklearn.svm.SVC, searched": "SVC, searched",
    "slimsvm.CompactSVC()": "CompactSVC",
    "slimsvm.reduce(svc, X, y)": "reduce(SVC, searched)",
    "LightGBM, defaults": "LightGBM, defaults",
}


def test_the_table_of_the_readme_has_the_measured_means():
    text = (pages.ROOT / "README.md").read_text()
    table = text[text.index("| means over the sets") : text.index("Times and speeds are relative")]
    ida = COMPACT.read_text().split("\n## ")[1]
    means = {name: rest for name, *rest in map(cells, ida.splitlines())}
    shown = {name: rest for name, *rest in map(cells, table.strip().splitlines()[2:])}
    assert set(shown) == set(METHODS)
    for name, (accuracy, vectors, seconds, speed) in shown.items():
        difference, measured_vectors, _, _, measured_seconds, measured_speed, n_sets = means[METHODS[name]]
        assert n_sets == "13"
        if accuracy[0] in "+-":
            assert (accuracy[0], accuracy) == (difference[0], difference)
        else:
            assert accuracy == means["mean"][0]
        assert vectors == measured_vectors
        assert is_rounded(seconds, measured_seconds)
        assert is_rounded(speed, measured_speed)


def ahead(ours: str, theirs: str) -> dict[str, bool]:
    """Sets on which both were measured, and whether `theirs` is the better one."""
    found = {}
    for section in COMPACT.read_text().split("\n## "):
        rows = {name: rest for name, *rest in map(cells, section.splitlines()) if rest}
        if (
            "method" in rows
            and {ours, theirs} <= set(rows)
            and rows["method"][0].startswith(("accuracy", "R²"))
        ):
            first, second = (number(rows[name][0].split(" ±")[0]) for name in (ours, theirs))
            found[section.splitlines()[0].removeprefix("ida_").removeprefix("reg_")] = second > first
    return found


@pytest.mark.parametrize("page", ["README.md", "docs/which-method.md"])
def test_the_sets_on_which_lightgbm_is_ahead_are_named(page):
    text = " ".join((pages.ROOT / page).read_text().split())
    said = re.search(
        r"ahead of `CompactSVC` on ([\w, ]+), and of `CompactSVR` on all regression sets but ([\w, ]+)\.",
        text,
    )
    classes, behind = (set(re.split(", | and ", names)) for names in said.groups())
    for_classes, for_targets = (
        ahead("CompactSVC", "LightGBM, defaults"),
        ahead("CompactSVR", "LightGBM, defaults"),
    )
    assert len(for_classes) > 13
    assert len(for_targets) == 10
    assert classes == {name for name, is_ahead in for_classes.items() if is_ahead}
    assert behind == {name for name, is_ahead in for_targets.items() if not is_ahead}


# Figures in the text of a page

C, ONNX, EXPANSION, ONE_NORM, SCALE = (
    RESULTS / f"{name}.md" for name in ("c_export", "onnx_speed", "expansion", "one_norm", "scale")
)
HUANG, KOBAYASHI = (pages.ROOT / "docs" / "results" / f"{name}.md" for name in ("huang", "kobayashi"))
# What a page says, # standing for a figure and ... for anything; the page of results, and how the rows begin that have
# these figures there; how many of its units make one of ours.
STATED = {
    "README.md": [
        ("take # of the time of the matrix product alone in float32, and # times less", EXPANSION,
         "| 100000 x 100 x 20 | float32 | 1 |"),
    ],
    "CHANGELOG.md": [("of our own, # times as fast as HiGHS", ONE_NORM, "HiGHS takes")],
    "docs/zero-norm.md": [("knows the hinge, # times as fast as HiGHS", ONE_NORM, "HiGHS takes")],
    "docs/microcontrollers.md": [
        ("at most 2 kB | # % | # bytes | # bytes | #; # with", C, "| 2,048 |"),
        ("at most 4 kB | # % | # bytes | # bytes | #; # with", C, "| 4,096 |"),
        ("at most 20 kB | # % | # bytes | # bytes |", C, "| int8 | 20,480 |"),
        ("at most 12 kB | # % | # bytes | # bytes |", C, "| int4 | 12,288 |"),
        ("with the first of these takes # bytes", C, "| 2,048 |"),
        ("takes # microseconds on a desktop processor in float32", C, "| float32 |"),
    ],
    "docs/large-data.md": [
        ("covtype came to # % right, ijcnn1", SCALE, "| covtype_2, shuffled |"),
        ("ijcnn1 to # % and MNIST", SCALE, "| ijcnn1, shuffled |"),
        ("MNIST to # %; fits", SCALE, "| mnist, shuffled |"),
        ("covtype came to # %, ijcnn1", SCALE, "| covtype_2, sorted by class |"),
        ("ijcnn1 to # %, MNIST", SCALE, "| ijcnn1, sorted by class |"),
        ("MNIST to # % ([", SCALE, "| mnist, sorted by class |"),
        ("took # seconds of processor time and # GB of memory, for # % right", SCALE, "| CompactSVC | 10,000,000 |"),
        ("a million rows gave # %", SCALE, "| CompactSVC | 1,000,000 |"),
        ("grows with the power # of", SCALE, "`CompactSVC` with at most 500 vectors on the first rows"),
        ("would take `CompactSVC` about # minutes, # of them", SCALE, "| CompactSVC | 9 |"),
        ("`FixedSizeLSSVC` # ([how", SCALE, "| FixedSizeLSSVC | 2 |"),
    ],
    "docs/reliability.md": [
        (f"| `{name}` | # s, # GB", SCALE, f"| `{name}` |")
        for name in ("CompactSVC", "CompactSVR", "FixedSizeLSSVC", "FixedSizeLSSVR", "ZeroNormSelector", "reduce")
    ],
    "docs/few-bytes.md": [("MNIST is # % accurate in 20 kB", COMPACT, "| mnist | 20,480 |")],
    "docs/onnx.md": [
        (": # times as fast for 1,000 rows", ONNX, "| 1000 |"),
        (", # times for 10,", ONNX, "| 10 |"),
        (", # times for one row", ONNX, "| 1 |"),
    ],
    "docs/compact.md": [
        ("`predict` takes # microseconds for one row, `expansion_` alone # ... as a list takes #;", EXPANSION,
         "| trained: FixedSizeLSSVC | 2 |"),
    ],
    "docs/reduction.md": [("core: # s for the ... together, where ... takes # s.", KOBAYASHI, "| **sum** |", 1000.0)],
    "docs/density.md": [
        ("that is # with # vectors, as likely", HUANG, "| 2 | cv | - |"),
        ("own best bandwidth # (", HUANG, "| 2 | full | - |"),
        ("\u2212# on held-out rows. With 100 vectors that are rows it is \u2212#,", HUANG, "| 2 | full | 100 |"),
        ("rows by expectation-maximisation, \u2212#.", HUANG, "| 2 | 10,000 |"),
        ("rows of the true density reached \u2212# ", HUANG, "| 2 | 100,000 |"),
    ],
    "docs/zero-norm-variants.md": [
        ("SMO takes # s of processor time", HUANG, "| SMO | 0 |"),
        ("the compiled solver takes # s,", HUANG, "| ours | 0 |"),
        ("with `floor=1e-3` # s", HUANG, "| ours | 0.001 |"),
        ("it has # vectors and `LPSVC` 5", HUANG, "| 1 | 7 / 9.7 / 1 |"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("page", "said", "results", "row", "unit"),
    [
        pytest.param(page, said, results, row, *(unit or (1.0,)), id=f"{page}: {said}")
        for page, entries in STATED.items()
        for said, results, row, *unit in entries
    ],
)
def test_a_stated_figure_was_measured(page, said, results, row, unit):
    text = " ".join((pages.ROOT / page).read_text().split())
    pattern = re.escape(said).replace(r"\#", r"([\d.,]*\d)").replace(r"\.\.\.", ".+?")
    [shown] = re.finditer(pattern, text)
    lines = [line for line in results.read_text().splitlines() if line.startswith(row)]
    measured = [each for line in lines for each in pages.NUMBER.findall(line)]
    for figure in shown.groups():
        assert any(is_rounded(figure, each, unit) for each in measured), (figure, measured)


# What is said of a picture

# Pictures of pages in a browser, which have no figures of docs/pictures.py.
PHOTOGRAPHED = ("browser", "report")


def test_the_numbers_that_are_said_of_a_picture_were_drawn():
    drawn = json.loads((RESULTS / "pictures.json").read_text())
    n_numbers = 0
    for page in pages.PAGES:
        for text, name in re.findall(r"!\[([^\]]*)\]\((?:docs/)?pictures/([\w-]+)\.png\)", page.read_text()):
            if name.startswith(PHOTOGRAPHED):
                continue
            numbers = pages.NUMBER.findall(text)
            known = set(pages.NUMBER.findall(json.dumps(drawn.get(name, {}))))
            assert known.issuperset(numbers), f"{page.name}: {text}"
            n_numbers += len(numbers)
    assert n_numbers > 30
