"""Every instruction set computes the same functions; models of one are answered by another; no set trains better ones.

Between sets the last digits differ: lanes add up in another order, products and sums are fused or not. Where the
vectors of a model are moved, the search has many ends nearly as good as each other, and a last digit may choose among
them. So trained models need not agree, but what is computed at one point must, and what comes out must be as good.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import instruction_set_checks as checks
from everyone import answers, data, make, size
from slimsvm import _core, save

HARD = bool(os.environ.get("SLIMSVM_HARD"))
EPS = np.finfo(np.float64).eps
# The stated error of a kernel value in float64, before that of its features (cpp/kernels.hpp); every set has it.
VALUE = 1e-12
others = pytest.mark.parametrize(
    "isa", [name for name in _core.instruction_sets() if name != _core.instruction_set()] or ["none"]
)


def in_another_process(what: str, folder: Path, isa: str) -> dict[str, np.ndarray]:
    if isa == "none":
        pytest.skip("this processor has one instruction set")
    path = folder / "found.npz"
    script = Path(__file__).with_name("instruction_set_checks.py")
    subprocess.run(
        [sys.executable, str(script), what, str(path)], check=True, timeout=3000, env={**os.environ, "SLIMSVM_ISA": isa}
    )  # fmt: skip
    with np.load(path) as found:
        return dict(found)


@others
def test_the_core_gives_the_same_numbers_at_the_same_points(isa, tmp_path):
    here, there = checks.at_the_same_points(), in_another_process("points", tmp_path, isa)
    assert here.keys() == there.keys()
    for name, value in here.items():
        kind, *rest = name.split()
        difference = np.abs(there[name] - value)
        if kind == "gram":
            terms = int(rest[-1]) + 8
            largest = np.maximum(1.0, np.abs(value))
            assert (difference <= 2 * (VALUE + 4 * EPS * terms) * largest).all(), name
        elif kind == "expansion":
            terms = int(rest[-1]) + 8 + 50
            assert (difference <= 2 * (VALUE + 4 * EPS * terms) * here[f"size {' '.join(rest)}"]).all(), name
        elif kind == "value":  # no loss is steeper than its largest slope, so errors of outputs pass through
            assert difference <= 2 * VALUE * 100 * max(1.0, float(value)), name
        elif kind == "step":
            scale = max(
                np.abs(part).max() for key, part in here.items() if key.startswith(name.rsplit(" ", 1)[0])
            )
            assert scale > 1e-6, name
            assert difference.max() <= 1e-9 * scale, name


@others
def test_a_model_of_one_set_is_answered_by_another(isa, tmp_path):
    models = {}
    for name in ("CompactSVC", "CompactSVR", "Reduced SVC", "RVR", "LSSVC"):
        X, y, _, T = data(name, n=40)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models[name] = make(name).fit(X, y), T
        save(models[name][0], tmp_path / f"{name}.slim")
        np.save(tmp_path / f"{name}.npy", T)
    found = in_another_process("models", tmp_path, isa)
    for name, (model, T) in models.items():
        terms = T.shape[1] + 8 + model.n_vectors_
        for method, answer in answers(model, T).items():
            got = found[f"{name}{checks.SEPARATOR}{method}"]
            if np.asarray(answer).dtype.kind != "f":
                continue  # the sign of an output, which is compared
            limit = 2 * (VALUE + 4 * EPS * terms) * max(1.0, size(model, T))
            assert np.abs(got - answer).max() <= limit, f"{name} {method}"


# Chance that a law below fails though no set is better.
ONE_IN = 10_000


@others
def test_no_set_trains_better_models_than_another(isa, tmp_path):
    """Over draws of the rows: the errors do not differ on average, and by no more than those of two draws do."""
    if not HARD:
        pytest.skip("takes minutes; SLIMSVM_HARD=1, or make hard, runs it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = checks.scores()
    there = in_another_process("scores", tmp_path, isa)
    far = stats.t.ppf(1 - 0.5 / ONE_IN, checks.DRAWS - 1)
    for name in checks.MOVED:
        difference = there[name] - here[name]
        error = difference.std(ddof=1) / np.sqrt(checks.DRAWS)
        assert abs(difference.mean()) <= far * error, f"{name}: {difference}"
        # two independent errors differ by the root of two deviations of one
        deviation = np.sqrt((here[name].var(ddof=1) + there[name].var(ddof=1)) / 2)
        assert np.sqrt(np.mean(difference**2)) <= np.sqrt(2.0) * deviation, (
            f"{name}: {difference}, {here[name]}"
        )
