"""The laws of every estimator on random data at their worst: the same bits for the same problem, or one clear error.

`tests/test_laws.py` holds the laws on plain data, with what needs a tolerance. Here every law is one that rounding does
not touch (orders, powers of two, storage), so that the answers must be equal.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import is_classifier

import random_rows
from everyone import NAMES, WRAPPED, answers, close, fit, has, make, same_bits, size, takes
from profiles import HARD
from slimsvm import load, reduce, save
from slimsvm.errors import SlimsvmError

few = settings(max_examples=60 if HARD else 2, database=None)
ours = [name for name in NAMES if name not in WRAPPED]
every_estimator = pytest.mark.parametrize("name", ours)
pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]
# What no user understands, and no sentence of ours says.
UNCLEAR = ("infs or NaNs", "must be finite", "math domain", "cannot convert", "zero-size", "Singular")


def fitted(name, case, X=None, y=None, weight=None, **parameters):
    """The model, or None where the data are refused in a sentence."""
    X, y = case.X if X is None else X, case.y if y is None else y
    sizes = {"n_vectors": min(2, len(case.X))} if has(name, "n_vectors") else {}
    try:
        return fit(name, X, y, case.weight if weight is None else weight, **(sizes | parameters))
    except (ValueError, SlimsvmError) as error:
        if isinstance(error, np.linalg.LinAlgError) or any(word in str(error) for word in UNCLEAR):
            raise  # the former is a ValueError too, and says nothing of the data
        return None


def cases(kinds):
    """Arguments of `random_rows.case` but the first."""
    some = st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=2, unique=True).map(tuple)
    return st.tuples(st.integers(0, 2**20), st.sampled_from(random_rows.SHAPES), some, st.integers(0, 3))


gentle, harsh = cases(random_rows.GENTLE), cases(random_rows.HARSH)


def sound(model, T):
    """No answer is not-a-number, and a row alone, or in another batch, is answered as among all."""
    whole = answers(model, T)
    for method, answer in whole.items():
        assert np.asarray(answer).dtype.kind != "f" or not np.isnan(answer).any(), method
    for rows in ([len(T) - 1], [1, 0], list(range(len(T)))[::-1]):
        part = answers(model, np.asfortranarray(T[rows]))
        for method, answer in whole.items():
            if np.asarray(answer).dtype.kind == "f":
                with np.errstate(invalid="ignore"):  # minus infinity is the logarithm of no density
                    error = np.abs(part[method] - answer[rows])
                scale = max(1.0, size(model, T), float(np.abs(answer[np.isfinite(answer)]).max(initial=0.0)))
                assert np.nanmax(error, initial=0.0) <= 1e-9 * scale, method


@every_estimator
@few
@given(drawn=harsh)
def test_any_data_give_a_sound_model_or_a_clear_error(name, drawn):
    case = random_rows.case(name, *drawn)
    model = fitted(name, case)
    if model is None:
        return
    sound(model, np.vstack([case.T, case.X]))
    limit = model.get_params().get("max_vectors") or model.get_params().get("n_vectors")
    assert limit is None or model.n_vectors_ <= limit


@every_estimator
@few
@given(drawn=gentle, order=st.integers(0, 2**20))
def test_orders_repetitions_and_absent_rows_change_no_bit(name, drawn, order):
    case = random_rows.case(name, *drawn)
    model = fitted(name, case)
    if model is None:
        return
    wanted = answers(model, case.T)
    at = np.random.default_rng(order).permutation(len(case.X))
    y = None if case.y is None else case.y[at]
    same_bits(answers(fitted(name, case, case.X[at], y, case.weight[at]), case.T), wanted)
    if not takes(name, "sample_weight"):
        return
    at = np.r_[np.arange(len(case.X)), 0, 1]
    heavier = case.weight.copy()
    heavier[:2] *= 2
    y = None if case.y is None else case.y[at]
    twice = fitted(name, case, case.X[at], y, case.weight[at])
    same_bits(answers(twice, case.T), answers(fitted(name, case, weight=heavier), case.T))
    absent = fitted(
        name, case, case.X[at] + (np.arange(len(at)) >= len(case.X))[:, None], y, np.r_[case.weight, 0, 0]
    )
    same_bits(answers(absent, case.T), wanted)


def forms(X):
    """The same rows in other containers: explicit zeros, 64-bit indices, read-only, not contiguous."""
    stored = np.ones(X.shape, dtype=bool)
    n, d = X.shape
    explicit = sparse.csr_array(
        (X[stored], np.tile(np.arange(d, dtype=np.int64), n), np.arange(0, n * d + 1, d, dtype=np.int64)),
        shape=X.shape,
    )
    unwritable = X.copy()
    unwritable.flags.writeable = False
    wide = np.zeros((n, 2 * d))
    wide[:, ::2] = X
    yield from (np.asfortranarray(X), wide[:, ::2], unwritable, X[::-1].copy()[::-1])
    yield from (
        explicit,
        sparse.csr_matrix(X),
        sparse.csc_array(X),
        sparse.coo_matrix(X),
        sparse.lil_array(X),
    )


@every_estimator
@few
@given(drawn=gentle, which=st.integers(0, 8))
def test_the_container_of_the_rows_changes_no_bit(name, drawn, which):
    case = random_rows.case(name, *drawn)
    model = fitted(name, case)
    X = list(forms(case.X))[which]
    other = fitted(name, case, X)
    assert (model is None) == (other is None)
    if model is None:
        return
    crowded = np.count_nonzero(case.X) > case.X.size / 8
    if crowded and name != "SparseKernelDensity":
        same_bits(answers(other, case.T), answers(model, case.T))
    kept = size(model, case.T)
    close(answers(model, sparse.csr_array(case.T)), answers(model, case.T), 1e-9, kept)


# Machines with one optimum: others break near ties by the order of the rows, which is that of a hash of their values.
CONVEX = {"LSSVC": 1e-8, "LSSVR": 1e-8, "FullSVC": 1e-2}


@pytest.mark.parametrize("name", CONVEX)
@few
@given(drawn=gentle, power=st.integers(-60, 60))
def test_rows_in_other_units_with_a_width_in_those_change_nothing(name, drawn, power):
    case = random_rows.case(name, *drawn)
    factor = 2.0**power
    model = fitted(name, case, gamma=0.5)
    other = fitted(name, case, case.X * factor, gamma=0.5 / factor**2)
    found, wanted = (answers(each, rows) for each, rows in ((other, case.T * factor), (model, case.T)))
    if is_classifier(model):  # a label on the border may be either
        del found["predict"], wanted["predict"]
    close(found, wanted, CONVEX[name], size(model, case.T))


@pytest.mark.parametrize("name", [name for name in ours if is_classifier(make(name))])
@few
@given(drawn=gentle)
def test_the_names_of_the_classes_change_no_bit(name, drawn):
    case = random_rows.case(name, *drawn)
    model = fitted(name, case)
    if model is None:
        return
    names = np.array(["ant", "bee", "cat"], dtype=object)
    codes = np.searchsorted(model.classes_, case.y)
    wanted, found = answers(model, case.T), answers(fitted(name, case, y=names[codes]), case.T)
    np.testing.assert_array_equal(
        found.pop("predict"), names[np.searchsorted(model.classes_, wanted.pop("predict"))]
    )
    same_bits(found, wanted)


# Where the labels turned round may end in another model as good: EmpiricalSVC looks at the rows of the first class
# first, as its paper does, a search starts from elsewhere, and a linear program may have several optima.
SIDED = ("EmpiricalSVC", "CompactSVC", "LPSVC")


@pytest.mark.parametrize("name", [name for name in ours if is_classifier(make(name)) and name not in SIDED])
@few
@given(drawn=gentle, held_out=st.booleans())
def test_labels_turned_round_turn_the_outputs(name, drawn, held_out):
    seed, shape, kinds, labels = drawn
    if shape[0] < 12:  # one row of each class: everything is a tie
        shape = (12, 1)
    case = random_rows.case(name, seed, shape, kinds, labels // 2 * 2)  # two classes
    options = {"validation_fraction": 0.3} if held_out and has(name, "validation_fraction") else {}
    first, second = np.unique(case.y)
    model = fitted(name, case, **options)
    turned = fitted(name, case, y=np.where(case.y == first, second, first), **options)
    assert (model is None) == (turned is None)
    if model is None:
        return
    f, opposite = model.decision_function(case.T), turned.decision_function(case.T)
    close({"f": -opposite}, {"f": f}, 1e-2 if name == "FullSVC" else 1e-6, max(1.0, size(model, case.T)))


@pytest.mark.parametrize("name", [name for name in ours if name != "ZeroNormSelector"])
@few
@given(drawn=gentle)
def test_what_is_saved_or_reduced_obeys_the_same_laws(name, drawn, tmp_path_factory):
    case = random_rows.case(name, *drawn)
    model = fitted(name, case)
    if model is None:
        return
    path = tmp_path_factory.mktemp("saved") / "model.slim"
    save(model, path)
    same_bits(answers(load(path), case.T), answers(model, case.T))
    if name == "SparseKernelDensity" or model.n_vectors_ < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        half = reduce(model, case.X, case.y, max_vectors=model.n_vectors_ // 2)
    assert half.n_vectors_ <= model.n_vectors_ // 2
    sound(half, np.vstack([case.T, case.X]))
