"""Table 1 and Figure 1 on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness import Array, Record, pyplot, table, write_picture
from papers.cells import Journal
from papers.pages import (
    NOT_RUN,
    difference,
    missing,
    number,
    picture,
    ratio,
    seconds,
    shares,
    summary,
    welch,
)

from . import published as paper
from .sets import FIGURE_TAUS, PRUNED, REDUCED, measure, pairs_by, searched

# What counts as the paper's number of vectors.
COUNT_SHARE = 0.25
AT_TAU = FIGURE_TAUS.index(paper.TAU)
RULES = {
    "each": "each split its own best pair (Table 1)",
    "shared": "one pair for a set",
    "count": "pair with the paper's number of support vectors",
}


def found_by(journal: Journal, rule: str) -> dict[str, Record]:
    """What was run on each set with the parameters of a rule."""
    results = {}
    for name in paper.TABLE_1:
        pairs = pairs_by(journal, name, rule)
        found = None if pairs is None else journal.found(measure, name=name, pairs=pairs)
        if found is not None:
            results[name] = found
    return results


def why_not(journal: Journal, name: str, rule: str = "each") -> str:
    pairs = pairs_by(journal, name, rule)
    return NOT_RUN if pairs is None else missing(journal, measure, name=name, pairs=pairs)


def column(found: Record, key: str, field: str) -> tuple[float, float]:
    """Mean and deviation over the splits; at tau = 0.025 where there are several."""
    values = found[key][field]
    return summary([value[AT_TAU] if isinstance(value, list) else value for value in values])


def near(ours: float, target: float) -> bool:
    return abs(ours / target - 1) <= COUNT_SHARE


def near_sets(results: dict[str, Record], key: str = "redundancy", fewer: int = 0) -> dict[str, bool]:
    return {
        name: near(column(found, key, "vectors")[0] - fewer, paper.TABLE_1[name].vectors[0])
        for name, found in results.items()
    }


def several(mean: float, deviation: float) -> str:
    """Vectors: mean ± deviation."""
    return f"{number(mean)} ± {number(deviation)}"


def percent(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f} ± {pair[1]:.2f}"


def counts(journal: Journal) -> Iterator[str]:
    """How many sets have the paper's number of vectors."""
    yield f"The paper's rule (`redundancy`, lambda = {paper.RIDGE:g}, tau = {paper.TAU:g}) on the sets of Table 1:\n"
    rows = []
    for rule, title in RULES.items():
        results = found_by(journal, rule)
        ok = near_sets(results)
        svm = [
            near(column(r, "SVC", "vectors")[0], paper.TABLE_1[n].svm_vectors[0]) for n, r in results.items()
        ]
        rate = [
            abs(column(r, "redundancy", "rate")[0] - paper.TABLE_1[n].rate[0]) <= 1
            for n, r in results.items()
        ]
        rows.append(
            [
                title,
                shares(svm),
                shares(ok.values()),
                shares(near_sets(results, fewer=1).values()),
                shares(rate),
                ", ".join(name for name in ok if not ok[name]) or "-",
            ]
        )
    within = f"within {COUNT_SHARE:.0%}"
    yield from table(
        [
            "C and gamma",
            f"SVM: vectors {within}",
            f"pruned: vectors {within}",
            "with the state after tau is exceeded",
            "pruned: rate within 1 point",
            "vectors not",
        ],
        rows,
    )
    results = found_by(journal, "each")
    if results:
        lost = {
            key: np.mean([column(r, key, "rate")[0] - column(r, "SVC", "rate")[0] for r in results.values()])
            for key in (*PRUNED, "refine", "auto")
        }
        kept = {
            key: np.mean(
                [column(r, key, "vectors")[0] / column(r, "SVC", "vectors")[0] for r in results.values()]
            )
            for key in lost
        }
        yield (
            f"Mean over {len(results)} sets, share of the support vectors kept and change of the rate in points: "
            + ", ".join(f"`{key}` {kept[key]:.0%}, {lost[key]:+.2f}" for key in lost)
            + ".\n"
        )


