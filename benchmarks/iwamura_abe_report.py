"""Tables of Iwamura and Abe (2008): the paper's figures beside ours, and a verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import iwamura_abe_tables as paper
from harness import table
from iwamura_abe_machines import FULL_MAX_ITER, Outcome, SetResult

# The tolerances of "reproduced".
VECTORS_SHARE, VECTORS_LEAST = 0.10, 1.5
ACCURACY_POINTS, MEAN_POINTS = 1.5, 0.5
GAP, TIME_RATIO = 1e-6, 1.5
# Linear kernels: rank and number of inputs differ on image, both are right.
LINEAR_RANGE = {"image": (15, 18)}


def number(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def spread(pair: tuple[float, float]) -> str:
    return f"{number(pair[0])}±{pair[1]:.2g}" if pair[1] else f"{pair[0]:g}"


def ours(outcome: Outcome, field: str) -> tuple[float, float]:
    return outcome.mean(field), outcome.deviation(field)


def near_vectors(value: float, target: float) -> bool:
    return abs(value - target) <= max(VECTORS_SHARE * target, VECTORS_LEAST)


def near_accuracy(value: float, target: float) -> bool:
    return abs(value - target) <= ACCURACY_POINTS


def why(name: str, result: SetResult, difference: float, deviation: float) -> str:
    """What is known about a difference: the splits, and how many standard errors of the paper's mean it is.

    The deviation is the paper's; published realisations are part of its sample, generated ones another one.
    """
    n, of_paper = result.n_splits, paper.TABLE_I[name].realisations
    n_generated = n - result.n_published
    if n_generated:
        splits = f"{n_generated} of {n} splits generated, the paper's not found"
        error = deviation * np.sqrt(1 / n + 1 / of_paper)
    else:
        splits = f"{n} of the paper's {of_paper} realisations"
        error = deviation * np.sqrt(1 / n - 1 / of_paper)
    return f"{splits}; {abs(difference) / error:.1f} standard errors" if error > 0 else splits


def side_by_side(
    results: dict[str, SetResult],
    roman: str,
    rows: dict[str, Any],
    keys: Sequence[str],
    field: str,
    near: Callable[[float, float], bool],
) -> Iterator[str]:
    """Paper | ours for each column, and what is known of those that differ by more than the tolerance."""
    body = []
    for name, result in results.items():
        cells, judged = [name], ""
        for key, of_paper in zip(keys, rows[name], strict=True):
            outcome = result.outcomes[key]
            cells += [spread(of_paper), spread(ours(outcome, field))]
            if near(outcome.mean(field), of_paper[0]):
                continue
            difference = outcome.mean(field) - of_paper[0]
            reason = why(name, result, difference, of_paper[1])
            if "SVM" in key:
                reason = paper.BASELINE_NOTES.get((roman, name), reason)
            judged += f"{key} {difference:+.3g}: {reason}. "
        body.append([*cells, judged.strip() or "within tolerance"])
    mean = ["**mean**"]
    for column, key in enumerate(keys):
        mean.append(number(float(np.mean([rows[name][column][0] for name in results]))))
        mean.append(number(float(np.mean([r.outcomes[key].mean(field) for r in results.values()]))))
    header = ["set", *(f"{key}, {who}" for key in keys for who in ("paper", "ours")), "verdict"]
    yield from table(header, [*body, [*mean, ""]])


def parameter_tables(results: dict[str, SetResult], searched: bool) -> Iterator[str]:
    who = "paper \\| found" if searched else "as used"

    def cell(of_paper: float, used: float) -> str:
        return f"{of_paper:g} \\| {used:g}" if searched else f"{used:g}"

    yield f"## Table II: C of linear kernels, hinge ({who})\n"
    yield from table(
        ["set", "SVM", "OSV", "NOSV"],
        [
            [name, *(cell(p, u) for p, u in zip(paper.TABLE_II[name], r.parameters.linear, strict=True))]
            for name, r in results.items()
        ],
    )
    for title, rows, field in (
        ("III: hinge", paper.TABLE_III, "l1"),
        ("X: squared hinge", paper.TABLE_X, "l2"),
    ):
        yield f"## Table {title}, RBF kernels ({who})\n"
        yield from table(
            ["set", "C", "gamma (divided by the number of inputs)", "C sparse", "eta"],
            [
                [name, *(cell(p, u) for p, u in zip(rows[name], getattr(r.parameters, field), strict=True))]
                for name, r in results.items()
            ],
        )


def time_table(results: dict[str, SetResult], rows: dict[str, Any], keys: Sequence[str]) -> Iterator[str]:
    body = [
        [
            name,
            *(
                cell
                for key, of_paper in zip(keys, rows[name], strict=True)
                for cell in (f"{of_paper:g}", f"{result.outcomes[key].median('seconds'):.2g}")
            ),
        ]
        for name, result in results.items()
    ]
    sums = ["**sum**"]
    for column, key in enumerate(keys):
        sums.append(f"{sum(rows[name][column] for name in results):.3g}")
        sums.append(f"{sum(r.outcomes[key].median('seconds') for r in results.values()):.3g}")
    yield from table(["set", *(f"{key}, {who}" for key in keys for who in ("paper", "ours"))], [*body, sums])


LINEAR_KEYS = ("linear SVM", "linear OSV", "linear NOSV")
L1_KEYS, L2_KEYS = ("L1 SVM", "L1 sparse"), ("L2 SVM", "L2 sparse")


def tables(results: dict[str, SetResult], searched: bool) -> Iterator[str]:
    yield from parameter_tables(results, searched)
    for roman, title, rows, keys, field, near in (
        ("IV", "recognition rates, linear, hinge", paper.TABLE_IV, LINEAR_KEYS, "accuracy", near_accuracy),
        ("V", "recognition rates, RBF, hinge", paper.TABLE_V, L1_KEYS, "accuracy", near_accuracy),
        ("VI", "vectors, linear, hinge", paper.TABLE_VI, LINEAR_KEYS, "n_vectors", near_vectors),
        ("VII", "vectors, RBF, hinge", paper.TABLE_VII, L1_KEYS, "n_vectors", near_vectors),
        ("XI", "recognition rates, RBF, squared hinge", paper.TABLE_XI, L2_KEYS, "accuracy", near_accuracy),
        ("XII", "vectors, RBF, squared hinge", paper.TABLE_XII, L2_KEYS, "n_vectors", near_vectors),
    ):
        yield f"## Table {roman}: {title}\n"
        yield from side_by_side(results, roman, rows, keys, field, near)
    for roman, title, rows, keys in (
        ("VIII", "linear, hinge", paper.TABLE_VIII, LINEAR_KEYS),
        ("IX", "RBF, hinge", paper.TABLE_IX, L1_KEYS),
        ("XIII", "RBF, squared hinge", paper.TABLE_XIII, L2_KEYS),
    ):
        yield f"## Table {roman}: seconds to train and test, {title}\n"
        yield "The paper's are of a 2.6 GHz workstation; ours are medians over the splits, one thread.\n"
        yield from time_table(results, rows, keys)


# ---------------------------------------------------------------------------- what was to be shown


def linear_counts_right(name: str, result: SetResult) -> bool:
    """Whether OSV and NOSV have the paper's number of vectors, or the rank where an input is constant."""
    expected = paper.TABLE_VI[name][1][0]
    low, high = LINEAR_RANGE.get(name, (expected, expected))
    return all(
        low <= run.n_vectors <= high or run.n_vectors == rank
        for key in ("linear OSV", "linear NOSV")
        for run, rank in zip(result.outcomes[key].runs, result.ranks, strict=True)
    )


