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
import compact_speed
import harness
import phone_book
import phone_book_problems


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
    network = MLPClassifier((5,), solver="lbfgs", alpha=1.0, max_iter=10_000, random_state=0).fit(X, y)
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


@pytest.mark.parametrize(
    "name", ["thirty_rows", "spirals", "copies", "rare_class", "text", "units", "fields"]
)
def test_a_problem_is_the_same_each_time_and_its_test_rows_are_others(name):
    problem = phone_book_problems.PROBLEMS[name]
    data, again = phone_book_problems.draw(name), phone_book_problems.draw(name)
    assert data.X.shape[0] == len(data.y) == problem.n
    assert data.X_test.shape == (problem.n_test, data.X.shape[1])
    assert abs(data.X - again.X).max() == 0
    assert abs(data.X_test - again.X_test).max() == 0
    np.testing.assert_array_equal(data.y, again.y)
    assert abs(data.X[:10] - data.X_test[:10]).max() > 0


def outcome(problem, method, right, seconds=10.0, **values):
    """A line of the journal of benchmarks/phone_book.py."""
    right = np.asarray(right, dtype=bool)
    line = {
        "problem": problem, "method": method, "n": phone_book_problems.PROBLEMS[problem].n, "finished": True,
        "seconds": seconds, "accuracy": right.mean(), "balanced": 0.75, "vectors": 7, "n_test": len(right),
        "right": np.packbits(right).tobytes().hex(),
    }  # fmt: skip
    return (problem, method), {**line, **values}


def test_the_error_of_a_difference_is_that_of_the_pairs():
    rng = np.random.default_rng(0)
    ours, theirs = rng.random((2, 1003)) < 0.8
    gain, error = phone_book.paired(
        outcome("spirals", "compact", ours)[1], outcome("spirals", "svc", theirs)[1]
    )
    gained = 100.0 * (ours.astype(float) - theirs)
    assert gain == pytest.approx(gained.mean())
    assert error == pytest.approx(gained.std(ddof=1) / np.sqrt(1003))


def test_a_search_that_takes_too_long_is_made_on_a_sample(monkeypatch):
    asked = []

    def late(function, name, method, search_rows, *, deadline):
        asked.append((search_rows, deadline))
        raise TimeoutError

    monkeypatch.setattr(phone_book, "in_child", late)
    line = phone_book.run_cell("thirty_classes", "svc")  # 6,000 rows
    assert asked == [(6000, phone_book.SEARCH_SECONDS), (5000, phone_book.SVC_SECONDS)]
    assert line["finished"] is False
    assert line["seconds"] == phone_book.SVC_SECONDS
    asked.clear()
    phone_book.run_cell("spirals", "svc")  # few rows: there is no smaller sample
    phone_book.run_cell("many_rows", "svc")  # so many that no search of all is tried
    assert asked == [(450, phone_book.SVC_SECONDS), (5000, phone_book.SVC_SECONDS)]


def test_the_phone_book_ends_with_the_worst():
    most, few = np.arange(2000) % 10 < 9, np.arange(2000) % 10 < 5
    lines = dict(
        [
            outcome("thirty_rows", "svc", most),
            outcome("thirty_rows", "compact", few, seconds=5.0),
            outcome("spirals", "svc", most),
            outcome("spirals", "compact", most, seconds=30.0),
            outcome("rare_class", "compact", most),
            (("rare_class", "svc"), {"n": 5000, "finished": False, "seconds": 1200.0}),
        ]
    )
    page = phone_book.tables(lines)
    last = [line for line in page if line.startswith("| **worst")]
    assert last == [
        "| **worst: thirty_rows, spirals** |  |  |  |  |  |  | -40.00 | 1.10 |  |  |  |  | 3.00 |"
    ]
    (rare,) = [line for line in page if line.startswith("| rare_class | 1 %")]
    assert "not finished | 90.00 |" in rare
    assert rare.endswith("| > 1,200 | 10.0 | < 0.01 |")
    assert "| rare_class | not finished | 75.00 |" in page


def test_the_page_of_speeds_has_means_for_two_and_for_several_classes():
    def line(case, n_classes, compact):
        both = {"compact": 0.9, "svc": 0.9}
        seconds = {"compact": compact, "svc": 2.0}
        return (case,), {"case": case, "n": 100, "n_features": 3, "n_classes": n_classes, "rounds": 1,
                         "seconds": seconds, "accuracy": both, "vectors": {"compact": 3, "svc": 50}}  # fmt: skip

    page = compact_speed.page(
        dict([line("digits", 10, 4.0), line("banana", 2, 1.0), line("german", 2, 0.25)])
    )
    assert any(
        row.startswith("| **several classes, geometric mean** |") and "| 2.00 |" in row for row in page
    )
    assert any(row.startswith("| **two classes, geometric mean** |") and "| 0.25 |" in row for row in page)