def table_1(journal: Journal) -> Iterator[str]:
    yield "## Table 1: 13 sets, tau = 0.025, mean ± deviation over ten splits\n"
    results = found_by(journal, "each")
    yield "### The SVM\n"
    yield from svm_table(journal, results, "each")
    yield "### The proposed method, and Downs et al.\n"
    yield (
        "`chance` is the probability, by Welch's test, that two means of ten splits differ so by chance. Vectors of "
        "Downs et al. are those of `exact`, whose rates are the SVM's.\n"
    )
    rows = []
    for name, target in paper.TABLE_1.items():
        if name not in results:
            rows.append(
                [name, several(*target.vectors), why_not(journal, name), "", "", percent(target.rate), "", "", "",
                 several(*target.downs), ""]
            )  # fmt: skip
            continue
        found = results[name]
        vectors, rate = column(found, "redundancy", "vectors"), column(found, "redundancy", "rate")
        rows.append(
            [
                name,
                several(*target.vectors),
                several(*vectors),
                ratio(vectors[0], target.vectors[0]),
                f"{welch(vectors, target.vectors, paper.N_SPLITS):.2g}",
                percent(target.rate),
                percent(rate),
                difference(rate[0], target.rate[0], 2),
                f"{welch(rate, target.rate, paper.N_SPLITS):.2g}",
                several(*target.downs),
                several(*column(found, "exact", "vectors")),
            ]
        )
    yield from table(
        ["set", "vectors, paper", "ours", "ours / paper", "chance", "rate, paper", "ours", "difference", "chance",
         "Downs, paper", "ours"],
        rows,
    )  # fmt: skip
    yield from reasons(journal, results)
    yield "### Other ways to reduce the same SVMs\n"
    yield "Vectors and rates; `exact` loses nothing and `auto` is what `reduce(svc, X, y)` does.\n"
    keys = (*PRUNED, *REDUCED)
    rows = []
    for name in paper.TABLE_1:
        if name not in results:
            rows.append([name, why_not(journal, name), *[""] * len(keys)])
            continue
        cells = []
        for key in ("SVC", *keys):
            vectors, rate = column(results[name], key, "vectors"), column(results[name], key, "rate")
            cells.append(f"{several(*vectors)}, {rate[0]:.2f}")
        rows.append([name, *cells])
    yield from table(["set", "SVM", *(f"`{key}`" for key in keys)], rows)


def svm_table(journal: Journal, results: dict[str, Record], rule: str) -> Iterator[str]:
    rows = []
    for name, target in paper.TABLE_1.items():
        if name not in results:
            why = why_not(journal, name, rule)
            rows.append(
                [name, why, "", several(*target.svm_vectors), "", "", percent(target.svm_rate), "", ""]
            )
            continue
        pairs = pairs_by(journal, name, rule)
        assert pairs is not None
        vectors, rate = column(results[name], "SVC", "vectors"), column(results[name], "SVC", "rate")
        logs = np.log2(np.array(pairs))
        rows.append(
            [
                name,
                exponents(logs[:, 0]),
                exponents(logs[:, 1]),
                several(*target.svm_vectors),
                several(*vectors),
                ratio(vectors[0], target.svm_vectors[0]),
                percent(target.svm_rate),
                percent(rate),
                difference(rate[0], target.svm_rate[0], 2),
            ]
        )
    yield from table(
        [
            "set",
            "log2 C",
            "log2 gamma",
            "vectors, paper",
            "ours",
            "ours / paper",
            "rate, paper",
            "ours",
            "difference",
        ],
        rows,
    )


def exponents(values: Array) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def reasons(journal: Journal, results: dict[str, Record]) -> Iterator[str]:
    """For each set beyond the limit: is it the SVM or the pruning?"""
    ok = near_sets(results)
    if not results or all(ok.values()):
        return
    yield (
        f"Beyond {COUNT_SHARE:.0%}, each with an experiment: an SVM that is as good within one standard error of the "
        "cross-validation and was picked for its number of support vectors.\n"
    )
    matched = found_by(journal, "count")
    for name in ok:
        if ok[name]:
            continue
        target = paper.TABLE_1[name]
        svm, kept = (column(results[name], key, "vectors") for key in ("SVC", "redundancy"))
        chance = welch(kept, target.vectors, paper.N_SPLITS)
        text = (
            f"- {name}: {number(kept[0])} of {number(svm[0])} support vectors, the paper {target.vectors[0]:g} of "
            f"{target.svm_vectors[0]:g} (probability by chance {chance:.2g})"
        )
        if name in matched:
            svm, kept = (column(matched[name], key, "vectors") for key in ("SVC", "redundancy"))
            text += f"; with an SVM of {number(svm[0])} it keeps {number(kept[0])}: " + verdict(
                name, svm, kept
            )
        yield text + "."
    yield ""


