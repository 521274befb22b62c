"""Figures 2 to 5 and Table 2 of Huang et al. (2010), beside what slimsvm gives.

    python benchmarks/paper_huang.py                 # figures, times and a quick Table 2 (3 of the 10 folds)
    python benchmarks/paper_huang.py --folds 10      # the whole table
    python benchmarks/paper_huang.py --only figures  # or: table, times, relevance, density

Table 2 goes on from the rows in results/paper_huang_table.jsonl: take the file away to measure them anew.
Prints Markdown, and writes it to results/paper_huang.md with the figures beside it. Hyper-parameters are chosen by
cross-validation on the training part of each fold, never on its test part. SLIMSVM_DATA names the directory of the
published sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KernelDensity
from sklearn.svm import SVC

from harness import (
    RESULTS,
    command,
    head,
    least_seconds,
    n_vectors,
    peak_bytes,
    published,
    pyplot,
    timed,
    write_page,
    write_picture,
)
from huang_table import METHODS, PAPER, SHARE, choose, measure_all, page, rows_of
from slimsvm import RVC, RVR, SparseKernelDensity, ZeroNormSVC
from slimsvm.datasets import make_banana
from slimsvm.methods.zero_norm import rounds
from slimsvm.solvers import hinge_no_bias

# ruff: noqa: E501 (rows of tables)


@contextmanager
def without_the_core() -> Iterator[None]:
    """Within this context each round is solved by the interior point in NumPy and SciPy."""

    def in_numpy(B: Any, t: Any, c: Any, *, sign: Any, columns: Any, scale: Any, tol: float, **_: Any) -> Any:
        Z = sign[:, None] * hinge_no_bias.take_columns(B, columns) * scale
        return hinge_no_bias.solve_interior_point_hinge(Z, t, c, tol=tol)

    compiled, rounds.solve_hinge_through_origin = rounds.solve_hinge_through_origin, in_numpy
    try:
        yield
    finally:
        rounds.solve_hinge_through_origin = compiled


def times_beside_svc(sets: list[str]) -> list[str]:
    """The time of SSVC_A's fit as a multiple of SVC's with the same kernel and C."""
    lines = [
        "## Time of a fit, SSVC_A against SVC",
        "",
        "Nine tenths of the rows, one thread, best of nine, both with the gamma and C chosen for SSVC_A. The last column "
        "is SSVC_A with each round solved in NumPy and SciPy (`solvers/hinge_no_bias.py`) in place of the compiled "
        "core: why that is in the core.",
        "",
        *head("| set | paper: ratio | gamma d, C | vectors | SVC, ms | SSVC_A, ms | ratio | in NumPy, ms |"),
    ]
    for title in sets:
        name, published = PAPER[title]
        X, y = rows_of(name)
        train, _ = next(iter(StratifiedKFold(10, shuffle=True, random_state=1).split(X, y)))
        X, y = X[train], y[train]
        chosen = choose(METHODS["SSVC_A"], "SSVC_A", X, y)
        model, svc = (clone(METHODS[m]).set_params(**chosen) for m in ("SSVC_A", "SVC"))
        spent = [1e3 * least_seconds(partial(m.fit, X, y), 9) for m in (svc, model)]
        with without_the_core():
            in_numpy = 1e3 * least_seconds(partial(clone(model).fit, X, y), 1)
        ratio = published["SSVC_A"][0] / published["SVC"][0]
        lines.append(
            f"| {title} | {ratio:.0f} | {chosen['gamma'] * X.shape[1]:g}, {chosen['C']:g} | {model.n_vectors_} | "
            f"{spent[0]:.1f} | {spent[1]:.1f} | {spent[1] / spent[0]:.1f} | {in_numpy:.0f} |"
        )
        print(lines[-1], flush=True)
    return lines


def separable(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Two separable classes in the plane, as in Figure 2."""
    rng = np.random.default_rng(4)
    y = np.where(np.arange(n) % 2, 1, -1)
    angle = rng.uniform(0, np.pi, n)
    X = np.column_stack([3 * np.cos(angle), 3 * np.sin(angle)]) + 0.35 * rng.standard_normal((n, 2))
    X[y < 0] = np.array([0.0, 0.2]) + 0.5 * rng.standard_normal(((y < 0).sum(), 2))
    return X, y


