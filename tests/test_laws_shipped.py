"""What is reduced, loaded or exported obeys the laws of what it was made from, on random data at their worst.

A row has one answer, alone and in any batch, whichever runtime gives it; ONNX, C and JavaScript say what Python says.
Headers and modules answer row by row: many models go into one program, and their rows come in several orders.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import c_programs
import exported
import random_rows
import test_c_export
from everyone import answers, close, same_bits, size
from profiles import HARD
from slimsvm import load, reduce, save, to_c, to_js, to_onnx
from slimsvm.adapters.whole import as_model
from test_javascript import as_arrays, in_node, needs_node, rows_of
from test_laws_hypothesis import cases, fitted, ours, sound
from test_onnx import session

few = settings(max_examples=40 if HARD else 1, database=None)
# Random cases of each estimator that go into programs, and every how many estimators without SLIMSVM_HARD.
EACH, STRIDE = (12, 1) if HARD else (1, 3)
pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]
names = [name for name in ours if name != "ZeroNormSelector"]
every_model = pytest.mark.parametrize("name", names)
anything = cases(random_rows.GENTLE | {"an outlier": None})
# Sums in another order, exp and pow of another library; of the absolute terms of an output.
TOLERANCE = 1e-11


def orders(n: int) -> list[list[int]]:
    """The rows as they are, each of some alone, backwards, and one of them often."""
    return [list(range(n)), [n - 1], [1, 0], list(range(n))[::-1], [0] * 5]


def drawn_model(name, drawn):
    """A case and its model, or None where the data are refused."""
    case = random_rows.case(name, *drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case, fitted(name, case)


def as_they_are(case: exported.Case, found: dict) -> None:
    """`exported.check`, but for densities that no number shows."""
    wanted = exported.answers_of(case.model, case.rows)
    if "log_density" in wanted and not (wanted["log_density"] > -700).any():
        return
    exported.check(case, found, "float64", tolerance=TOLERANCE)


@every_model
@few
@given(drawn=anything)
def test_a_graph_answers_a_row_alone_as_among_others_and_as_python_does(name, drawn):
    case, model = drawn_model(name, drawn)
    if model is None:
        return
    value, rows = as_model(model), np.vstack([case.T, case.X[:5]])
    runs = session(to_onnx(value, number="float64"))
    outputs = [output.name for output in runs.get_outputs()]
    for order in orders(len(rows)):
        found = dict(zip(outputs, runs.run(None, {"X": rows[order]}), strict=True))
        as_they_are(exported.Case(name, value, rows[order]), found)


def some_models():
    """Models of random data, with rows in several orders: name, model, rows."""
    found = []
    for at, name in enumerate(names[::STRIDE]):
        kinds = sorted(random_rows.GENTLE)
        for number in range(EACH):
            rng = np.random.default_rng(1000 * at + number)
            shape = random_rows.SHAPES[rng.integers(len(random_rows.SHAPES))]
            kind = tuple(rng.choice(kinds, rng.integers(1, 3), replace=False).tolist())
            case, model = drawn_model(name, (int(rng.integers(2**20)), shape, kind, int(rng.integers(4))))
            if model is not None:
                rows = np.vstack([case.T, case.X[:5]])
                order = [i for each in orders(len(rows)) for i in each]
                found.append(exported.Case(f"{name} {shape} {kind}", as_model(model), rows[order]))
    assert len(found) > len(names[::STRIDE]) * EACH / 3
    return found


def equal_for_equal_rows(answer, rows):
    """What was said to a row first is said to it again, to the last bit."""
    first = {row.tobytes(): i for i, row in reversed(list(enumerate(rows)))}
    again = [first[row.tobytes()] for row in rows]
    np.testing.assert_array_equal(answer, np.asarray(answer)[again])


def test_headers_answer_a_row_the_same_in_any_order_and_as_python_does(tmp_path):
    models = some_models()
    headers = [
        to_c(case.model, name=f"m{i}", number=("float64", "float32")[i % 2]) for i, case in enumerate(models)
    ]
    rows = [np.asarray(case.rows, dtype=float) for case in models]
    rows = [
        each if h.number == "float64" else each.astype(np.float32)
        for each, h in zip(rows, headers, strict=True)
    ]
    rows = [each.astype(np.float64) for each in rows]
    for header, each, found in zip(
        headers, rows, c_programs.run(headers, rows, tmp_path, c_programs.C99), strict=True
    ):
        test_c_export.check(header, each, found)
        for answer in (found.scores, found.predicted, found.probabilities):
            if answer is not None:
                equal_for_equal_rows(answer, each)


@needs_node
def test_modules_answer_a_row_the_same_in_any_order_and_as_python_does(tmp_path):
    models = some_models()
    jobs = [(to_js(case.model, number="float64"), rows_of(case)) for case in models]
    for case, found in zip(models, in_node(jobs, tmp_path), strict=True):
        arrays = as_arrays(case, found)
        as_they_are(case, arrays)
        for answer in arrays.values():
            equal_for_equal_rows(answer, np.asarray(case.rows))


@every_model
@few
@given(drawn=anything, which=st.integers(0, len(random_rows.FORMS) - 1))
def test_what_is_loaded_or_reduced_answers_rows_in_any_container_and_batch(
    name, drawn, which, tmp_path_factory
):
    case, model = drawn_model(name, drawn)
    if model is None:
        return
    path = tmp_path_factory.mktemp("saved") / "model.slim"
    save(model, path)
    again, rows = load(path), np.vstack([case.T, case.X])
    for order in orders(len(rows)):
        same_bits(answers(again, rows[order]), answers(model, rows[order]))
    made = [again]
    if name != "SparseKernelDensity" and model.n_vectors_ > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(reduce(again, case.X, case.y, max_vectors=max(1, model.n_vectors_ // 2)))
        assert made[1].n_vectors_ <= model.n_vectors_ // 2
    form = random_rows.FORMS[which]
    for each in made:
        sound(each, rows)
        if form is not random_rows.single:
            close(answers(each, form(rows)), answers(each, rows), 1e-9, size(each, rows))
        stored = replace_vectors(each)
        if stored is not None:
            close({"f": stored(rows)}, {"f": each.expansion_(rows)}, 1e-9, size(each, rows))


def replace_vectors(model):
    """The expansion of a model with its vectors in CSR, or None where they are there already or lie in an image."""
    f = model.expansion_
    if sparse.issparse(f.vectors) or f.projection is not None:
        return None
    return replace(f, vectors=sparse.csr_array(f.vectors))
