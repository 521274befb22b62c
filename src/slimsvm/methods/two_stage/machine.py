"""Both stages on training data, and how many vectors they are to choose."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from ...kernels import Kernel, Precomputed
from ...limits import DENSE_LIMIT_BYTES, FEW_VECTORS, check_memory
from ...problem import KernelGram
from ...progress import tell
from ...rows import Array
from ...training import Trained, TrainingSet, held_out_score
from ...words import count
from ..base import Run
from .selection import DEPENDENT, TwoStage, press

# "loo" and "cv" try no more vectors than this, and "loo" ends earlier when its error has not fallen for the
# larger of these steps and this share of the steps so far.
MOST_VECTORS_TRIED = 500
PATIENCE_STEPS = 10
PATIENCE_SHARE = 0.25


def dictionary(gram: KernelGram, candidates: Array, rows: Array, weight: Array) -> Array:  # (p, n)
    """Columns of K + 1 (eq. 32) for the candidates, one in each row, times the roots of the weights."""
    n = len(rows)
    check_memory(
        8.0 * len(candidates) * n,
        f"the dictionary of {len(candidates)} candidates on {n} rows needs",
        f"lower n_candidates (to {max(1, DENSE_LIMIT_BYTES // (16 * max(1, n)))} for instance), or use {FEW_VECTORS}",
    )
    D = gram.block(candidates, rows)
    D += 1.0
    D *= np.sqrt(weight)
    return D


def dependent(gram: KernelGram) -> float:
    """What is left of a column that the others make up, as a share of it: half the digits of given float32 values."""
    if isinstance(gram.kernel, Precomputed) and gram.X.dtype == np.float32:
        return math.sqrt(np.finfo(np.float32).eps)
    return DEPENDENT


def forward(selection: TwoStage, n_steps: int) -> Array:
    """Run the forward stage for at most so many steps; the loss after each."""
    losses: list[float] = []
    while len(losses) < n_steps and selection.forward_step():
        losses.append(selection.loss)
        tell("adding vectors", len(losses), n_steps)
    return np.array(losses)


def size_by_press(selection: TwoStage, most: int) -> tuple[int, Array]:
    """Run forward until the leave-one-out error stops falling; the best size and the errors."""
    errors: list[float] = []
    best = 0
    while len(errors) < most and selection.forward_step():
        errors.append(press(selection.residual, selection.leverage))
        tell("looking for the number of vectors", len(errors))
        best = int(np.argmin(errors))
        if len(errors) - best > max(PATIENCE_STEPS, PATIENCE_SHARE * len(errors)):
            break
    return best + 1, np.array(errors)


def size_by_folds(
    gram: KernelGram,
    data: TrainingSet,
    candidates: Array,
    n_folds: int,
    rng: np.random.Generator,
) -> tuple[int, Array]:
    """The size that scores best on average when a fold at a time is left out, and the mean scores."""
    n = gram.n
    folds = np.array_split(rng.permutation(n), min(n_folds, n))
    paths = []
    for fold in folds:
        train = np.setdiff1d(np.arange(n), fold)
        own = np.intersect1d(candidates, train)
        root = np.sqrt(data.weight[train])[:, None]
        shift = np.zeros(data.Y.shape[1]) if data.classify else data.mean
        columns = dictionary(gram, own, train, data.weight[train])
        selection = TwoStage(columns, (data.Y[train] - shift) * root, dependent(gram))
        forward(selection, min(MOST_VECTORS_TRIED, len(own)))
        R, Z = selection.triangle()
        basis = gram.block(own[selection.chosen], fold) + 1.0
        if len(R):  # old versions of SciPy refuse nothing
            basis = linalg.solve_triangular(R, basis, trans="T", check_finite=False)
        # (m, len(fold)): the orthonormal basis, continued to the fold
        outputs = shift + np.zeros((len(fold), len(shift)))
        scores = []
        for row, z in zip(basis, Z, strict=True):
            outputs = outputs + np.outer(row, z)
            scores.append(held_out_score(outputs, data.Y[fold], data.weight[fold], data.classify))
        paths.append(scores)
    shortest = min(len(scores) for scores in paths)
    if shortest == 0:
        return 1, np.zeros(0)
    weights = np.array([data.weight[fold].sum() for fold in folds])
    mean = weights @ np.array([scores[:shortest] for scores in paths]) / weights.sum()
    return int(np.argmax(mean)) + 1, mean


def train(model: Any, data: TrainingSet, kernel: Kernel, run: Run) -> Trained:
    """Both stages, at the size that is given or found."""
    gram, rng, n = data.gram(kernel, run.n_threads), run.rng, data.n
    candidates, everything = np.arange(n), np.arange(n)
    if model.n_candidates is not None and model.n_candidates < n:
        candidates = np.sort(rng.choice(n, size=model.n_candidates, replace=False))
    # labels are counted from 0 as in the paper, other targets from their mean
    shift = np.zeros(data.Y.shape[1]) if data.classify else data.mean
    targets = (data.Y - shift) * np.sqrt(data.weight)[:, None]
    most = min(MOST_VECTORS_TRIED, len(candidates))
    size, extras = model.n_vectors, dict[str, Any]()
    if size is None and model.choose_by == "cv":
        size, extras["cv_scores_"] = size_by_folds(gram, data, candidates, model.n_folds, rng)
    if size is None:
        trial = TwoStage(dictionary(gram, candidates, everything, data.weight), targets, dependent(gram))
        size, extras["press_"] = size_by_press(trial, most)
        del trial
    selection = TwoStage(dictionary(gram, candidates, everything, data.weight), targets, dependent(gram))
    extras["forward_loss_"] = forward(selection, min(size, len(candidates)))
    run.say(f"forward: {count(len(selection.chosen), 'vector')}, sum of squares {selection.loss:.6g}")
    n_iter = len(extras["forward_loss_"])
    if model.refine and selection.chosen:
        n_iter = second_stage(selection, model.max_iter, run.name)
    extras["loss_"] = selection.loss
    run.say(f"exchanged: sum of squares {selection.loss:.6g}")
    chosen = candidates[selection.chosen]
    if model.n_vectors is not None and len(chosen) < model.n_vectors:
        warn_of_fewer(selection, model.n_vectors, run.name)
    D = dictionary(gram, chosen, everything, data.weight).T
    coef = linalg.lstsq(D, targets, check_finite=False)[0] if len(chosen) else np.zeros((0, len(shift)))
    intercept = coef.sum(axis=0) + shift  # eq. (36)
    return Trained.on_rows(data, kernel, coef, intercept, chosen=chosen, n_iter=n_iter, extras=extras)


def second_stage(selection: TwoStage, max_iter: int, name: str) -> int:
    """Rounds until one changes nothing."""
    for n_rounds in range(1, max_iter + 1):
        exchanged = selection.refine_round()
        tell("exchanging vectors", n_rounds, None, f"{count(exchanged, 'vector')} exchanged")
        if exchanged == 0:
            return n_rounds
    warnings.warn(
        f"{name}: the second stage still exchanged vectors in round {max_iter}; raise max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )
    return max_iter


def warn_of_fewer(selection: TwoStage, asked: int, name: str) -> None:
    """Say why there are fewer vectors than were asked for, and what to do."""
    if len(selection.chosen) == selection.n_columns:
        why = "there are no more candidates; lower n_vectors, or give more rows or a larger n_candidates"
    elif selection.is_fitted:
        why = "they fit the targets to rounding, and more would fit rounding; lower n_vectors"
    else:
        why = (
            "to rounding, the kernel columns of all other candidates are combinations of theirs; lower n_vectors, or "
            "take a narrower kernel (a larger gamma)"
        )
    warnings.warn(
        f"{name}: {count(len(selection.chosen), 'vector')} instead of n_vectors={asked}, because {why}.",
        ConvergenceWarning,
        stacklevel=4,
    )