def verdict(name: str, svm: tuple[float, float], kept: tuple[float, float]) -> str:
    target = paper.TABLE_1[name]
    if near(kept[0], target.vectors[0]):
        return "the rule agrees, the difference came from C and gamma"
    if not near(svm[0], target.svm_vectors[0]):
        return "no equally good pair of the grid has the paper's number of support vectors"
    return (
        "the number of support vectors does not tell the machine, pairs of C and gamma that share it differ"
    )


def other_rules(journal: Journal) -> Iterator[str]:
    yield "## Table 1 at other C and gamma\n"
    yield (
        "How much of Table 1 is the SVM's and how much the pruning's. **One pair for a set** has the best mean rate of "
        "the cross-validation on the first three training parts. **Pair chosen to have the paper's number of support "
        "vectors**: of all pairs within one standard error (of five folds) of the best mean rate over the ten training "
        "parts, the one whose machines have the number of support vectors nearest to the paper's. It looks at the "
        "paper's result and is no reproduction: it shows what the pruning does to such a machine.\n"
    )
    rows = []
    by_rule = {rule: found_by(journal, rule) for rule in ("shared", "count")}
    for name, target in paper.TABLE_1.items():
        cells = [name, f"{target.svm_vectors[0]:g} → {target.vectors[0]:g}"]
        for rule, results in by_rule.items():
            pairs = pairs_by(journal, name, rule)
            if name not in results or pairs is None:
                cells += [why_not(journal, name, rule), "", "", ""]
                continue
            svm, kept = (column(results[name], key, "vectors") for key in ("SVC", "redundancy"))
            before, after = (column(results[name], key, "rate")[0] for key in ("SVC", "redundancy"))
            C, gamma = np.log2(pairs[0])
            cells += [
                f"2^{C:g}, 2^{gamma:g}",
                f"{several(*svm)} → {several(*kept)}",
                ratio(kept[0], target.vectors[0]),
                f"{before:.2f} → {after:.2f}",
            ]
        rows.append(cells)
    heading = [
        text
        for title in ("one pair", "the paper's number")
        for text in (f"{title}: C, gamma", "vectors", "ours / paper", "rates")
    ]
    yield from table(["set", "paper", *heading], rows)
    if any(searched(journal, name) for name in paper.TABLE_1):
        yield from spreads(journal)


def spreads(journal: Journal) -> Iterator[str]:
    """How far the number of support vectors is from settled by cross-validation."""
    texts = []
    for name in paper.TABLE_1:
        found = searched(journal, name)
        if found is None:
            continue
        rates = 100 * np.mean([np.array(one["correct"]) / one["rows"] for one in found], axis=0)
        best = int(np.argmax(rates))
        error = np.mean([one["errors"][best] for one in found])
        vectors = np.mean([one["vectors"] for one in found], axis=0)[rates >= rates[best] - error]
        texts.append(f"{name} {number(vectors.min())} to {number(vectors.max())} ({len(vectors)} pairs)")
    yield (
        "Support vectors of the SVMs whose cross-validation is within one standard error of the best: "
        + ", ".join(texts)
        + ". So cross-validation hardly settles the number that Table 1 begins with.\n"
    )


def algorithms(journal: Journal) -> Iterator[str]:
    yield "## Algorithm 1 with eq. (5), Algorithm 2 with eq. (7)\n"
    yield (
        "The paper takes the two errors of a replacement as equal because lambda is small. `distance` is eq. (5), "
        f"`redundancy` eq. (7), both with lambda = {paper.RIDGE:g}; SVMs of Table 1, tau = {paper.TAU:g}.\n"
    )
    results = found_by(journal, "each")
    rows = []
    for name in paper.TABLE_1:
        if name not in results:
            rows.append([name, why_not(journal, name), "", "", "", "", ""])
            continue
        seven, five = (column(results[name], key, "vectors") for key in ("redundancy", "distance"))
        rates = [column(results[name], key, "rate")[0] for key in ("redundancy", "distance")]
        same = np.mean(
            [
                a[AT_TAU] == b[AT_TAU]
                for a, b in zip(
                    results[name]["redundancy"]["vectors"], results[name]["distance"]["vectors"], strict=True
                )
            ]
        )
        rows.append(
            [name, several(*seven), several(*five), ratio(five[0], seven[0]), f"{same:.0%}", f"{rates[0]:.2f}",
             f"{rates[1]:.2f}"]
        )  # fmt: skip
    yield from table(
        [
            "set",
            "vectors, eq. (7)",
            "eq. (5)",
            "(5) / (7)",
            "splits with equal numbers",
            "rate, eq. (7)",
            "eq. (5)",
        ],
        rows,
    )


