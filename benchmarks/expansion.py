"""Evaluating an RBF expansion: the compiled core beside NumPy, GEMM alone, scikit-learn and scikit-learn-intelex.

Run by `make bench`, or `python benchmarks/expansion.py`; prints a table and writes results/expansion.md, of which
`--only predict` measures the last table anew (seconds) and leaves the others as they are. All times are medians of
interleaved runs in milliseconds, so ratios within a row are what to look at.
"""

from __future__ import annotations

import platform
from collections.abc import Callable

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from harness import RESULTS, command, head, interleaved, versions, write_page
from slimsvm import FixedSizeLSSVC, KernelExpansion, _core, reduce
from slimsvm.kernels import RBF

SHAPES = [(100_000, 100, 20), (100_000, 10, 2), (20_000, 1000, 784)]
ROUNDS = 15
# scikit-learn takes seconds on the largest shape: it gets fewer rows, and its time is scaled up
SCIKIT_LEARN_ROWS = 2_000
# How the part of the page begins that `--only predict` writes anew.
PREDICT = "One row through `predict`"


def milliseconds(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    return {name: 1e3 * seconds for name, seconds in interleaved(functions, rounds).items()}


def microseconds(function: Callable[[], object], rounds: int) -> float:
    return 1e3 * milliseconds({"": function}, rounds)[""]


def fitted_svc(kind: type, vectors: np.ndarray, gamma: float) -> object:
    """An SVC whose support vectors are exactly these: labels at random, every row at its bound."""
    y = np.arange(len(vectors)) % 2
    model = kind(kernel="rbf", gamma=gamma, C=1e-3).fit(vectors, y)
    assert len(model.support_vectors_) == len(vectors)
    return model


def numpy_expansion(X: np.ndarray, f: KernelExpansion, gamma: float, rows: int = 2048) -> np.ndarray:
    """The same values by chunks of GEMM, exp and a product."""
    out = np.empty((len(X), f.n_outputs), dtype=X.dtype)
    norms = np.einsum("ij,ij->i", f.vectors, f.vectors)
    for start in range(0, len(X), rows):
        x = X[start : start + rows]
        K = x @ f.vectors.T
        K *= 2
        K -= norms
        K -= np.einsum("ij,ij->i", x, x)[:, None]
        np.minimum(K, 0, out=K)
        K *= x.dtype.type(gamma)
        np.exp(K, out=K)
        out[start : start + rows] = K @ f.coef
    out += f.intercept
    return out


def intelex_svc() -> type | None:
    try:
        from sklearnex.svm import SVC as IntelexSVC
    except ImportError:
        return None
    return IntelexSVC


def one_row_through_predict(rng: np.random.Generator) -> list[str]:
    """`predict` of one row for models of 20 vectors and 20 features: labels, with the finiteness of the row checked.

    Beside it the outputs alone, without labels, and `predict` of a list, which scikit-learn's checks see first.
    """
    lines = [
        "",
        f"{PREDICT}, 20 vectors and 20 features, float64, microseconds (median of calls one after the other; "
        f"{versions()}):",
        "",
        *head(
            "| model | classes | slimsvm | `expansion_` alone | slimsvm, the row as a list "
            "| SVC it was reduced from, or of as many rows | SVC / slimsvm |"
        ),
    ]
    for n_classes in (2, 10):
        X, y = rng.standard_normal((600, 20)), rng.integers(0, n_classes, 600)
        svc = SVC().fit(X, y)
        row = X[:1].copy()
        for name, model in (
            ("trained: FixedSizeLSSVC", FixedSizeLSSVC(n_vectors=20).fit(X, y)),
            (
                f"reduced SVC, votes of {n_classes * (n_classes - 1) // 2}",
                reduce(svc, max_vectors=20, method="prune"),
            ),
        ):
            # one after the other: in turn, each would find the other's code and data in the caches
            ours = microseconds(lambda: model.predict(row), 5000)
            alone = microseconds(lambda: model.expansion_(row), 5000)
            listed = microseconds(lambda: model.predict(row.tolist()), 1000)
            theirs = microseconds(lambda: svc.predict(row), 1000)
            lines.append(
                f"| {name} | {n_classes} | {ours:.1f} | {alone:.1f} | {listed:.0f} | {theirs:.0f} "
                f"| {theirs / ours:.0f} |"
            )
            print(lines[-1], flush=True)
    return lines


def predict_anew() -> None:
    """Measure one row through `predict`, and keep the rest of the page."""
    path = RESULTS / "expansion.md"
    kept = path.read_text(encoding="utf-8").split(PREDICT)[0].rstrip("\n").split("\n")
    write_page(path, [*kept, *one_row_through_predict(np.random.default_rng(0))])


def main() -> None:
    rng = np.random.default_rng(0)
    lines = [
        "# Evaluating an RBF expansion",
        "",
        f"`python benchmarks/expansion.py`; {platform.machine()}, instruction set {_core.instruction_set()}, "
        f"{versions()}. Median milliseconds of {ROUNDS} interleaved "
        f"runs; SVC is measured on {SCIKIT_LEARN_ROWS} rows and scaled. GEMM is the product X V' alone.",
        "",
        *head(
            "| n x m x d | dtype | threads | slimsvm | GEMM alone | NumPy | intelex | SVC | slimsvm / GEMM "
            "| SVC / slimsvm | intelex / slimsvm |"
        ),
    ]
    single = [
        "",
        "One row at a time, microseconds:",
        "",
        *head("| m x d | dtype | slimsvm | SVC | SVC / slimsvm |"),
    ]
    speedups = [
        "",
        "Two threads against one, interleaved with nothing else:",
        "",
        *head("| n x m x d | dtype | ratio |"),
    ]
    intelex = intelex_svc()
    for n, m, d in SHAPES:
        for dtype in (np.float32, np.float64):
            X = rng.standard_normal((n, d)).astype(dtype)
            V = rng.standard_normal((m, d)).astype(dtype)
            gamma = 1.0 / d
            f = KernelExpansion(RBF(gamma), V, rng.standard_normal((m, 1)), 0.5)
            svc = fitted_svc(SVC, V, gamma)
            few = X[:SCIKIT_LEARN_ROWS]
            for threads in (1, 2):
                functions = {
                    "slimsvm": lambda: f(X, n_threads=threads),
                    "gemm": lambda: X @ V.T,
                    "numpy": lambda: numpy_expansion(X, f, gamma),
                }
                if intelex is not None:
                    other = fitted_svc(intelex, V, gamma)
                    functions["intelex"] = lambda: other.decision_function(X)
                with threadpool_limits(threads):
                    times = milliseconds(functions, ROUNDS)
                    times["svc"] = (
                        milliseconds({"svc": lambda: svc.decision_function(few)}, 3)["svc"] * n / len(few)
                    )
                ours = times["slimsvm"]
                lines.append(
                    f"| {n} x {m} x {d} | {dtype.__name__} | {threads} | {ours:.2f} | {times['gemm']:.2f} | "
                    f"{times['numpy']:.2f} | {times.get('intelex', np.nan):.2f} | {times['svc']:.0f} | "
                    f"{ours / times['gemm']:.2f} | {times['svc'] / ours:.0f} | "
                    f"{times.get('intelex', np.nan) / ours:.2f} |"
                )
                print(lines[-1], flush=True)
            # apart from the others: BLAS threads spin for a while after their own work and take a processor
            alone = milliseconds({"1": lambda: f(X, n_threads=1), "2": lambda: f(X, n_threads=2)}, 2 * ROUNDS)
            speedups.append(f"| {n} x {m} x {d} | {dtype.__name__} | {alone['1'] / alone['2']:.2f} |")
            row = X[:1].copy()
            times = milliseconds({"slimsvm": lambda: f(row), "svc": lambda: svc.decision_function(row)}, 300)
            single.append(
                f"| {m} x {d} | {dtype.__name__} | {1e3 * times['slimsvm']:.1f} | {1e3 * times['svc']:.1f} | "
                f"{times['svc'] / times['slimsvm']:.1f} |"
            )
            print(speedups[-1], single[-1], flush=True)
    lines += speedups + single + one_row_through_predict(rng)
    print("\n".join(lines))
    write_page(RESULTS / "expansion.md", lines)


if __name__ == "__main__":
    parser = command(__doc__)
    parser.add_argument("--only", choices=("predict",), help="this part of the page anew, the others stay")
    (predict_anew if parser.parse_args().only else main)()
