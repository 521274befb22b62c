"""The work behind the page of Jiao, Bo and Wang: parts put together are the whole, the folds see the machine shown."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from slimsvm import MatchingPursuitSVC, SparseGreedyGPC
from slimsvm.datasets import make_ringnorm
from slimsvm.kernels import RBF
from slimsvm.problem import KernelGram

# at the end: no script may hide a module of the same name
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
harness, engine = importlib.import_module("harness"), importlib.import_module("papers.cells")
published, machines, baselines, listed, found = (
    importlib.import_module(f"papers.jiao.{part}")
    for part in ("published", "machines", "baselines", "cells", "found")
)


@pytest.fixture
def three_classes(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = rng.standard_normal((120, 2)) + 1.5 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    split = harness.Split(X[::2], X[1::2], y[::2], y[1::2])
    monkeypatch.setattr(machines, "split_of", lambda name, draw=0: split)
    monkeypatch.setitem(published.WIDTHS, "three", 0)
    return split


def test_machines_of_classes_put_together_are_the_whole(three_classes):
    parts = [machines.svm_class(name="three", log2_gamma=2, label=label) for label in range(3)]
    labels = machines.test_labels(name="three")["labels"]
    whole = machines.svm(name="three", log2_gamma=2, scheme="rest", draws=1)
    ours = machines.together(parts, labels)
    assert 50 < whole["accuracy"][0] < 100
    assert (ours["accuracy"], ours["vectors"]) == (whole["accuracy"], whole["vectors"])


def test_decisions_are_those_of_libsvm(three_classes):
    X, X_test, y, _ = three_classes
    model = SVC(C=2.0, gamma=0.7).fit(X, y == 0)
    np.testing.assert_allclose(machines.decisions(model, X_test), model.decision_function(X_test), atol=1e-10)


def test_pruned_machines_have_as_many_vectors_as_the_greedy_ones():
    where = {"name": "ringnorm", "log2_gamma": 3, "draws": 1}
    greedy = machines.greedy(**where, log2_width=-4, epsilon=0.5, candidates=None)
    assert machines.pruned(**where, share=machines.AT_ONCE)["vectors"] == greedy["vectors"]


@pytest.mark.parametrize(("method", "kind"), [("KMP", MatchingPursuitSVC), ("SGGP", SparseGreedyGPC)])
def test_the_folds_see_the_machine_that_is_shown(method, kind):
    """With fewer rows than candidates nothing is left to chance."""
    X, y = make_ringnorm(published.CANDIDATES - 20, random_state=0)
    signs, kernel = np.where(y == y[0], 1, -1), RBF(0.05)
    X, X_test, signs = X[:100], X[100:], signs[:100]
    gram = KernelGram(kernel, X)
    outputs = baselines.pursuit_outputs(method, gram, kernel(X, X_test), signs, 3.0, 12)
    options = {"fitting": "prefitting", "tol": 0.0} if method == "SGGP" else {"fitting": "backfitting"}
    for size in (1, 5, 12):
        model = kind(max_vectors=size, C=3.0, gamma=0.05, n_candidates=146, random_state=0, **options)
        expected = model.fit(X, signs).decision_function(X_test)
        np.testing.assert_allclose(outputs[size], expected, atol=1e-8)


def full_journal(folder, change):
    """A journal that holds the paper's own figures, changed by a function of set, column, gamma."""
    journal = engine.Journal.of("jiao", folder)
    journal.runs.append({"code": "", "versions": "", "machine": "", "threads": 1})
    for name, columns in listed.GREEDY.items():
        for column, epsilon, candidates in columns:
            for value in published.LOG2_GAMMA:
                figures = [
                    published.at(f, name, column, value) for f in (published.ACCURACY, published.VECTORS)
                ]
                if None in figures:
                    continue
                accuracy, vectors = change(name, column, value, *figures)
                parameters = listed.greedy_parameters(name, value, epsilon, candidates)
                journal.lines[engine.key_of("greedy", parameters)] = {
                    "run": 0,
                    "seconds": 1.0,
                    "found": {"accuracy": [accuracy], "vectors": [vectors], "seconds": [1.0]},
                }
    return journal


def test_near_counts_both_limits(tmp_path):
    def change(name, column, value, accuracy, vectors):
        if (name, column) == ("usps", "FSALS"):
            return accuracy + (0.59 if value < 5 else 0.61), vectors
        if (name, column) == ("mnist", "PFSALS"):
            return accuracy, vectors * (0.885 if value < 3 else 0.875)
        return accuracy, vectors

    near = list(found.nearness(full_journal(tmp_path, change)))
    far = {(cell.name, cell.column, cell.log2_gamma) for cell in near if not cell.both}
    expected = {("usps", "FSALS", value) for value in range(5, 11)}
    assert far == expected | {("mnist", "PFSALS", value) for value in range(3, 11)}


def test_figures_of_the_paper_are_whole():
    for figures in (published.ACCURACY, published.VECTORS, published.SECONDS):
        assert all(len(column) == len(published.LOG2_GAMMA) for column in figures.values())
    assert published.ACCURACY.keys() == published.VECTORS.keys()
    for name, columns in found.COLUMNS.items():
        for column in columns:
            assert (name, found.OF_PAPER.get(column, column)) in published.ACCURACY


def test_a_figure_far_from_all_draws_is_not_one_of_them():
    assert found.like_another_draw([700, 710, 690, 705, 695], 712)
    assert not found.like_another_draw([700, 710, 690, 705, 695], 740)