def figures() -> list[str]:
    """Figures 2, 3 and 4."""
    plt = pyplot()
    lines = ["## Figures 2 to 4", ""]

    def draw(name: str, X: np.ndarray, y: np.ndarray, C: float, sigma: float) -> dict[str, Any]:
        gamma = 1 / (2 * sigma**2)
        models = {
            "SVC": SVC(C=C, gamma=gamma),
            "SSVC_A": ZeroNormSVC(C=C, gamma=gamma),
            "SSVC_B": ZeroNormSVC(C=C, gamma=gamma, variant="linear"),
        }
        figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
        low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
        mesh = np.meshgrid(np.linspace(low[0], high[0], 150), np.linspace(low[1], high[1], 150))
        grid = np.column_stack([m.ravel() for m in mesh])
        for axis, (title, model) in zip(axes, models.items(), strict=True):
            model.fit(X, y)
            f = model.decision_function(grid).reshape(mesh[0].shape)
            axis.contour(*mesh, f, levels=[-1, 0, 1], colors=["0.6", "k", "0.6"], linewidths=[0.8, 1.5, 0.8])
            axis.scatter(*X[y > 0].T, s=12, marker="*", color="C3")
            axis.scatter(*X[y <= 0].T, s=12, marker="h", color="C0")
            axis.scatter(*model.support_vectors_.T, s=60, facecolors="none", edgecolors="k")
            axis.set_title(f"{title}: {n_vectors(model)} vectors")
        write_picture(figure, RESULTS / name, 100)
        return models

    models = draw("paper_huang_2.png", *separable(), C=10.0, sigma=2.0)
    lines += [*head("| figure | SVC | SSVC_A | SSVC_B |"), "| 2, paper: vectors | 7 | 2 | 3 |"]
    lines += ["| 2, ours: vectors | " + " | ".join(str(n_vectors(m)) for m in models.values()) + " |"]
    X, X_test, y, y_test = published("ripley")
    models = draw("paper_huang_3.png", X, np.where(y > 0, 1, -1), C=1.0, sigma=0.5)
    signs = np.where(y_test > 0, 1, -1)
    lines += ["| 3, paper: vectors | 102 | 4 | 4 |"]
    lines += ["| 3, ours: vectors | " + " | ".join(str(n_vectors(m)) for m in models.values()) + " |"]
    errors = [f"{100 * np.mean(m.predict(X_test) != signs):.1f}" for m in models.values()]
    lines += ["| 3, ours: test error % | " + " | ".join(errors) + " |", ""]
    figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
    for variant, title in (("quadratic", "SSVC_A"), ("linear", "SSVC_B"), ("multiplicative", "SSVC_W")):
        model = ZeroNormSVC(C=1.0, gamma=2.0, variant=variant).fit(X_test, y_test)
        axis.semilogy(model.n_columns_, marker="o", label=title)
        lines += [f"Figure 4, {title}, 1000 rows: {' '.join(map(str, model.n_columns_))}", ""]
    axis.set(xlabel="round", ylabel="coefficients that are not zero")
    axis.legend()
    write_picture(figure, RESULTS / "paper_huang_4.png", 100)
    lines += [
        "![Figure 2](paper_huang_2.png)",
        "![Figure 3](paper_huang_3.png)",
        "![Figure 4](paper_huang_4.png)",
    ]
    print("\n".join(lines), flush=True)
    return lines


