"""The methods of benchmarks/compact.py: each fits its model and says how big it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from compact_peers import fit_lightgbm, fit_lightgbm_searched, fit_mlp
from compact_search import (
    C_VALUES,
    EPSILON_VALUES,
    GAMMA_VALUES,
    N_FOLDS,
    SEARCH_MAX_ITER,
    SEARCH_SAMPLE,
    Fitted,
    Job,
    Size,
    full_names,
    grid_of,
    last_steps,
    needed,
    scaled,
    searched,
)
from compact_sets import BUDGET_THREADS, BUDGETS, MAX_VECTORS, SECOND_LIMIT, THREADS
from harness import timed
from slimsvm import CompactSVC, CompactSVR, GreedyLSSVC, GreedyLSSVR, ZeroNormSVC, ZeroNormSVR, reduce

# What is searched, for other scripts too.
__all__ = ["C_VALUES", "GAMMA_VALUES", "METHODS", "N_FOLDS", "SEARCH_MAX_ITER", "Method"]

LINEAR_MAX_ITER = 5000


def fit_compact(job: Job) -> Fitted:
    kind = CompactSVR if job.regression else CompactSVC
    model = kind(max_vectors=MAX_VECTORS.get(job.name), n_jobs=THREADS.get(job.name), random_state=0)
    model.fit(job.X, job.y)
    return _compact(model)


def _compact(model: Any) -> Fitted:
    projection = model.expansion_.projection
    more = {"rank": None if projection is None else projection.rank}
    return Fitted(model, model.n_vectors_, Size.of_expansion(model.expansion_), more=more)


def fit_limited(job: Job) -> Fitted:
    model = CompactSVC(max_vectors=SECOND_LIMIT[job.name], random_state=0).fit(job.X, job.y)
    return _compact(model)


def fit_in_bytes(job: Job, max_bytes: int) -> Fitted:
    """The best model of so many bytes, a byte for each number."""
    limit = {"max_bytes": max_bytes, "number": "int8"}
    model = CompactSVC(**limit, n_jobs=BUDGET_THREADS, random_state=0).fit(job.X, job.y)
    fitted = _compact(model)
    return replace(fitted, more={**fitted.more, **limit, "threads": BUDGET_THREADS})


def _fit_svm(job: Job, kind: Any) -> Fitted:
    estimator = scaled(job, kind(max_iter=SEARCH_MAX_ITER))
    grid = {**grid_of(job), "epsilon": EPSILON_VALUES} if job.regression else grid_of(job)
    model, best = searched(job, estimator, grid, max_iter=-1)
    (svm,) = last_steps(model)
    # each vector has one coefficient less than there are classes
    numbers = svm.support_vectors_.size + np.size(svm.dual_coef_) + np.size(svm.intercept_) + 1
    return Fitted(model, len(svm.support_), Size.of_numbers(numbers), best)


def fit_svc(job: Job) -> Fitted:
    return _fit_svm(job, SVR if job.regression else SVC)


def fit_intelex(job: Job) -> Fitted:
    from sklearnex import svm

    return _fit_svm(job, svm.SVR if job.regression else svm.SVC)


def fit_reduced(job: Job) -> Fitted:
    """The searched SVC, reduced: its time is that of the record of svc and of the reduction."""
    record = needed(job, "svc")
    estimator = scaled(job, SVR() if job.regression else SVC())
    full = estimator.set_params(**full_names(estimator, record["parameters"])).fit(job.X, job.y)
    if job.regression:
        # reduce knows pipelines; what is around it scales the target as before
        target = full.transformer_.transform(job.y[:, None])[:, 0]
        slim, seconds = timed(lambda: reduce(full.regressor_, job.X, target))
        full.regressor_ = slim
    else:
        slim, seconds = timed(lambda: reduce(full, job.X, job.y))
        full = slim
    f = slim[-1].expansion_
    seconds += record["fit_seconds"]
    return Fitted(full, f.n_vectors, Size.of_expansion(f), record["parameters"], seconds)


def fit_nystroem(job: Job) -> Fitted:
    m = int(needed(job, "compact")["vectors"])
    machine = (
        # the other loss has no primal solver, and takes minutes
        LinearSVR(loss="squared_epsilon_insensitive", dual=False, max_iter=LINEAR_MAX_ITER, random_state=0)
        if job.regression
        else LinearSVC(dual="auto", max_iter=LINEAR_MAX_ITER, random_state=0)
    )
    # no more landmarks than the rows of a fold
    landmarks = Nystroem(n_components=min(m, int(0.8 * min(len(job.X), SEARCH_SAMPLE))), random_state=0)
    final = {"n_components": m}
    model, best = searched(job, scaled(job, landmarks, machine), grid_of(job), **final)
    landmarks, machine = last_steps(model)
    arrays = landmarks.components_, landmarks.normalization_, machine.coef_, machine.intercept_
    return Fitted(model, m, Size.of_numbers(sum(map(np.size, arrays)) + 1), best)


def fit_fastrvm(job: Job) -> Fitted:
    import fastrvm

    record = needed(job, "svc")  # a search of its own takes minutes on a hundred rows
    kind = fastrvm.RVR if job.regression else fastrvm.RVC
    width = {"gamma": record["parameters"]["gamma"]}
    model, seconds = timed(lambda: scaled(job, kind(fit_intercept=True, **width)).fit(job.X, job.y))
    vectors = len(np.unique(last_steps(model)[0].relevance_))
    size = Size.of_numbers(vectors * (job.n_features + 1) + 2)  # an intercept and a width besides
    return Fitted(model, vectors, size, width, record["fit_seconds"] + seconds)


def fit_zero_norm(job: Job) -> Fitted:
    record = needed(job, "svc")
    width = {"gamma": record["parameters"]["gamma"]}
    machine = ZeroNormSVR(**width) if job.regression else ZeroNormSVC(**width)
    (model, best), seconds = timed(lambda: searched(job, scaled(job, machine), {"C": C_VALUES}))
    f = last_steps(model)[0].expansion_
    return Fitted(
        model, f.n_vectors, Size.of_expansion(f), {**width, **best}, record["fit_seconds"] + seconds
    )


def fit_greedy(job: Job) -> Fitted:
    kind = GreedyLSSVR if job.regression else GreedyLSSVC
    machine = kind(n_candidates=146, random_state=0)
    model, best = searched(job, scaled(job, machine), grid_of(job))
    f = last_steps(model)[0].expansion_
    return Fitted(model, f.n_vectors, Size.of_expansion(f), best)


def in_bytes(n: int) -> str:
    """The name of the method that takes so many bytes."""
    return f"in_{n // 1024}k"


@dataclass(frozen=True)
class Method:
    """What it is called in tables, how it is fitted, and up to how many training rows."""

    classifier: str
    fit: Callable[[Job], Fitted]
    max_rows: int = 10**9
    two_classes: bool = False
    max_svc_vectors: int = 10**9  # of the searched SVC it starts from
    sets: tuple[str, ...] = ()  # all if empty
    stored: str = "float32"  # what its numbers are in pictures

    def label(self, regression: bool = False) -> str:
        return self.classifier.replace("SVC", "SVR") if regression else self.classifier

    def takes(self, job: Job) -> bool:
        several = not job.regression and len(np.unique(job.y)) > 2
        start = job.known.get("svc", {}).get("vectors", 0)
        small = len(job.X) <= self.max_rows and start <= self.max_svc_vectors
        wanted = not self.sets or job.name in self.sets
        return wanted and small and not (self.two_classes and several)


# In the order in which they run: later ones use the records of earlier ones.
METHODS: dict[str, Method] = {
    "compact": Method("CompactSVC", fit_compact),
    "limited": Method("CompactSVC, limited", fit_limited, sets=tuple(SECOND_LIMIT)),
    **{
        in_bytes(n): Method(
            f"CompactSVC in {n // 1024} kB of int8",
            partial(fit_in_bytes, max_bytes=n),
            sets=names,
            stored="int8",
        )
        for n, names in BUDGETS.items()
    },
    "svc": Method("SVC, searched", fit_svc),
    "intelex": Method("SVC of scikit-learn-intelex, searched", fit_intelex),
    "reduced": Method("reduce(SVC, searched)", fit_reduced, max_svc_vectors=8000),
    "nystroem": Method("Nystroem + LinearSVC, as many vectors, searched", fit_nystroem),
    "fastrvm": Method("fastrvm, width of the SVC", fit_fastrvm, 1000, two_classes=True),
    "zero_norm": Method("ZeroNormSVC, width of the SVC, C searched", fit_zero_norm, 1500),
    "greedy": Method("GreedyLSSVC (146 candidates), searched", fit_greedy, 20_000),
    "lightgbm": Method("LightGBM, defaults", fit_lightgbm),
    "lightgbm_searched": Method("LightGBM, searched", fit_lightgbm_searched),
    "mlp": Method("MLP of as many numbers as CompactSVC", fit_mlp),
}
