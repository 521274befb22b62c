"""The quick profile, `make test`, and the hard one, `make hard`, which sets SLIMSVM_HARD=1.

Quick: every law for every estimator, and combinations in turns. Hard: every combination, more examples, and the tests
marked `hard`, which take long.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

HARD = bool(os.environ.get("SLIMSVM_HARD"))
hard = pytest.mark.skipif(not HARD, reason="takes long; SLIMSVM_HARD=1, or make hard, runs it")
# Of scikit-learn's checks, a kernel or an option that is not the default is asked one in so many.
STRIDE = 24


def in_turns(every: Iterable[Any], *others: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Each of the first with one combination of the others, which take turns; with HARD each with all.

    What comes first may be tuples, of a product for instance: they are continued.
    """
    firsts = [one if isinstance(one, tuple) else (one,) for one in every]
    combinations = list(itertools.product(*others))
    n = len(combinations)
    if HARD:
        return [(*first, *rest) for first in firsts for rest in combinations]
    # a step further each time round: what repeats in the first list does not always meet the same
    return [(*first, *combinations[(place + place // n) % n]) for place, first in enumerate(firsts)]


def scikit_checks(estimators: Mapping[str, Any] | Iterable[Any]) -> pytest.MarkDecorator:
    """scikit-learn's checks of `estimator`, each a `check`: all for the first of each kind, in turns for the others."""
    if not isinstance(estimators, Mapping):
        estimators = {" ".join(repr(estimator).split()): estimator for estimator in estimators}
    cases, known = [], set()
    for place, (label, estimator) in enumerate(estimators.items()):
        kind = type(estimator), get_tags(estimator).estimator_type  # what is reduced decides the latter
        step = STRIDE if kind in known and not HARD else 1
        known.add(kind)
        for checked, check in list(estimator_checks_generator(estimator))[place % step :: step]:
            name = getattr(check, "func", check).__name__
            cases.append(pytest.param(checked, check, id=f"{label}: {name}"))
    return pytest.mark.parametrize(("estimator", "check"), cases)
