"""Figures 2 to 4, and the uses of the framework that the paper names without figures (sections 3.3 and 3.5.2).

Regression, feature selection, the mixture of margin and zero-norm, and p-norms; each beside the ordinary machine.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from harness import Array, Record, Split, n_vectors
from harness import published as load_published
from slimsvm import LPSVC, ZeroNormSelector, ZeroNormSVC, ZeroNormSVR
from slimsvm.datasets import load, make_banana

from . import published as paper

TOYS = ("crescents", "half ring", "two clouds", "waves")
TOY_ROWS, TOY_DRAWS = 40, 20
FIGURE_4_SIGMAS, FIGURE_4_CS = (0.25, 0.5, 1.0, 2.0), (0.1, 1.0, 10.0)
# Shares of the largest coefficient below which one may be called zero.
SHARES = (0.1, 0.01, 1e-3, 1e-4, 1e-6)
SELECTION_DRAWS, SELECTION_ROWS = 10, 300
MARGINS = (0.0, 0.01, 0.1, 1.0, 10.0)
NORMS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, np.inf)
REGRESSION_CS, REGRESSION_GAMMAS = (1.0, 10.0, 100.0), (0.1, 0.3, 1.0)


def width(sigma: float) -> float:
    """Our gamma for a sigma of the paper."""
    return 1.0 / (2.0 * sigma**2)


def machines(sigma: float, C: float, *, weston: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "SVC": SVC(C=C, gamma=width(sigma)),
        "SSVC_A": ZeroNormSVC(C=C, gamma=width(sigma), n_jobs=1),
        "SSVC_B": ZeroNormSVC(C=C, gamma=width(sigma), variant="linear", n_jobs=1),
    }
    if weston:
        found["SSVC_W"] = ZeroNormSVC(C=C, gamma=width(sigma), variant="multiplicative", n_jobs=1)
    return found


def fitted(model: Any, X: Array, y: Array) -> tuple[Any, float, bool]:
    """The model, processor seconds of its fit, and whether it ended before it had converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
    return model, round(seconds, 5), any(issubclass(w.category, ConvergenceWarning) for w in caught)


def wrong(model: Any, X: Array, y: Array) -> float:
    """Error in %."""
    return round(100 * float(np.mean(model.predict(X) != y)), 3)


# ---------------------------------------------------------------------------- Figures 2 to 4


def toy(shape: str, seed: int) -> tuple[Array, Array]:
    """Forty rows of two classes in the plane that a curve separates; the paper's are not published."""
    rng = np.random.default_rng(seed)
    n = TOY_ROWS // 2
    if shape == "crescents":
        angle = rng.uniform(0, np.pi, (2, n))
        first = np.column_stack([2 * np.cos(angle[0]), 2 * np.sin(angle[0])])
        second = np.column_stack([2 - 2 * np.cos(angle[1]), 1 - 2 * np.sin(angle[1])])
        noise = 0.2
    elif shape == "half ring":
        angle = rng.uniform(0, np.pi, n)
        first = np.column_stack([3 * np.cos(angle), 3 * np.sin(angle)])
        second = np.full((n, 2), (0.0, 0.2))
        noise = 0.35
    elif shape == "two clouds":
        first, second, noise = np.full((n, 2), (-1.5, -1.0)), np.full((n, 2), (1.5, 1.0)), 0.6
    else:
        across = rng.uniform(-3, 3, (2, n))
        first = np.column_stack([across[0], np.sin(1.5 * across[0]) + 1.0])
        second = np.column_stack([across[1], np.sin(1.5 * across[1]) - 1.0])
        noise = 0.2
    X = np.vstack([first, second]) + noise * rng.standard_normal((2 * n, 2))
    return X, np.repeat([1, -1], n)


def toys(*, shape: str) -> Record:
    """Figure 2: vectors of the machines on draws of a separable set, and training errors."""
    vectors: dict[str, list[int]] = {}
    errors: dict[str, float] = {}
    for seed in range(TOY_DRAWS):
        X, y = toy(shape, seed)
        for key, model in machines(*paper.SETTINGS_2).items():
            vectors.setdefault(key, []).append(n_vectors(fitted(model, X, y)[0]))
            errors[key] = errors.get(key, 0.0) + wrong(model, X, y) / TOY_DRAWS
    return {"vectors": vectors, "errors": {key: round(value, 3) for key, value in errors.items()}}


