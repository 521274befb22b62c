"""scikit-learn's checks for every estimator, kernel and named option, dense and CSR, with metadata routing and without.

`make hard` asks every check of every variant; without it each option is asked one or two, never the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy
import sklearn

import everyone
from profiles import HARD
from slimsvm import TableEncoder
from variants import REFUSED, SLOW, Variant, failures, kernels, options, variants

# Without SLIMSVM_HARD: one check in so many, about one of each variant tried; of the slow ones every sixth.
STRIDE = 70
OLD_SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2]) < (1, 14)
TRANSFORMERS = [name for name in everyone.KINDS if hasattr(everyone.make(name), "transform")]


def tried() -> list[Variant]:
    """All variants, or each option once, with kernels and forms in turn."""
    if HARD:
        return [variant for name in everyone.NAMES for variant in variants(name)]
    found = []
    for name in everyone.NAMES:
        every = list(variants(name))
        n = 1 + len(options(name))
        steps = [every[(k * len(every) // n + k) % len(every)] for k in range(n)]
        found += steps[::6] if name in SLOW else steps
    return found


@pytest.mark.parametrize(("place", "variant"), list(enumerate(tried())), ids=lambda part: str(part))
def test_every_variant_is_what_scikit_learn_expects(place, variant):
    asked, failed = failures(variant) if HARD else failures(variant, start=7 * place, stride=STRIDE)
    assert asked or not HARD
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("place", range(len(everyone.NAMES)), ids=everyone.NAMES)
def test_metadata_routing_changes_no_check(place):
    variant = Variant(everyone.NAMES[place])
    _, failed = failures(variant, start=11 * place, stride=1 if HARD else STRIDE, routing=True)
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("name", [name for name in everyone.NAMES if everyone.takes(name, "sample_weight")])
def test_weights_reach_an_estimator_by_request(name):
    X, y, weight, T = everyone.data(name, n=30)
    with sklearn.config_context(enable_metadata_routing=True):
        model = everyone.make(name)
        if name in everyone.WRAPPED:
            model.estimator.set_fit_request(sample_weight=True)
        routed = model.fit(X, y, sample_weight=weight)
    everyone.same_bits(everyone.answers(routed, T), everyone.answers(everyone.fit(name, X, y, weight), T))


@pytest.mark.parametrize("refused", REFUSED, ids=str)
def test_what_is_left_out_is_refused(refused):
    name, kernel, option = refused
    X, y, _, _ = everyone.data(name)
    with pytest.raises(ValueError, match=REFUSED[refused]):
        Variant(name, kernel, option).make().fit(X, y)


def test_the_variants_are_all_there():
    """Every kernel and option of an estimator, in both forms."""
    for name in everyone.NAMES:
        made = list(variants(name))
        left_out = {(kernel, option) for other, kernel, option in REFUSED if other == name}
        assert {variant.kernel for variant in made} >= set(kernels(name))
        assert {variant.option for variant in made} == {None, *options(name)}
        assert not {(variant.kernel, variant.option) for variant in made} & left_out
        assert sum(variant.csr for variant in made) * 2 == len(made)
    assert ("solver", "cg") in options("LSSVC")
    assert ("method", "em") in options("RVC")
    assert ("variant", "linear") in options("ZeroNormSVC")


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_transformers_give_tables(name, library):
    X, y, _, T = everyone.data(name)
    made = {"pandas": lambda A: pd.DataFrame(A, columns=list("abc"), index=np.arange(len(A)) + 5)}
    made["polars"] = lambda A: pl.DataFrame(A, schema=list("abc"))
    plain = everyone.fit(name, X, y)
    model = everyone.make(name).set_output(transform=library).fit(made[library](X), y)
    for rows in (made[library](T), made["pandas"](T)):
        table = model.transform(rows)
        assert type(table).__module__.startswith(library)
        assert list(table.columns) == list(model.get_feature_names_out())
        np.testing.assert_array_equal(np.asarray(table), plain.transform(T))
    if library == "pandas":
        assert table.index.tolist() == list(range(5, 5 + len(T)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_encoder_gives_tables(library):
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "green"]})
    given = table if library == "pandas" else pl.DataFrame(table.to_dict(orient="list"))
    encoded = TableEncoder().set_output(transform=library).fit(given).transform(given)
    assert type(encoded).__module__.startswith(library)
    np.testing.assert_array_equal(
        np.asarray(encoded, dtype=float), TableEncoder().fit(table).transform(table)
    )


@pytest.mark.parametrize("switched", [False, True] if HARD else [False])
def test_with_and_without_array_interfaces_of_scipy(switched):
    """SciPy looks at SCIPY_ARRAY_API when it is imported: another process asks. This suite sets it, users do not."""
    environment = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("variants.py")), "1" if HARD else str(2 * STRIDE)],
        env=environment | ({"SCIPY_ARRAY_API": "1"} if switched else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(OLD_SCIPY, reason="scikit-learn dispatches with SciPy 1.14 or newer")
@pytest.mark.parametrize("name", everyone.NAMES)
def test_dispatch_to_other_arrays_changes_no_bit(name):
    X, y, weight, T = everyone.data(name)
    wanted = everyone.answers(everyone.known(name), T)
    with sklearn.config_context(array_api_dispatch=True):
        everyone.same_bits(everyone.answers(everyone.fit(name, X, y, weight), T), wanted)