def laplace_evidence(Phi: np.ndarray, y: np.ndarray, precision: np.ndarray) -> float:
    """The log marginal likelihood by Laplace, by one formula for both packages."""
    Z = Phi / np.sqrt(precision)  # weights of unit precision

    def value(w: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -y * (Z @ w)).sum() + 0.5 * w @ w)

    def gradient(w: np.ndarray) -> np.ndarray:
        return w - Z.T @ (y * expit(-y * (Z @ w)))

    def hessian(w: np.ndarray) -> np.ndarray:
        f = Z @ w
        return np.eye(len(w)) + (Z.T * (expit(f) * expit(-f))) @ Z

    start = np.zeros(len(precision))
    mode = minimize(value, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-6})
    return -float(mode.fun) - 0.5 * float(np.linalg.slogdet(hessian(mode.x))[1])


def fastrvm_fit(X: np.ndarray, signs: np.ndarray) -> tuple[float, int, float, float]:
    """What fastrvm's RVC does for gamma 1, with a constant column among the candidates as RVC has it.

    Its own intercept is a column that never leaves, with a flat prior: another model. Returns seconds, vectors, log
    evidence, and the log evidence it reports.
    """
    from fastrvm import _sparsebayes_bindings as bindings

    def fit() -> tuple[np.ndarray, Any]:
        Phi = np.column_stack([pairwise_kernels(X, metric="rbf", gamma=1.0), np.ones(len(X))])
        solver = bindings.SparseBayes(bindings.Likelihood.Bernoulli, 10_000, False, False, False, True)
        return Phi, solver.inference(Phi, np.where(signs > 0, 1, 0))

    (Phi, found), seconds = timed(fit)
    columns = found["relevant_idx"].ravel()
    Phi = Phi[:, columns]
    # it normalises the columns, and divides the precisions by the squared norms where it should multiply: the mode and
    # the evidence it reports belong to these
    precision = found["alpha"].ravel() * np.square(Phi).sum(axis=0) ** 2
    evidence = laplace_evidence(Phi, signs, precision)
    reported = float(np.ravel(found["log_marginal_likelihood_trace"])[-1])
    return seconds, int((columns < len(X)).sum()), evidence, reported


def relevance(sizes: list[int], reach: bool) -> list[str]:
    """RVC beside fastrvm: time and marginal likelihood; and the size RVC and RVR reach."""
    lines = [
        "## Relevance vector machines",
        "",
        "Two crescents. The candidates of both packages are the RBF kernel with gamma 1 on every row and a constant "
        "column. The marginal likelihood is Laplace's, computed from vectors and precisions by one formula for both; "
        "beside it what fastrvm 0.1.5 reports itself. One run each, one after the other, in one process.",
        "",
        *head(
            "| n | RVC, s | vectors | log evidence | fastrvm, s | vectors | log evidence | it reports | ratio |"
        ),
    ]
    for n in sizes:
        X, y = make_banana(n, random_state=0)
        signs = np.where(y > 0, 1.0, -1.0)
        ours, seconds = timed(partial(RVC(gamma=1.0).fit, X, signs))
        Phi = np.column_stack(
            [np.ones(n), pairwise_kernels(X, ours.support_vectors_, metric="rbf", gamma=1.0)]
        )
        precision = np.append(ours.intercept_precision_[0], ours.precision_[0])
        used = np.isfinite(precision)
        evidence = laplace_evidence(Phi[:, used], signs, precision[used])
        row = f"| {n} | {seconds:.2f} | {ours.n_vectors_} | {evidence:.2f} | "
        try:
            other, vectors, theirs, reported = fastrvm_fit(X, signs)
            row += f"{other:.2f} | {vectors} | {theirs:.2f} | {reported:.2f} | {other / seconds:.1f} |"
        except ImportError:
            row += "fastrvm is not installed: `pip install fastrvm==0.1.5` | | | | |"
        lines.append(row)
        print(row, flush=True)
    if reach:
        n = 20_000
        X, y = make_banana(n, random_state=0)
        for model, target in ((RVR(gamma=1.0), np.sin(2 * X[:, 0]) + X[:, 1] ** 2), (RVC(gamma=1.0), y)):
            if isinstance(model, RVR):
                target = target + 0.2 * np.random.default_rng(1).standard_normal(n)
            _, spent = timed(partial(model.fit, X, target))
            peak = peak_bytes() / 2**30
            lines += ["", f"{type(model).__name__}, n = {n}: {spent:.0f} s, {model.n_vectors_} vectors, peak memory of "
                      f"the process {peak:.2f} GiB (the kernel matrix alone would need {8 * n * n / 2**30:.1f})."]  # fmt: skip
            print(lines[-1], flush=True)
    return lines