def ripley() -> Split:
    split = load_published("ripley")
    return split._replace(y=np.where(split.y > 0, 1, -1), y_test=np.where(split.y_test > 0, 1, -1))


def ripley_250() -> Record:
    """Figure 3: vectors and test errors."""
    split = ripley()
    found = {}
    for key, model in machines(*paper.SETTINGS_3, weston=True).items():
        _, seconds, _ = fitted(model, split.X, split.y)
        found[key] = {
            "vectors": n_vectors(model),
            "error": wrong(model, split.X_test, split.y_test),
            "seconds": seconds,
        }
    return found


def ripley_1000() -> Record:
    """Figure 4: coefficients left after each round; and how many are above shares of the largest after each round."""
    split = ripley()
    X, y = split.X_test, split.y_test
    found: Record = {}
    for key, model in machines(*paper.SETTINGS_3, weston=True).items():
        _, seconds, _ = fitted(model, X, y)
        found[key] = {
            "seconds": seconds,
            "vectors": n_vectors(model),
            "error": wrong(model, split.X, split.y),
        }
        if key != "SVC":
            found[key]["left"] = [int(count) for count in model.n_columns_]
    sigma, C = paper.SETTINGS_3
    above = []
    for rounds in range(1, len(found["SSVC_A"]["left"])):
        model = ZeroNormSVC(C=C, gamma=width(sigma), max_iter=rounds, n_jobs=1)
        fitted(model, X, y)
        coef = np.abs(model.dual_coef_).ravel()
        above.append({"counts": [int(np.sum(coef > share * coef.max())) for share in SHARES],
                      "error": wrong(model, split.X, split.y)})  # fmt: skip
    found["above"] = above
    return found


def ripley_settings() -> Record:
    """Figure 4 with other sigma and C, which the paper does not give: rounds and vectors."""
    split = ripley()
    found = []
    for sigma in FIGURE_4_SIGMAS:
        for C in FIGURE_4_CS:
            for key, model in machines(sigma, C).items():
                if key != "SVC":
                    fitted(model, split.X_test, split.y_test)
                    found.append(
                        {"sigma": sigma, "C": C, "machine": key, "rounds": int(model.n_iter_),
                         "vectors": n_vectors(model), "error": wrong(model, split.X, split.y)}
                    )  # fmt: skip
    return {"fits": found}


# ---------------------------------------------------------------------------- what the framework is also for


