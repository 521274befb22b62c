"""scikit-learn's own tests of SVC and SVR, from the installed package, with our machines in their place."""

from __future__ import annotations

import functools

import pytest
import sklearn
from sklearn import svm
from sklearn.utils.fixes import parse_version

import slimsvm
from profiles import HARD
from sklearn_svm import MODULES, Run, load, shim
from sklearn_svm_exempt import ALL, EXEMPT

if parse_version(sklearn.__version__) < parse_version("1.9"):
    pytest.skip("the list of exemptions is for the tests of scikit-learn 1.9", allow_module_level=True)

# Our regression of the same kind.
REGRESSORS = {"LSSVC": "LSSVR", "CompactSVC": "CompactSVR"}
QUICK = {"CompactSVC": {"random_state": 0}}
# A compact machine takes a second where others take milliseconds: without SLIMSVM_HARD it does every so many of them.
STRIDE = {"CompactSVC": 17}


@functools.cache
def run(module: str, machine: str) -> Run:
    """A module of tests around one of our machines."""
    quick = QUICK.get(machine, {})
    replaced = {"SVC": shim(svm.SVC, getattr(slimsvm, machine), quick)}
    if machine in REGRESSORS:
        replaced["SVR"] = shim(svm.SVR, getattr(slimsvm, REGRESSORS[machine]), quick)
    return load(module, replaced, [exempt for exempt in EXEMPT if machine in exempt.machines])


def every(machine: str) -> list[tuple[str, str, str]]:
    found = [(machine, module, name) for module in MODULES for name in run(module, machine).tests]
    return found if HARD else found[:: STRIDE.get(machine, 1)]


@pytest.mark.parametrize(("machine", "module", "name"), [case for machine in ALL for case in every(machine)])
def test_what_scikit_learn_asks_of_its_own(machine, module, name):
    run(module, machine).check(name, thin=not HARD)


@pytest.mark.parametrize("machine", ALL)
def test_all_that_is_exempted_is_there(machine):
    """A statement that scikit-learn has changed is no longer wrapped, and then has to be looked at again."""
    runs = [run(module, machine) for module in MODULES]
    there = {exempt for each in runs for exempt in each.exempt}
    tests = {name for each in runs for name in each.tests}
    assert not [
        exempt
        for exempt in EXEMPT
        if machine in exempt.machines and exempt.test in tests and exempt not in there
    ]
