"""Other kernel methods, and the speed of the reduction alone, on the page."""

from __future__ import annotations

from collections.abc import Iterator

from harness import table
from papers.cells import Journal
from papers.pages import NOT_RUN, missing, seconds

from . import published as paper
from .cells import KINDS
from .others import COMPONENTS, MOST_ROWS, OPTIONS, SPEED_KEEP, SPEED_VECTORS, other_method, speed

SCORES = {
    "kernel PCA": f"rate of linear discriminants on the {COMPONENTS} components",
    "kernel discriminants": "rate of the nearest class mean",
    "kernel ridge": "R^2",
}


def other_tables(journal: Journal) -> Iterator[str]:
    yield "## Other kernel methods reduced\n"
    yield (
        'The paper says that its method "is applicable to versatile kernel-based methods, not only SVM"; it shows '
        "none. Here are three, each on the first split of a set (of abalone, which comes without one, 30 % drawn at "
        f"random are tested), at most {MOST_ROWS:,} training rows, inputs standardised; "
        "gamma is one over the median squared distance (kernel ridge: alpha and gamma by five folds). All training "
        f"rows are vectors before. lambda = {paper.RIDGE:g} and a loss that may rise by {paper.TAU:g}: mean squared "
        "error over the variance of the target for kernel ridge, mean squared change over the variance of the output "
        "for the others. The change is that of the outputs on the test rows, over their variance.\n"
    )
    for kind, names in KINDS.items():
        yield f"### {kind[0].upper()}{kind[1:]}: {SCORES[kind]}\n"
        rows = []
        for name in names:
            found = journal.found(other_method, kind=kind, name=name)
            if found is None:
                rows.append([name, missing(journal, other_method, kind=kind, name=name), "", "", "", ""])
                continue
            digits = 4 if kind == "kernel ridge" else 2
            for key in ("all", *OPTIONS):
                one = found[key]
                rows.append(
                    [
                        name if key == "all" else "",
                        "all rows" if key == "all" else f"`{key}`",
                        str(one["vectors"]),
                        f"{one['score']:.{digits}f}",
                        "" if key == "all" else f"{one['score'] - found['all']['score']:+.{digits}f}",
                        "" if key == "all" else f"{100 * one['change']:.2f} %",
                        seconds(one["seconds"]),
                    ]
                )
        columns = ["set", "", "vectors", "score", "lost or gained", "change of the outputs", "seconds"]
        yield from table(columns, [line + [""] * (len(columns) - len(line)) for line in rows])


def speed_table(journal: Journal) -> Iterator[str]:
    yield f"## Speed: {SPEED_VECTORS} vectors to {SPEED_KEEP}\n"
    found = journal.found(speed)
    if found is None:
        yield f"{NOT_RUN.capitalize()}.\n"
        return
    yield (
        'The paper: once the inverse is there, elimination has "small extra computational cost". Medians of three, in '
        "turn; the pruning makes its own inverse, and the inverse is `numpy.linalg.inv`.\n"
    )
    inverse = found["inverse"]
    names = {"inverse": "one inverse", **{key: f"`{key}`" for key in ("redundancy", "distance", "damage")}}
    rows = [[text, seconds(found[key]), f"{found[key] / inverse:.2f}"] for key, text in names.items()]
    yield from table(["", "seconds", "/ inverse"], rows)