def sinc(*, n: int, noise: float) -> Record:
    """Regression: sin(x) / x with noise, ZeroNormSVR and SVR at the same parameters."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, (n, 1))
    y = np.sinc(X[:, 0] / np.pi) + noise * rng.standard_normal(n)
    grid = np.linspace(-10, 10, 1001)[:, None]
    truth = np.sinc(grid[:, 0] / np.pi)
    common = {"C": 10.0, "gamma": 0.2, "epsilon": 0.05}
    models = {
        "SVR": SVR(**common),
        **{variant: ZeroNormSVR(**common, variant=variant, n_jobs=1) for variant in ("quadratic", "linear")},
    }
    found = {}
    for key, model in models.items():
        _, seconds, _ = fitted(model, X, y)
        rms = float(np.sqrt(np.mean((model.predict(grid) - truth) ** 2)))
        found[key] = {"vectors": n_vectors(model), "rms": round(rms, 5), "seconds": seconds}
    return found


def housing(*, fold: int) -> Record:
    """Regression on Boston housing: parameters by five folds on the training part; error relative to the spread."""
    data = load("reg_boston")
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    train, test = list(KFold(10, shuffle=True, random_state=0).split(X))[fold]
    centre, scale = y[train].mean(), y[train].std()
    target = (y - centre) / scale
    grid = {"C": REGRESSION_CS, "gamma": tuple(g / X.shape[1] for g in REGRESSION_GAMMAS)}
    found = {}
    for key, model in {"SVR": SVR(), "ZeroNormSVR": ZeroNormSVR(n_jobs=1)}.items():
        name = type(model).__name__.lower()
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {f"{name}__{parameter}": values for parameter, values in grid.items()},
            cv=KFold(5, shuffle=True, random_state=0),
            scoring="neg_mean_squared_error",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X[train], target[train])
        best = search.best_estimator_
        scaled = best[0].transform(X[train])
        _, seconds, _ = fitted(best[1], scaled, target[train])
        rms = float(np.sqrt(np.mean((best.predict(X[test]) - target[test]) ** 2)))
        found[key] = {
            "vectors": n_vectors(best[1]),
            "rms": round(rms * scale, 4),
            "seconds": seconds,
            **{parameter.split("__")[1]: value for parameter, value in search.best_params_.items()},
        }
    return found


def with_noise_inputs(kind: str, seed: int, n: int) -> tuple[Array, Array, list[int]]:
    """Rows of which few inputs matter: a plane in 4 of 50, or a ring in 2 of 20."""
    rng = np.random.default_rng(seed)
    if kind == "plane":
        X = rng.standard_normal((n, 50))
        score = X[:, 0] - X[:, 1] + X[:, 2] - X[:, 3] + 0.3 * rng.standard_normal(n)
        return X, np.where(score > 0, 1, -1), [0, 1, 2, 3]
    X = rng.standard_normal((n, 20))
    score = X[:, 0] ** 2 + X[:, 1] ** 2 - 1.4 + 0.2 * rng.standard_normal(n)
    return X, np.where(score > 0, 1, -1), [0, 1]


def selection(*, kind: str) -> Record:
    """Feature selection: inputs found and wrongly kept over draws, and SVC's test error on all and on those kept."""
    found: dict[str, list[float]] = {
        "found": [],
        "wrongly": [],
        "error_all": [],
        "error_kept": [],
        "seconds": [],
    }
    kernel = "linear" if kind == "plane" else "rbf"
    for seed in range(SELECTION_DRAWS):
        X, y, useful = with_noise_inputs(kind, seed, SELECTION_ROWS)
        X_test, y_test, _ = with_noise_inputs(kind, 1000 + seed, 5000)
        model, seconds, _ = fitted(ZeroNormSelector(kernel=kernel, n_jobs=1), X, y)
        kept = model.get_support(indices=True)
        found["seconds"].append(seconds)
        found["found"].append(len(set(useful) & set(kept)))
        found["wrongly"].append(len(set(kept) - set(useful)))
        found["error_all"].append(wrong(SVC(kernel=kernel).fit(X, y), X_test, y_test))
        machine = SVC(kernel=kernel).fit(X[:, kept], y)
        found["error_kept"].append(wrong(machine, X_test[:, kept], y_test))
    return {**found, "useful": len(useful), "inputs": X.shape[1]}


def two_sets(name: str) -> Split:
    """Ripley's rows, or two crescents with 5,000 rows to test."""
    if name == "ripley":
        return ripley()
    (X, y), (X_test, y_test) = (make_banana(n, random_state=seed) for n, seed in ((400, 0), (5000, 1)))
    return Split(X, X_test, y, y_test)


def described(model: Any, split: Split) -> Record:
    _, seconds, unfinished = fitted(model, split.X, split.y)
    return {
        "vectors": n_vectors(model),
        "error": wrong(model, split.X_test, split.y_test),
        "rounds": int(np.max(model.n_iter_)),
        "seconds": seconds,
        "unfinished": unfinished,
    }


def mixed(*, name: str) -> Record:
    """The margin term beside the zero-norm, in growing weight, and SVC."""
    split = two_sets(name)
    gamma = width(paper.SETTINGS_3[0])
    found = {
        f"{margin:g}": described(ZeroNormSVC(C=1.0, gamma=gamma, margin=margin, n_jobs=1), split)
        for margin in MARGINS
    }
    return {**found, "SVC": described(SVC(C=1.0, gamma=gamma), split)}


def norms(*, name: str) -> Record:
    """p-norms of the coefficients, and LP-SVC, which p = 1 is but for the intercept."""
    split = two_sets(name)
    gamma = width(paper.SETTINGS_3[0])
    found = {f"{p:g}": described(ZeroNormSVC(C=1.0, gamma=gamma, p=p, n_jobs=1), split) for p in NORMS}
    return {**found, "LP-SVC": described(LPSVC(C=1.0, gamma=gamma, n_jobs=1), split)}
