"""Expectation-maximisation of RVC ends: where Laplace's approximation overshoots, and where rounding never rests."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import random_cases
from slimsvm import RVC
from slimsvm.kernels import RBF
from slimsvm.methods.relevance import expectation_maximisation
from slimsvm.methods.relevance.expectation_maximisation import fit_em
from slimsvm.methods.relevance.sparse_bayes import CandidateColumns
from slimsvm.problem import KernelGram

HARD = bool(os.environ.get("SLIMSVM_HARD"))
hard = pytest.mark.skipif(not HARD, reason="takes some seconds; SLIMSVM_HARD=1, or make hard, runs it")


def heavy():
    """Rows that can be separated, far from the origin and very heavy, of a case of `make attack`."""
    case = random_cases.trial(102993)
    return np.asarray(case.rows.todense()), case.y, case.weight


def rounds_of(monkeypatch, **limits):
    """How many rounds each start takes."""
    found = []

    def counted(source, y, weight, **options):
        fit = fit_em(source, y, weight, **{**options, **limits})
        found.append(fit)
        return fit

    monkeypatch.setattr("slimsvm.methods.relevance.estimators.fit_em", counted)
    X, y, weight = heavy()
    RVC(gamma="auto", method="em").fit(X, y, sample_weight=weight)
    return found


def test_rounds_that_overshoot_come_to_rest(monkeypatch):
    found = rounds_of(monkeypatch)
    assert all(fit.converged for fit in found)
    assert max(fit.n_iter for fit in found) < 1500
    assert all(len(fit.columns) < 20 for fit in found)


@hard
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_whole_steps_would_go_in_circles(monkeypatch):
    """What the shorter steps are for: without them precisions change by a third in every round, however many."""
    monkeypatch.setattr(expectation_maximisation, "SHORTEST", 1.0)
    monkeypatch.setattr(expectation_maximisation, "FEW_STEPS", 50)
    monkeypatch.setattr(expectation_maximisation, "WAITING", np.inf)
    found = rounds_of(monkeypatch, max_iter=600)
    assert max(fit.gain for fit in found) > 0.1


@hard
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", [102993, 119625])
def test_cases_that_took_too_long_end(case):
    start = time.process_time()
    assert random_cases.attack(case).wrong == ""
    assert time.process_time() - start < 10


def test_the_likelihood_of_regression_rises_from_round_to_round():
    """Expectation-maximisation proper: no round of it may lose."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2))
    source = CandidateColumns(KernelGram(RBF(0.5), X))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(25)
    values = [
        fit_em(source, y, np.ones(25), gaussian=True, tol=1e-12, max_iter=n).log_marginal_likelihood
        for n in (1, 2, 4, 8, 16, 32, 64)
    ]
    assert (np.diff(values) > -1e-9).all()
