"""The experiments of Xia, Li and Irwin (2008), and the cost of the two stages.

    python benchmarks/paper_xia.py          two spirals, checkerboard, ROC curves, boundaries (a minute)
    python benchmarks/paper_xia.py speed    n = 5000, 100 vectors: both stages beside one kernel matrix

What is printed is kept in benchmarks/results/xia_<name>.md, the pictures beside it. The paper gives no table
but pictures, and says that the machines separate the spirals and keep "an excellent generalization capacity"
on the checkerboard. Its sigma is 1 / sqrt(2 gamma); for the checkerboard it is a share of the side.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from harness import RESULTS, Page, command, head, least_seconds, pyplot, timed, write_picture
from slimsvm import LSSVC, TwoStageLSSVC
from slimsvm.datasets import make_checkerboard, make_ringnorm, make_two_spirals
from slimsvm.kernels import RBF
from slimsvm.methods.two_stage.selection import TwoStage


def page(name: str, title: str) -> Page:
    return Page(RESULTS / f"xia_{name}.md", title)


def boundary(axis: Any, model: Any, X: np.ndarray, y: np.ndarray, title: str) -> None:
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.05 * (high - low)
    grid = np.stack(
        np.meshgrid(*(np.linspace(a - m, b + m, 250) for a, b, m in zip(low, high, margin, strict=True))),
        axis=-1,
    )
    outputs = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(
        grid[..., 0], grid[..., 1], outputs > 0, levels=[-0.5, 0.5, 1.5], colors=["#dbe9f6", "#fde3cf"]
    )
    axis.contour(grid[..., 0], grid[..., 1], outputs, levels=[0.0], colors="black", linewidths=1)
    first = y == np.unique(y)[0]
    axis.plot(*X[first].T, "o", ms=2, color="#1f4e79", mfc="none")
    axis.plot(*X[~first].T, "+", ms=3, color="#a63d00")
    axis.plot(*model.support_vectors_.T, "k.", ms=3)
    axis.set_title(title, fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])


def machine(m: int, sigma: float) -> TwoStageLSSVC:
    return TwoStageLSSVC(n_vectors=m, gamma=1.0 / (2.0 * sigma**2), n_jobs=-1)


def spirals() -> None:
    X, y = make_two_spirals()
    report = page("spirals", "Two spirals: 194 rows")
    report.add(
        *head(
            "| machine | vectors, paper | ours | training rows right | loss, forward | after exchanges | AUC |"
        )
    )
    drawing, axes = pyplot().subplots(1, 4, figsize=(14, 3.6))
    roc, roc_axis = pyplot().subplots(figsize=(4, 4))
    full = LSSVC(C=0.16 * 2, gamma=1.0 / (2.0 * 11.33**2)).fit(X, y)
    report.add(
        f"| LS-SVM, sigma 11.33, gamma 0.16 as printed | 194 | {full.n_vectors_} | "
        f"{(full.predict(X) == y).sum()} | | | {roc_auc_score(y, full.decision_function(X)):.4f} |"
    )
    full = LSSVC(C=100.0, gamma=0.5).fit(X, y)
    report.add(
        f"| LS-SVM, sigma 1, C 100 | 194 | {full.n_vectors_} | {(full.predict(X) == y).sum()} | | | "
        f"{roc_auc_score(y, full.decision_function(X)):.4f} |"
    )
    boundary(axes[0], full, X, y, "LS-SVM, 194 vectors")
    for axis, m in zip(axes[1:], (192, 120, 72), strict=True):
        model = machine(m, 1.0).fit(X, y)
        outputs = model.decision_function(X)
        report.add(
            f"| two-stage, sigma 1 | {m} | {model.n_vectors_} | {(model.predict(X) == y).sum()} | "
            f"{model.forward_loss_[-1]:.4g} | {model.loss_:.4g} | {roc_auc_score(y, outputs):.4f} |"
        )
        boundary(axis, model, X, y, f"two-stage, {model.n_vectors_} vectors")
        roc_axis.plot(*roc_curve(y, outputs)[:2], label=f"{m} vectors")
    fewest = next(m for m in range(2, 73) if machine(m, 1.0).fit(X, y).score(X, y) == 1.0)
    report.add(f"\nThe fewest vectors that separate all 194 rows at sigma 1: {fewest}.")
    _finish(drawing, roc, roc_axis, "spirals")


def width(sigma: float, side: float) -> float:
    return 1.0 / (2.0 * (sigma * side) ** 2)


def full_by_folds(X: np.ndarray, y: np.ndarray, side: float) -> tuple[float, float]:
    """Sigma, as a share of the side, and C of the full machine by five folds on the training rows."""
    folds = np.random.default_rng(0).permutation(len(y)).reshape(5, -1)
    found = {}
    for s in (0.02, 0.04, 0.06, 0.08, 0.1, 0.2):
        for C in (0.1, 1.0, 10.0, 100.0, 1000.0):
            total = 0.0
            for fold in folds:
                train = np.setdiff1d(np.arange(len(y)), fold)
                total += LSSVC(C=C, gamma=width(s, side)).fit(X[train], y[train]).score(X[fold], y[fold])
            found[s, C] = total
    return max(found, key=lambda pair: found[pair])


def checkerboard() -> None:
    X, y = make_checkerboard(1000, random_state=0)
    X_test, y_test = make_checkerboard(20000, random_state=1)
    side = float(np.ptp(X, axis=0).max())
    report = page("checkerboard", "Checkerboard: 1000 rows to train, 20,000 to test")
    report.add(*head("| machine | vectors | accuracy (%) | AUC | s |"))
    drawing, axes = pyplot().subplots(1, 3, figsize=(11, 3.8))
    roc, roc_axis = pyplot().subplots(figsize=(4, 4))
    s, C = full_by_folds(X, y, side)
    candidates = [
        (f"LS-SVM, sigma {s} and C {C} by five folds", LSSVC(C=C, gamma=width(s, side))),
        ("two-stage, sigma 0.06", machine(100, 0.06 * side)),
        ("two-stage, sigma 0.02", machine(70, 0.02 * side)),
        ("two-stage, sigma 0.06", machine(70, 0.06 * side)),
        (f"two-stage, sigma {s}", machine(100, s * side)),
    ]
    for at, (title, model) in enumerate(candidates):
        _, seconds = timed(partial(model.fit, X, y))
        outputs = model.decision_function(X_test)
        report.add(
            f"| {title} | {model.n_vectors_} | {100 * model.score(X_test, y_test):.2f} | "
            f"{roc_auc_score(y_test, outputs):.4f} | {seconds:.2f} |"
        )
        if at < 3:
            boundary(axes[at], model, X, y, f"{title.split(',')[0]}, {model.n_vectors_} vectors")
        roc_axis.plot(*roc_curve(y_test, outputs)[:2], label=f"{title}: {model.n_vectors_}")
    _finish(drawing, roc, roc_axis, "checkerboard")
    report.add("\nThe same on five draws (accuracy in %, 100 vectors against 1000):\n")
    report.add(*head("| draw | LS-SVM, sigma and C by five folds | two-stage, sigma 0.06 | sigma 0.07 |"))
    table = []
    for draw in range(5):
        X, y = make_checkerboard(1000, random_state=draw)
        X_test, y_test = make_checkerboard(20000, random_state=100 + draw)
        s, C = full_by_folds(X, y, side)
        models = [LSSVC(C=C, gamma=width(s, side)), machine(100, 0.06 * side), machine(100, 0.07 * side)]
        table.append([100 * model.fit(X, y).score(X_test, y_test) for model in models])
        report.add(f"| {draw} | " + " | ".join(f"{value:.2f}" for value in table[-1]) + " |")
    report.add("| mean | " + " | ".join(f"{value:.2f}" for value in np.mean(table, axis=0)) + " |")


def _finish(drawing: Any, roc: Any, roc_axis: Any, name: str) -> None:
    roc_axis.set_xlabel("false positives")
    roc_axis.set_ylabel("true positives")
    roc_axis.legend(fontsize=7)
    for figure, kind in ((drawing, "boundary"), (roc, "roc")):
        figure.tight_layout()
        write_picture(figure, RESULTS / f"xia_{name}_{kind}.png", 90)


def select_forward(K: np.ndarray, Y: np.ndarray, m: int) -> TwoStage:
    """The first stage alone."""
    selection = TwoStage(K, Y)
    while len(selection.chosen) < m:
        selection.forward_step()
    return selection


def speed(n: int = 5000, m: int = 100) -> None:
    report = page("speed", f"n = {n}, {m} vectors: time of the two stages over that of one kernel matrix")
    report.add(*head("| features | kernel matrix (s) | forward (s) | ratio | rounds | a round (s) | ratio |"))
    for d in (2, 20):
        X, y = make_ringnorm(n, random_state=0)
        X, Y = np.ascontiguousarray(X[:, :d]), np.where(y == y.max(), 1.0, -1.0)[:, None]
        kernel = RBF(1.0 / (2 * d))
        matrix = least_seconds(partial(kernel, X, X))
        selection, forward = timed(partial(select_forward, kernel(X, X) + 1.0, Y, m))
        rounds, exchanged = [], 1
        while exchanged:
            exchanged, seconds = timed(selection.refine_round)
            rounds.append(seconds)
        report.add(
            f"| {d} | {matrix:.3f} | {forward:.2f} | {forward / matrix:.1f} | {len(rounds)} | "
            f"{max(rounds):.2f} at most | {max(rounds) / matrix:.1f} |"
        )


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("parts", nargs="*", default=["spirals", "checkerboard"])
    for part in parser.parse_args().parts:
        {"spirals": spirals, "checkerboard": checkerboard, "speed": speed}[part]()


if __name__ == "__main__":
    main()
