"""Cases of benchmarks/answers.py: models of others made smaller, and scores against size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import slimsvm
from answers_data import Fitted, N, Parameters, label, make, parameters_of, parts, targets, weights

# Models of others, and what each is fitted to.
REDUCIBLE: dict[str, tuple[Callable[[], Any], str | None]] = {
    "SVC": (lambda: SVC(C=3.0), "binary"),
    "SVC three": (lambda: SVC(C=3.0), "three"),
    "SVC linear": (lambda: SVC(C=3.0, kernel="linear"), "binary"),
    "SVC poly": (lambda: SVC(C=3.0, kernel="poly", degree=2, coef0=1.0), "three"),
    "SVC sigmoid": (lambda: SVC(kernel="sigmoid", gamma=0.05), "binary"),
    "NuSVC": (lambda: NuSVC(nu=0.3), "binary"),
    "SVR": (lambda: SVR(C=3.0), "one"),
    "NuSVR": (lambda: NuSVR(C=3.0), "one"),
    "OneClassSVM": (lambda: OneClassSVM(nu=0.2), None),
    "KernelRidge": (lambda: KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1), "one"),
    "KernelRidge two": (lambda: KernelRidge(kernel="laplacian", gamma=0.3, alpha=0.1), "two"),
    "KernelPCA": (lambda: KernelPCA(n_components=2, kernel="rbf", gamma=0.3, eigen_solver="dense"), None),
    "GaussianProcessRegressor": (
        lambda: GaussianProcessRegressor(RBF(1.5) + WhiteKernel(0.1), optimizer=None), "one"
    ),
    "Pipeline": (lambda: make_pipeline(StandardScaler(with_mean=False), SVC(C=3.0)), "binary"),
    "Pipeline SVR": (lambda: make_pipeline(StandardScaler(with_mean=False), SVR(C=3.0)), "one"),
    "FullSVC": (lambda: make("FullSVC", {"C": 3.0}), "three"),
    "LSSVR": (lambda: make("LSSVR", {"C": 3.0}), "two"),
}  # fmt: skip
REDUCTIONS: list[Parameters] = [
    {"method": "prune"},
    {"method": "prune", "criterion": "redundancy"},
    {"method": "prune", "max_vectors": 12},
    {"method": "prune", "max_vectors": 12, "refit": True},
    {"method": "exact"},
    {"method": "refine"},
    {"method": "refine", "max_vectors": 8},
]


def reduced(name: str, wanted: Parameters, form: str = "float64", weighted: bool = False) -> Fitted:
    build, task = REDUCIBLE[name]
    X, T = parts(form)
    y = None if task is None else targets(task)[:N]
    weight = {"sample_weight": weights()} if weighted else {}
    model = build().fit(X, y, **weight)
    return slimsvm.reduce(model, X, y, **weight, **parameters_of(slimsvm.reduce, wanted)), T


def meta(name: str, wanted: Parameters, weighted: bool) -> Fitted:
    build, task = REDUCIBLE[name]
    X, T = parts("float64")
    y = None if task is None else targets(task)[:N]
    weight = {"sample_weight": weights()} if weighted else {}
    model = slimsvm.Reduced(build(), **parameters_of(slimsvm.Reduced, wanted))
    return model.fit(X, y, **weight), T


def scored(wanted: Parameters) -> Fitted:
    """A reduction that stops by a score; and one that sees nothing but the model."""
    X, T = parts("float64")
    y = targets("binary")[:N]
    svc = SVC(C=3.0).fit(X, y)
    data = (X, y) if "scoring" in wanted else ()
    return slimsvm.reduce(svc, *data, **parameters_of(slimsvm.reduce, wanted)), T


def reduction_cases() -> Iterator[tuple[str, Callable[[], Fitted]]]:
    for name in REDUCIBLE:
        for wanted in REDUCTIONS:
            yield f"reduce {name}{label(wanted)}", partial(reduced, name, wanted)
    for name in ("SVC three", "SVR", "Pipeline"):
        for form in ("float32", "csr"):
            for method in ("prune", "exact", "refine"):
                yield f"reduce {name}({method})/{form}", partial(reduced, name, {"method": method}, form)
    for name in ("SVC", "SVR", "KernelRidge", "FullSVC"):
        yield f"reduce {name}/weights", partial(reduced, name, {}, "float64", True)
    for wanted in ({}, {"max_vectors": 10}, {"scoring": "accuracy", "max_loss": 0.02}):
        yield f"reduce SVC without rows{label(wanted)}", partial(scored, wanted)
    for name in ("SVC", "SVC three", "SVR", "OneClassSVM", "KernelPCA", "Pipeline"):
        for wanted in ({}, {"max_vectors": 10}, {"method": "refine", "max_vectors": 6}):
            yield f"Reduced {name}{label(wanted)}", partial(meta, name, wanted, False)
    for name in ("SVC", "SVR"):
        yield f"Reduced {name}/weights", partial(meta, name, {}, True)


# ---------------------------------------------------------------------------- score against size

SIZES = (2, 5, 10)
PATHS: dict[str, tuple[Parameters, str]] = {
    "CompactSVC": ({}, "binary"),
    "GreedyLSSVC": ({}, "three"),
    "TwoStageLSSVR": ({}, "one"),
    "FixedSizeLSSVC": ({}, "binary"),
}


def path(name: str) -> dict[str, Any]:
    """What `vector_path` finds, but for the times."""
    wanted, task = PATHS[name]
    found = slimsvm.vector_path(
        make(name, wanted), parts("float64")[0], targets(task)[:N], sizes=SIZES, cv=3, random_state=0
    )
    return {
        "scores": found.scores,
        "errors": found.errors,
        "n_vectors": found.n_vectors,
        "chosen": found.chosen,
    }


def path_cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    for name, (_, task) in PATHS.items():
        yield f"vector_path {name}/{task}", partial(path, name)
