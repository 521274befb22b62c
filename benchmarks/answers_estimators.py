"""Cases of benchmarks/answers.py: every estimator with its kernels, forms of rows and ways through the code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from answers_data import Fitted, N, Parameters, label, make, parts, targets, weights


def fit(name: str, wanted: Parameters, task: str | None, form: str, weighted: bool) -> Fitted:
    X, T = parts(form)
    weight = {"sample_weight": weights()} if weighted else {}
    y = () if task is None else (targets(task)[:N],)
    return make(name, wanted).fit(X, *y, **weight), T


KERNELS: dict[str, Parameters] = {
    "rbf": {},
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.3, "coef0": 1.0},
    "laplacian": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.05},
    "precomputed": {},
}
CLASSES, VALUES = ("binary", "three"), ("one", "two")
# Estimators with a kernel and the parameters that suit so few rows.
ESTIMATORS: dict[str, tuple[tuple[str, ...], Parameters]] = {
    "LPSVC": (CLASSES, {}),
    "LSSVC": (CLASSES, {"C": 3.0}),
    "LSSVR": (VALUES, {"C": 3.0}),
    "RVC": (CLASSES, {}),
    "RVR": (VALUES, {}),
    "EmpiricalSVC": (CLASSES, {"eta": 0.05}),
    "FixedSizeLSSVC": (CLASSES, {"n_vectors": 15}),
    "FixedSizeLSSVR": (VALUES, {"n_vectors": 15}),
    "FullSVC": (CLASSES, {"C": 3.0}),
    "GreedyLSSVC": (CLASSES, {"max_vectors": 15}),
    "GreedyLSSVR": (VALUES, {"max_vectors": 15}),
    "MatchingPursuitSVC": (CLASSES, {"max_vectors": 15}),
    "MatchingPursuitSVR": (VALUES, {"max_vectors": 15}),
    "PrunedLSSVC": (CLASSES, {"n_vectors": 15}),
    "SparseGreedyGPC": (CLASSES, {"max_vectors": 15}),
    "SparseGreedyGPR": (VALUES, {"max_vectors": 15}),
    "SparseProbitClassifier": (CLASSES, {}),
    "SparsityControlledSVC": (CLASSES, {}),
    "TwoStageLSSVC": (CLASSES, {"max_vectors": 12}),
    "TwoStageLSSVR": (VALUES, {"max_vectors": 12}),
    "ZeroNormSVC": (CLASSES, {}),
    "ZeroNormSVR": (VALUES, {}),
}
# The same with parameters that lead another way through the code: rbf kernel, float64.
VARIANTS: dict[str, list[Parameters]] = {
    "LPSVC": [{"C": 0.1}, {"class_weight": "balanced"}],
    "LSSVC": [{"solver": s} for s in ("cholesky", "cg", "smo")] + [{"class_weight": "balanced"}],
    "LSSVR": [{"solver": s} for s in ("cholesky", "cg", "smo")] + [{"penalize_intercept": True}],
    "RVC": [{"method": "em"}, {"n_restarts": 2}],
    "RVR": [{"method": "em"}],
    "EmpiricalSVC": [
        *({"loss": "squared_hinge", "solver": s} for s in ("auto", "interior_point", "smo", "cd")),
        *({"solver": s} for s in ("active_set", "interior_point", "smo", "cd")),
        *({"selection": s} for s in ("pivoted_cholesky", "random_cholesky")),
        *({"selection": s, "max_vectors": 10} for s in ("cholesky", "pivoted_cholesky")),
        {"kernel": "linear", "vectors": "orthogonal"},
        {"class_weight": "balanced"},
    ],
    "FixedSizeLSSVC": [{"class_weight": "balanced"}, {"C": 100.0}],
    "FullSVC": [{"loss": "squared_hinge"}, {"class_weight": "balanced"}, {"tol": 1e-8}],
    "GreedyLSSVC": [
        {"fitting": "prefitting"}, {"n_candidates": 20}, {"fitting": "prefitting", "n_candidates": 20},
        {"validation_fraction": 0.25}, {"stop": 0.1}, {"class_weight": "balanced"},
    ],
    "GreedyLSSVR": [{"fitting": "prefitting"}, {"n_candidates": 20}, {"stop": 0.5}],
    "MatchingPursuitSVC": [
        {"fitting": "prefitting", "max_vectors": 10}, {"n_candidates": 20}, {"C": None}, {"validation_fraction": 0.25},
    ],
    "MatchingPursuitSVR": [{"fitting": "prefitting", "max_vectors": 10}, {"n_candidates": 20}, {"C": None}],
    "PrunedLSSVC": [{"share": 0.2}, {"class_weight": "balanced"}],
    "SparseGreedyGPC": [{"fitting": "backfitting"}, {"n_candidates": None}, {"final_change": 0.2}],
    "SparseGreedyGPR": [{"fitting": "backfitting"}, {"n_candidates": None}, {"final_change": 0.2}],
    "SparseProbitClassifier": [{"class_weight": "balanced"}],
    "SparsityControlledSVC": [{"D": 0.1}, {"C": 0.1}],
    "TwoStageLSSVC": [{}, {"refine": False, "max_vectors": 8}, {"n_candidates": 40, "max_vectors": 8}],
    "TwoStageLSSVR": [{}, {"refine": False, "max_vectors": 8}, {"n_candidates": 40, "max_vectors": 8}],
    "ZeroNormSVC": [
        {"variant": "linear"}, {"variant": "multiplicative"}, {"p": 0.5}, {"p": 1.0}, {"margin": 0.1},
        {"p": np.inf}, {"class_weight": "balanced"},
    ],
    "ZeroNormSVR": [{"variant": "linear"}, {"variant": "multiplicative"}, {"p": 0.5}, {"margin": 0.1}],
}  # fmt: skip
# The compact machines search for seconds: fewer cases. Of each: task, form, weighted, parameters.
COMPACT: list[tuple[str, str, bool, Parameters]] = [
    ("binary", "float64", False, {}),
    ("binary", "float64", False, {"max_vectors": 6}),
    ("binary", "float32", False, {"max_vectors": 6}),
    ("binary", "csr", False, {"max_vectors": 6}),
    ("binary", "float64", True, {"max_vectors": 6}),
    ("binary", "float64", False, {"max_vectors": 6, "metric": "one"}),
    ("binary", "float64", False, {"max_vectors": 6, "metric": "per_feature"}),
    ("binary", "float64", False, {"max_vectors": 6, "class_weight": "balanced"}),
    ("binary", "float64", False, {"max_vectors": 6, "refine": False}),
    ("binary", "float64", False, {"max_vectors": 6, "scale": False}),
    ("binary", "float64", False, {"max_vectors": 6, "C": 1.0, "gamma": 0.3}),
    ("binary", "float64", False, {"max_bytes": 200}),
    ("binary", "float64", False, {"max_bytes": 8}),
    ("three", "float64", False, {"max_vectors": 8}),
    ("three", "csr", True, {"max_vectors": 8}),
    *(("binary", "float64", False, {"max_vectors": 8, "kernel": k}) for k in ("linear", "poly", "laplacian")),
    ("binary", "precomputed", False, {"max_vectors": 8, "kernel": "precomputed"}),
]
OF_REGRESSION = {"binary": "one", "three": "two"}


def estimator_cases() -> Iterator[tuple[str, Callable[[], Fitted]]]:
    for name, (tasks, base) in ESTIMATORS.items():
        for kernel, of_kernel in KERNELS.items():
            wanted = {**base, **of_kernel, "kernel": kernel}
            for task in tasks:
                forms = ("precomputed",) if kernel == "precomputed" else ("float64", "float32", "csr")
                for form in forms:
                    yield f"{name}/{kernel}/{task}/{form}", partial(fit, name, wanted, task, form, False)
                if kernel in ("rbf", "linear"):
                    case = f"{name}/{kernel}/{task}/float64/weights"
                    yield case, partial(fit, name, wanted, task, "float64", True)
        for variant in VARIANTS.get(name, []):
            for task in tasks:
                wanted = {**base, **variant} if variant else {}
                case = f"{name}{label(variant) or '()'}/{task}"
                yield case, partial(fit, name, wanted, task, "float64", False)


def compact_cases() -> Iterator[tuple[str, Callable[[], Fitted]]]:
    for name in ("CompactSVC", "CompactSVR"):
        for task, form, weighted, wanted in COMPACT:
            if name == "CompactSVR":
                task = OF_REGRESSION[task]
                if "class_weight" in wanted:
                    wanted = {"max_vectors": 6, "loss": "epsilon_insensitive"}
            case = f"{name}{label(wanted) or '()'}/{task}/{form}" + "/weights" * weighted
            yield case, partial(fit, name, wanted, task, form, weighted)


def other_cases() -> Iterator[tuple[str, Callable[[], Fitted]]]:
    """What has no labels to predict: features, densities, selected columns."""
    for kernel, of_kernel in KERNELS.items():
        forms = ("precomputed",) if kernel == "precomputed" else ("float64", "float32", "csr")
        for form in forms:
            wanted = {**of_kernel, "kernel": kernel, "eta": 0.05}
            case = f"EmpiricalFeatureMap/{kernel}/{form}"
            yield case, partial(fit, "EmpiricalFeatureMap", wanted, None, form, False)
            if kernel not in ("precomputed", "sigmoid"):
                wanted = {**of_kernel, "kernel": kernel}
                case = f"ZeroNormSelector/{kernel}/binary/{form}"
                yield case, partial(fit, "ZeroNormSelector", wanted, "binary", form, False)
    for wanted in ({"orthonormal": True}, {"selection": "pivoted_cholesky", "max_vectors": 10}):
        case = f"EmpiricalFeatureMap{label(wanted)}"
        yield case, partial(fit, "EmpiricalFeatureMap", wanted, None, "float64", False)
    for wanted in ({"variant": "linear"}, {"C": 0.1}, {"class_weight": "balanced"}):
        for task in CLASSES:
            case = f"ZeroNormSelector{label(wanted)}/{task}"
            yield case, partial(fit, "ZeroNormSelector", wanted, task, "float64", False)
    yield "ZeroNormSelector/weights", partial(fit, "ZeroNormSelector", {}, "binary", "float64", True)
    for wanted in ({}, {"bandwidth": "full"}, {"bandwidth": 0.7}, {"max_vectors": 8}):
        for form in ("float64", "float32", "csr"):
            for weighted in (False, True) if form == "float64" else (False,):
                case = f"SparseKernelDensity{label(wanted) or '()'}/{form}" + "/weights" * weighted
                yield case, partial(fit, "SparseKernelDensity", wanted, None, form, weighted)


def refused(name: str, fault: str) -> Fitted:
    X, T = parts("float64")
    y = targets("one" if name.endswith("R") else "binary")[:N]
    X, y = X.copy(), y.copy()
    model = make(name, {})
    if fault == "one class":
        y[:] = y[0]
    elif fault == "not a number":
        X[3, 1] = np.nan
    elif fault == "too few labels":
        y = y[:-1]
    return model.fit(X, y), T[:, :-1] if fault == "another width" else T


def refusal_cases() -> Iterator[tuple[str, Callable[[], Fitted]]]:
    # the compact machines take seconds before the width of the held-out rows is looked at
    quick = ("one class", "not a number", "too few labels")
    for name in [*ESTIMATORS, "CompactSVC", "CompactSVR"]:
        for fault in quick if name.startswith("Compact") else (*quick, "another width"):
            if fault != "one class" or not name.endswith("R"):
                yield f"{name}/refused: {fault}", partial(refused, name, fault)