def density() -> list[str]:
    """Sparse density on 10,000 rows of mixtures, beside the full estimate."""
    lines = [
        "## Sparse kernel density",
        "",
        "10,000 rows of a mixture of four Gaussians, 5,000 others held out. Bandwidth *cv* is chosen for the sparse "
        "estimate (the default), *full* for the full one, by the likelihood of rows left out. Figures are mean held-out "
        "log-likelihoods: of the sparse estimate, of the full one with the same bandwidth, and of the full one with its "
        "own best.",
        "",
        *head(
            "| features | bandwidth | at most | vectors | sparse | full, same bandwidth | full, its own | seconds |"
        ),
    ]
    centres = np.array([[0, 0], [3, 1], [-2, 3], [1, -3.0]])
    widths = np.array([1, 0.5, 0.8, 0.6])
    for d in (1, 2):
        rng = np.random.default_rng(0)
        kind = rng.choice(4, 15_000, p=[0.4, 0.2, 0.25, 0.15])
        rows = centres[kind, :d] + widths[kind, None] * rng.standard_normal((15_000, d))
        X, new = rows[:10_000], rows[10_000:]
        cases = [("cv", None), ("full", None), ("full", 100)]
        models = [SparseKernelDensity(bandwidth=bandwidth, max_vectors=limit) for bandwidth, limit in cases]
        times = [timed(partial(model.fit, X))[1] for model in models]
        same = [KernelDensity(bandwidth=m.bandwidth_).fit(X).score(new) / len(new) for m in models]
        own = same[1]
        for (bandwidth, limit), model, full, seconds in zip(cases, models, same, times, strict=True):
            lines.append(
                f"| {d} | {bandwidth}: {model.bandwidth_:.3f} | {limit or '-'} | {model.n_vectors_} | "
                f"{model.score(new) / len(new):.4f} | {full:.4f} | {own:.4f} | {seconds:.1f} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--folds", type=int, default=3, help="folds of Table 2, up to 10")
    parser.add_argument(
        "--share", type=float, default=SHARE, help="of a standard error, for the choice in Table 2"
    )
    parser.add_argument(
        "--races", type=Path, help="file that keeps the cross-validation of Table 2's settings"
    )
    parser.add_argument("--only", choices=["figures", "table", "times", "relevance", "density"])
    parser.add_argument("--sets", nargs="+", default=list(PAPER), choices=list(PAPER))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[500, 2000, 4000], help="rows for fastrvm")
    parser.add_argument("--reach", action="store_true", help="fit RVC and RVR to 20,000 rows too (minutes)")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts: dict[str, Callable[[], list[str]]] = {
        "figures": figures,
        "times": lambda: times_beside_svc(options.sets),
        "density": density,
        "relevance": lambda: relevance(options.sizes, options.reach),
        "table": lambda: page(
            measure_all(options.folds, options.sets, options.methods, options.share, options.races)
        ),
    }
    lines = ["# Huang et al. (2010), Sparse learning for support vector classification", ""]
    for part, run in parts.items():
        if options.only in (None, part):
            lines += [*run(), ""]
    name = "paper_huang.md" if options.only is None else f"paper_huang_{options.only}.md"
    write_page(RESULTS / name, lines)


if __name__ == "__main__":
    main()
