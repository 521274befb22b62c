"""Functions of the benchmark scripts that can be wrong without anybody noticing: sizes, tables, deadlines."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

# at the end: no script may hide a module of the same name
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import compact_peers
import compact_pictures
import compact_records
import compact_report
import compact_sections
import compact_sets
import harness


def test_a_child_answers_and_its_errors_arrive():
    assert harness.in_child(sum, [1, 2, 3]) == 6
    with pytest.raises(ZeroDivisionError):
        harness.in_child(divmod, 1, 0)


def test_a_child_is_ended_at_its_deadline():
    start = time.perf_counter()
    with pytest.raises(TimeoutError, match=r"not finished after 0\.5 s"):
        harness.in_child(time.sleep, 60, deadline=0.5)
    assert time.perf_counter() - start < 30


def test_a_child_that_dies_is_not_waited_for():
    with pytest.raises(RuntimeError, match="ended with 3"):
        harness.in_child(sys.exit, 3)


def record(name, method, split=0, **values):
    """A line of the journal of benchmarks/compact.py."""
    line = {
        "set": name, "method": method, "split": split, "vectors": 4, "bytes_float32": 400, "bytes_int8": 100,
        "fit_seconds": 1.0, "rows_per_second": 1e6, "us_one_row": 5.0, "parameters": {}, "n_train": 100,
        "n_features": 3,
    }  # fmt: skip
    return {**line, **values}


@pytest.mark.parametrize(("n_features", "n_outputs"), [(2, 1), (60, 1), (784, 10)])
def test_a_network_has_nearly_as_many_numbers_as_it_should(n_features, n_outputs):
    for numbers in (20, 1000, 25_000):
        units = compact_peers.hidden_units(numbers, n_features, n_outputs)
        reached = compact_peers.network_numbers(units, n_features, n_outputs)
        assert units == 1 or abs(reached - numbers) <= (n_features + 1 + n_outputs) / 2


def test_the_numbers_of_a_network_are_those_of_scikit_learn():
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 4
    network = MLPClassifier(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=10_000).fit(X, y)
    numbers = sum(array.size for array in (*network.coefs_, *network.intercepts_))
    assert numbers == compact_peers.network_numbers(5, n_features=3, n_outputs=4)


def test_no_point_of_the_front_is_beaten():
    front = compact_pictures.pareto_front([(10, 1.0), (5, 2.0), (20, 3.0), (30, 2.5), (5, 1.5)])
    assert front == [(5, 2.0), (20, 3.0)]


def test_methods_are_compared_on_the_splits_that_both_have():
    ours = [record("ida_heart", "compact", split, accuracy=0.8) for split in (0, 1)]
    theirs = [record("ida_heart", "svc", split, accuracy=0.5 + split) for split in (1, 2)]
    assert compact_records.differences(ours, theirs, "accuracy") == pytest.approx([-0.7])


def test_the_page_has_a_row_for_what_was_run_and_none_for_the_rest():
    lines = [
        *(
            record("ida_heart", method, accuracy=0.8)
            for method in ("compact", "svc", "mlp", "lightgbm_searched")
        ),
        record("usps", "in_24k", accuracy=0.95, number="int8", max_bytes=24576, rank=20, threads=2),
        record("covtype_2", "compact", accuracy=0.9, peak_bytes=2**31, peak_bytes_before=2**30, rank=None),
        *(record("reg_yacht", method, r2=0.99, rmse=1.0) for method in compact_sections.REGRESSORS),
        record("reg_boston", "compact", r2=0.8, rmse=1.0),
        record(compact_sets.RELEVANT_ALONE, "compact", r2=0.9, rmse=0.1),
    ]
    page = "\n".join(compact_report.tables(lines))
    assert compact_report.SETTLED_ON in page
    assert "| CompactSVC | 80.00 | 4.0 | 400 | 100 | 1.00 |" in page
    assert "| usps | 24,576 | int8 | 95.00 | 100 | 4 | 20 | 1.0 |" in page
    assert "| CompactSVC | 90.00 | 4 | 1 | 2,048 | 1,024 |" in page
    assert "| boston | 0.8000 | - | - | - | 4.0 | - |" in page
    assert "| **mean of 1** | 0.9900 |" in page
    assert "| 4 | 0.9000 | 4.0 | 1.00 | 1 |" in page
    assert "In so many bytes" not in "\n".join(compact_report.tables(lines[:1]))


def test_units_of_the_generated_set_differ_and_only_few_features_matter():
    many = compact_sets.SETS[compact_sets.RELEVANT_AMONG_MANY].split(0)
    alone = compact_sets.SETS[compact_sets.RELEVANT_ALONE].split(0)
    np.testing.assert_array_equal(many.X[:, :4], alone.X)
    np.testing.assert_array_equal(many.y_test, alone.y_test)
    spread = many.X.std(axis=0)
    assert 10**5.8 < spread.max() / spread.min() < 10**6.2