def times(journal: Journal) -> Iterator[str]:
    yield "## Times on the 13 sets\n"
    yield (
        "Milliseconds, means over the splits; the paper has no times. Those of `redundancy`, `distance` and `damage` "
        "have all kernel values and the loss after every elimination in them.\n"
    )
    results = found_by(journal, "each")
    keys = ("SVC", *PRUNED, *REDUCED)
    rows = []
    for name in paper.TABLE_1:
        if name not in results:
            rows.append([name, why_not(journal, name), *[""] * (len(keys) - 1)])
        else:
            rows.append(
                [name, *(seconds(1e3 * float(np.mean(results[name][key]["seconds"]))) for key in keys)]
            )
    if results:
        sums = [sum(float(np.mean(r[key]["seconds"])) for r in results.values()) for key in keys]
        rows.append(["**sum**", *(seconds(1e3 * value) for value in sums)])
    yield from table(["set", "SVC.fit", *(f"`{key}`" for key in keys[1:])], rows)


def curve(found: Record, key: str) -> Array:
    """Mean change of the rate at each tau, from 0 on."""
    change = np.array(found[key]["rate"]) - np.array(found["SVC"]["rate"])[:, None]
    return np.concatenate(([0.0], change.mean(axis=0)))


def figure_1(journal: Journal) -> Iterator[str]:
    yield "## Figure 1: the rate against the rise of the hinge loss\n"
    results = found_by(journal, "each")
    if not results:
        yield f"{NOT_RUN.capitalize()}.\n"
        return
    yield picture("kobayashi-1.png", "Recognition rate against the allowed rise of the hinge loss, 13 sets")
    yield (
        f"The paper reads from it that a rise by 0.1 costs about {-0.1 * paper.SLOPE:g} points. Change of the rate in "
        "points, `redundancy`:\n"
    )
    rows = [
        [name, *(f"{value:+.2f}" for value in curve(found, "redundancy")[1:])]
        for name, found in results.items()
    ]
    mean = np.mean([curve(found, "redundancy")[1:] for found in results.values()], axis=0)
    line = paper.SLOPE * np.array(FIGURE_TAUS)
    rows.append(["**mean**", *(f"{value:+.2f}" for value in mean)])
    rows.append(["the paper's line", *(f"{value:+.2f}" for value in line)])
    yield from table(["set", *(f"tau = {tau:g}" for tau in FIGURE_TAUS)], rows)
    slope = float(mean @ FIGURE_TAUS / np.square(FIGURE_TAUS).sum())
    yield (
        f"A line through the origin and the mean of the {len(results)} sets falls by {-0.1 * slope:.1f} points for a "
        "rise by 0.1.\n"
    )


def draw_figure_1(journal: Journal, folder: Path) -> None:
    results = found_by(journal, "each")
    if not results:
        return
    colours = pyplot().get_cmap("tab10").colors
    figure, axes = pyplot().subplots(1, 2, figsize=(10.5, 4.6), sharey=True, layout="constrained")
    taus = np.concatenate(([0.0], FIGURE_TAUS))
    for axis, key in zip(axes, ("redundancy", "damage"), strict=True):
        for number_of, name in enumerate(paper.TABLE_1):
            if name in results:
                axis.plot(
                    taus,
                    curve(results[name], key),
                    color=colours[number_of % len(colours)],
                    marker="osD^vP*X<>phd"[number_of],
                    linestyle="-" if number_of < len(colours) else ":",
                    markersize=5,
                    linewidth=1.2,
                    label=name.replace("_", " "),
                )
        axis.plot(taus, paper.SLOPE * taus, "k--", linewidth=2, label="the paper's line")
        axis.set(xlabel="allowed rise of the mean hinge loss, tau", title=TITLES[key])
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("change of the recognition rate (points)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=9)
    write_picture(figure, folder / "kobayashi-1.png", 120)


TITLES = {"redundancy": "the paper's rule, lambda = 0.001", "damage": "ours (damage), lambda = 1e-5"}
