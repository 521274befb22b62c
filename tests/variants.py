"""Every estimator of the one list with every kernel and every option that has a name, for scikit-learn's checks.

Kernels and options are read from what the estimators say they take, so a new one is here by itself.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import SkipTest

import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils import estimator_checks
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.estimator_checks import estimator_checks_generator

import everyone
from contracts import narrow_rbf
from csr_forms import csr_form
from slimsvm import SparseKernelDensity
from slimsvm.kernels import RBF

# Of these, choices do not change how a model is found, or have tests of their own.
BESIDE = {"kernel", "gamma", "class_weight", "scoring", "on_interrupt"}
# A choice that only goes with another.
WITH: dict[tuple[str, str, Any], dict[str, Any]] = {
    ("EmpiricalSVC", "vectors", "orthogonal"): {"kernel": "linear"},
    ("EmpiricalSVC", "solver", "newton"): {"loss": "squared_hinge"},
    **{(name, "metric", "linear"): {"kernel": "rbf"} for name in ("CompactSVC", "CompactSVR")},
    **{
        (name, "number", number): {"kernel": "rbf"}
        for name in ("CompactSVC", "CompactSVR")
        for number in ("int16", "int8", "int4")
    },
    # where these end has tests of its own; here they would take most of an hour to get there
    **{(name, "method", "em"): {"max_iter": 50} for name in ("RVC", "RVR")},
    **{(name, "solver", "smo"): {"max_iter": 5} for name in ("ZeroNormSVC", "ZeroNormSVR")},
}
# What an estimator refuses to be, and its words.
REFUSED = {
    (name, "sigmoid", ("solver", "smo")): "needs a positive definite kernel" for name in ("LSSVC", "LSSVR")
}
# Checks of accuracy need room: with the few vectors of the other tests no model is good.
ACCURACY = ("check_classifiers_train", "check_regressors_train")
ROOM = {"max_vectors": 150, "n_vectors": 150}
# Checks that cast rows to integers.
CUT_TO_INTEGERS = ("check_estimators_dtypes", "check_positive_only_tag_during_fit")
# A second for a check is common here: kernels and options one at a time, not each with each.
SLOW = ("CompactSVC", "CompactSVR")
# Checks of scikit-learn's that it does not run by itself.
MORE = ("check_dataframe_column_names_consistency", "check_param_validation", "check_readonly_memmap_input")
MORE_OF_TRANSFORMERS = (
    "check_set_output_transform", "check_set_output_transform_pandas", "check_set_output_transform_polars",
    "check_global_output_transform_pandas", "check_global_set_output_transform_polars",
    "check_transformer_get_feature_names_out", "check_transformer_get_feature_names_out_pandas",
    "check_transformer_preserve_dtypes",
)  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """An estimator with a kernel, an option, and the form it sees rows in."""

    name: str
    kernel: str | None = None
    option: tuple[str, Any] | None = None
    csr: bool = False

    def make(self) -> Any:
        """The estimator, unfitted."""
        parameters = dict([self.option] if self.option else [])
        if self.kernel is not None:
            parameters["kernel"] = kernels(self.name)[self.kernel]
        if self.option:
            parameters |= WITH.get((self.name, *self.option), {})
        if self.csr and self.name.startswith("Reduced"):
            # libsvm's machine is the same then; scikit-learn's "scale" differs in the last digit for CSR rows, and a
            # reduction of eight vectors may then end elsewhere
            parameters["estimator__gamma"] = 0.1
        estimator = everyone.make(self.name, **parameters)
        return csr_form(estimator) if self.csr else estimator

    def __str__(self) -> str:
        option = "{}={}".format(*self.option) if self.option else None
        return " ".join(
            part for part in (self.name, self.kernel, option, "CSR" if self.csr else "dense") if part
        )


def choices(name: str, parameter: str) -> list[Any]:
    """The named choices of a parameter, as its constraints say."""
    found: list[Any] = []
    constraints = getattr(everyone.KINDS.get(name), "_parameter_constraints", {}).get(parameter, [])
    for constraint in constraints if isinstance(constraints, list) else []:
        if isinstance(constraint, StrOptions):
            found += sorted(constraint.options)
        elif constraint == "boolean":
            found += [False, True]
    return found


def kernels(name: str) -> dict[str, Any]:
    """The kernels an estimator takes: those with a name, an object, and a function."""
    named = {kernel: kernel for kernel in choices(name, "kernel")}
    return {**named, "Kernel": RBF(0.5), "function": narrow_rbf} if named else {}


def options(name: str) -> list[tuple[str, Any]]:
    """Each choice of each parameter that is not the one the tests use anyway."""
    made = everyone.make(name)
    return [
        (parameter, value)
        for parameter, usual in made.get_params(deep=False).items()
        if parameter not in BESIDE
        for value in choices(name, parameter)
        if value != usual
    ]


def variants(name: str) -> Iterator[Variant]:
    """The estimator with each kernel and each option, each with each but for the slow ones, dense and CSR."""
    every = list(kernels(name)) or [None]
    for place, option in enumerate([None, *options(name)]):
        only = WITH.get((name, *option), {}).get("kernel") if option else None
        one = [every[place % len(every)]] if option and name in SLOW else every
        for kernel in [only] if only else one:
            for csr in (False, True) if (name, kernel, option) not in REFUSED else ():
                yield Variant(name, kernel, option, csr)


def checks(estimator: Any, *, routing: bool = False) -> list[tuple[str, Callable[[], None]]]:
    """What scikit-learn has to ask of an estimator, by name."""
    found = []
    for checked, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if cannot_apply(estimator, name, routing=routing):
            continue
        if name in ACCURACY:
            parameters = checked.get_params(deep=False)
            room = {name: most for name, most in ROOM.items() if parameters.get(name) is not None}
            checked = clone(checked).set_params(**room)
        found.append((name, lambda checked=checked, check=check: check(checked)))
    kind = type(estimator).__name__
    for name in (*MORE, *(MORE_OF_TRANSFORMERS if hasattr(estimator, "transform") else ())):
        check = getattr(estimator_checks, name)
        found.append((name, lambda check=check: check(kind, estimator)))
    return found


def cannot_apply(estimator: Any, check: str, *, routing: bool) -> str:
    """Why a check of scikit-learn's cannot be asked, or nothing."""
    pairwise = getattr(estimator, "kernel", None) == "precomputed"
    if pairwise and check == "check_decision_proba_consistency":
        return "gives rows, not kernel values, to estimators that take a kernel matrix"
    if pairwise and getattr(estimator, "solver", None) == "smo" and check in CUT_TO_INTEGERS:
        return "cuts kernel values to integers, which leaves no kernel matrix"
    if getattr(estimator, "warm_start", False) and (pairwise or check == "check_supervised_y_2d"):
        return (
            "fits one estimator several times, and what it is told the second time is not what it began with"
        )
    if routing and isinstance(estimator, SparseKernelDensity) and check == "check_pipeline_consistency":
        return (
            "has a pipeline pass a weight to a score that takes none, as that of scikit-learn's KernelDensity"
        )
    return ""