def summary(results: dict[str, SetResult]) -> Iterator[str]:
    def line(what: str, missed: list[str]) -> list[str]:
        return [what, f"{len(results) - len(missed)} of {len(results)}", ", ".join(missed) or "-"]

    rows = []
    for roman, figures, key, field, near in (
        ("VII", paper.TABLE_VII, "L1 sparse", "n_vectors", near_vectors),
        ("XII", paper.TABLE_XII, "L2 sparse", "n_vectors", near_vectors),
        ("V", paper.TABLE_V, "L1 sparse", "accuracy", near_accuracy),
        ("XI", paper.TABLE_XI, "L2 sparse", "accuracy", near_accuracy),
    ):
        missed = [
            name for name, r in results.items() if not near(r.outcomes[key].mean(field), figures[name][1][0])
        ]
        rows.append(line(f"Table {roman}, sparse: {field} within tolerance", missed))
    missed = [name for name, r in results.items() if not linear_counts_right(name, r)]
    rows.append(line("Table VI: linear vectors", missed))
    yield "## Summary\n"
    yield (
        f"Tolerances: vectors {VECTORS_SHARE:.0%} or {VECTORS_LEAST}, recognition rates {ACCURACY_POINTS} "
        f"points, their mean over the sets {MEAN_POINTS}.\n"
    )
    yield from table(["what", "sets", "not"], rows)
    for roman, figures, key in (("V", paper.TABLE_V, "L1 sparse"), ("XI", paper.TABLE_XI, "L2 sparse")):
        target = float(np.mean([figures[name][1][0] for name in results]))
        value = float(np.mean([r.outcomes[key].mean("accuracy") for r in results.values()]))
        verdict = ("within" if abs(value - target) <= MEAN_POINTS else "NOT within") + f" {MEAN_POINTS}"
        yield f"- Mean of Table {roman}, sparse: paper {target:.2f}, ours {value:.2f}: {verdict}."
    sparse_runs = [
        (r.gap, r.warned)
        for result in results.values()
        for key, outcome in result.outcomes.items()
        if key in ("linear OSV", "linear NOSV", "L1 sparse", "L2 sparse")
        for r in outcome.runs
    ]
    gap, n_warned = max(gap for gap, _ in sparse_runs), sum(warned for _, warned in sparse_runs)
    verdict = "at most" if gap <= GAP else "NOT at most"
    yield (
        f"- Largest relative duality gap of {len(sparse_runs)} fits of EmpiricalSVC: {gap:.1e} "
        f"({verdict} {GAP:g}); {n_warned} of them warned."
    )
    if excess := [value for r in results.values() for value in r.osv_excess]:
        yield (
            f"- OSV = SVM: the objective of OSV lies {min(excess):+.1e} to {max(excess):+.1e} (relative) "
            "above FullSVC's, whose own tolerance is 1e-3."
        )
    for key in ("L1 SVM", "linear SVM", "L2 SVM"):
        limited = [name for name, r in results.items() if any(run.warned for run in r.outcomes[key].runs)]
        if limited:
            yield f"- FullSVC ({key}) stopped at {FULL_MAX_ITER:,} iterations on: {', '.join(limited)}."
    yield ""


def fit_times(results: dict[str, SetResult]) -> Iterator[str]:
    yield "## Fit at the hyper-parameters of Table III: EmpiricalSVC beside scikit-learn's SVC\n"
    yield "Milliseconds, median over the splits, fits interleaved, one thread.\n"
    times = {
        name: [1e3 * r.outcomes[key].median("fit_seconds") for key in ("L1 SVC", "L1 sparse")]
        for name, r in results.items()
    }
    svc, empirical = np.sum(list(times.values()), axis=0)
    rows = [[name, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}"] for name, (a, b) in times.items()]
    rows.append(["**sum**", f"{svc:.1f}", f"{empirical:.1f}", f"**{empirical / svc:.2f}**"])
    yield from table(["set", "SVC.fit", "EmpiricalSVC.fit", "ratio"], rows)
    full_sum, sparse_sum = np.sum([paper.TABLE_IX[name] for name in results], axis=0)
    verdict = ("within" if empirical <= TIME_RATIO * svc else "NOT within") + f" {TIME_RATIO}"
    yield f"The ratio of the sums is {verdict}; the paper's (Table IX) is {sparse_sum / full_sum:.2f}.\n"
