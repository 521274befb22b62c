"""LightGBM and a small network as benchmarks/compact.py searches them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor

from compact_search import (
    N_FOLDS,
    SEARCH_ROWS,
    Fitted,
    Job,
    Size,
    full_names,
    last_steps,
    needed,
    scaled,
    stratified,
)

# LightGBM: 12 settings, each with as many rounds as are best on held-out rows.
LIGHTGBM_GRID = {"num_leaves": [7, 31, 127], "learning_rate": [0.03, 0.1], "min_child_samples": [5, 20]}
MAX_ROUNDS = 1000
# Rounds without a gain after which no more are tried.
PATIENCE = 30
# Held out: five folds, or of many rows one part of this size, and the search sees at most so many rows.
SHARE_HELD_OUT = 0.2
LIGHTGBM_SEARCH_ROWS = 10_000

# The network: weight decay is searched on held-out rows.
ALPHA_VALUES = [1e-4, 1e-2, 1.0]
# Up to so many rows all of them are one batch: L-BFGS finds better weights than Adam does, and sooner, but the weights
# depend on the start, of which there are a few.
LBFGS_ROWS, LBFGS_ITERATIONS, LBFGS_STARTS = 5000, 1000, 3
# Adam takes about so many steps of scikit-learn's 200 rows each; it ends before where the loss falls no more.
ADAM_STEPS, ADAM_ROWS = 20_000, 200


# LightGBM


def fit_lightgbm(job: Job) -> Fitted:
    """At its defaults."""
    return _boosted(job, {})


def fit_lightgbm_searched(job: Job) -> Fitted:
    """The best of the grid, with the best number of rounds, fitted to all rows.

    Rounds end when the loss on held-out rows falls no more; of the settings the one with the least error there wins
    (classification: share of wrong answers, then loss).
    """
    rows = _sample(job, LIGHTGBM_SEARCH_ROWS)
    tried = []
    for values in itertools.product(*LIGHTGBM_GRID.values()):
        setting = dict(zip(LIGHTGBM_GRID, values, strict=True))
        tried.append((_held_out(rows, setting), setting))
    (_, _, rounds), best = min(tried, key=lambda pair: pair[0])
    return _boosted(job, {**best, "n_estimators": rounds})


def _boosted(job: Job, parameters: dict[str, Any]) -> Fitted:
    import lightgbm

    kind = lightgbm.LGBMRegressor if job.regression else lightgbm.LGBMClassifier
    model = kind(**parameters, n_jobs=1, verbosity=-1, random_state=0).fit(job.X, job.y)
    return Fitted(model, None, Size.of_file(len(model.booster_.model_to_string())), parameters)


def _held_out(job: Job, setting: dict[str, Any]) -> tuple[float, float, int]:
    """Error and loss on held-out rows, and the number of rounds that has them."""
    import lightgbm

    classes, codes = np.unique(job.y, return_inverse=True)
    if job.regression:
        task, metrics, target = {"objective": "regression"}, ["l2"], job.y
    elif len(classes) == 2:
        task, metrics, target = {"objective": "binary"}, ["binary_logloss", "binary_error"], codes
    else:
        task = {"objective": "multiclass", "num_class": len(classes)}
        metrics, target = ["multi_logloss", "multi_error"], codes
    found = lightgbm.cv(
        {**task, **setting, "metric": metrics, "num_threads": 1, "verbosity": -1, "seed": 0},
        lightgbm.Dataset(job.X, target, params={"verbosity": -1}),
        num_boost_round=MAX_ROUNDS,
        folds=_folds(job),
        callbacks=[lightgbm.early_stopping(PATIENCE, first_metric_only=True, verbose=False)],
    )
    losses, errors = found[f"valid {metrics[0]}-mean"], found[f"valid {metrics[-1]}-mean"]
    return errors[-1], losses[-1], len(losses)


def _folds(job: Job) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to train with and rows held out: folds, or one part of many rows."""
    if len(job.X) > SEARCH_ROWS:
        labels = stratified(job, SHARE_HELD_OUT)
        parts = train_test_split(
            np.arange(len(job.X)), test_size=SHARE_HELD_OUT, random_state=0, stratify=labels
        )
        return [tuple(parts)]
    kind = KFold if job.regression else StratifiedKFold
    return list(kind(N_FOLDS, shuffle=True, random_state=0).split(job.X, job.y))


def _sample(job: Job, n: int) -> Job:
    if len(job.X) <= n:
        return job
    X, _, y, _ = train_test_split(
        job.X, job.y, train_size=n, random_state=0, stratify=stratified(job, n / len(job.X))
    )
    return replace(job, X=X, y=y)


# The network


def hidden_units(numbers: int, n_features: int, n_outputs: int) -> int:
    """Units of one hidden layer that give a network of about so many numbers, and at least one unit."""
    each = n_features + 1 + n_outputs  # its weights, its intercept, and its weights in the outputs
    return max(1, round((numbers - n_outputs) / each))


def network_numbers(units: int, n_features: int, n_outputs: int) -> int:
    """Weights and intercepts of a network with one hidden layer."""
    return units * (n_features + 1) + n_outputs * (units + 1)


def fit_mlp(job: Job) -> Fitted:
    """One hidden layer, and as many numbers as CompactSVC has on the same split."""
    units = hidden_units(needed(job, "compact")["bytes_float32"] // 4, job.n_features, job.n_outputs)
    few = len(job.X) <= LBFGS_ROWS
    machine = (MLPRegressor if job.regression else MLPClassifier)(
        hidden_layer_sizes=(units,),
        solver="lbfgs" if few else "adam",
        max_iter=LBFGS_ITERATIONS if few else ADAM_STEPS * ADAM_ROWS // len(job.X),
        early_stopping=False,
    )
    estimator = scaled(job, machine)
    parts = train_test_split(
        job.X, job.y, test_size=SHARE_HELD_OUT, random_state=0, stratify=stratified(job, SHARE_HELD_OUT)
    )
    tried = []
    for alpha, start in itertools.product(ALPHA_VALUES, range(LBFGS_STARTS if few else 1)):
        chosen = {"alpha": alpha, "random_state": start}
        model = clone(estimator).set_params(**full_names(estimator, chosen)).fit(parts[0], parts[2])
        tried.append((model.score(parts[1], parts[3]), chosen))
    best = max(tried, key=lambda pair: pair[0])[1]
    model = clone(estimator).set_params(**full_names(estimator, best)).fit(job.X, job.y)
    (network,) = last_steps(model)
    numbers = sum(np.size(array) for array in (*network.coefs_, *network.intercepts_))
    return Fitted(model, None, Size.of_numbers(numbers), best, more={"units": units})