def failures(
    variant: Variant, *, start: int = 0, stride: int = 1, routing: bool = False
) -> tuple[int, list[str]]:
    """How many checks an estimator was asked, and what it did not pass; every `stride`-th from `start`."""
    estimator = variant.make()
    asked, failed = 0, []
    for name, check in checks(estimator, routing=routing)[start % stride :: stride]:
        with warnings.catch_warnings(), sklearn.config_context(enable_metadata_routing=routing):
            warnings.simplefilter("error")
            for kind in (ConvergenceWarning, SkipTestWarning):
                warnings.simplefilter("ignore", kind)
            warnings.filterwarnings("ignore", ".* predicts one class only", UserWarning)  # labels are random
            if "output_transform" in name:  # a table is followed by an array
                warnings.filterwarnings("ignore", "X (has|does not have valid) feature names", UserWarning)
            asked += 1
            try:
                check()
            except SkipTest:
                asked -= 1
            except Exception as error:
                failed.append(f"{variant}: {name}: {type(error).__name__}: {str(error)[:300]}")
    return asked, failed


if __name__ == "__main__":
    found = [
        failures(Variant(name), start=place, stride=int(sys.argv[1]))
        for place, name in enumerate(everyone.NAMES)
    ]
    print(f"{sum(asked for asked, _ in found)} checks of {len(found)} estimators")
    sys.exit("\n".join(line for _, failed in found for line in failed) or 0)
