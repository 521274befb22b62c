"""scikit-learn's own tests of its support vector machines, with other machines in their place.

The test modules are taken from the installed scikit-learn. `Shim` is what they call SVC or SVR: it takes
scikit-learn's parameters and fits one of ours. A statement that cannot hold for another machine is wrapped when the
module is compiled: it has to fail, and in the way its reason says.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

MODULES = ("test_svm", "test_sparse")
# Of a test with more arguments than this only so many are tried every day.
MOST_CASES = 8
# The seed that scikit-learn's own suite uses when none is asked for.
SEED = 42
# The same thing by another name.
RENAMED = {"tol": "kkt_tol"}
ATTRIBUTES = {"_gamma": "gamma_"}


class Shim(BaseEstimator):
    """One of our machines with the parameters of one of scikit-learn's.

    A parameter that is not at scikit-learn's default is handed on if ours has it; what says only how libsvm works or
    how it prints its answer (shrinking, the order of votes) has no counterpart.
    """

    theirs: type
    ours: type
    quick: dict[str, Any]
    made = 0  # machines of ours, of all shims together

    def machine(self) -> Any:
        """Our machine, not fitted."""
        Shim.made += 1
        known = inspect.signature(self.ours).parameters
        defaults = self.theirs().get_params()
        given = {
            name if name in known else RENAMED.get(name, name): value
            for name, value in self.get_params(deep=False).items()
            if value is not defaults[name] and value != defaults[name]
        }
        return self.ours(**{**self.quick, **{name: value for name, value in given.items() if name in known}})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Shim:
        self.machine_ = self.machine().fit(X, y, sample_weight=sample_weight)
        return self

    @property
    def coef_(self) -> Any:
        """The weights of the features, from vectors and coefficients."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is there for the linear kernel only")
        coef = self.dual_coef_ @ self.support_vectors_
        (coef.data if sparse.issparse(coef) else coef).flags.writeable = False
        return coef

    @property
    def dual_coef_(self) -> Any:
        """The coefficients, which scikit-learn stores as the vectors are stored."""
        coef = self.machine_.dual_coef_
        return sparse.csr_array(coef) if sparse.issparse(self.support_vectors_) else coef

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "machine_":
            raise AttributeError(name)
        machine = self.__dict__.get("machine_")
        return getattr(self.machine() if machine is None else machine, ATTRIBUTES.get(name, name))

    def __sklearn_tags__(self) -> Any:
        return self.machine().__sklearn_tags__()


def shim(theirs: type, ours: type, quick: dict[str, Any]) -> type:
    """The class that stands for scikit-learn's."""
    signature = inspect.signature(theirs.__init__)

    def __init__(self: Any, **given: Any) -> None:
        for name, parameter in list(signature.parameters.items())[1:]:
            setattr(self, name, given.pop(name, parameter.default))
        assert not given, given

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    name = theirs.__name__
    # an error of ours names the class it comes from
    renamed = type(name, (ours,), {})
    return type(name, (Shim,), {"__init__": __init__, "theirs": theirs, "ours": renamed, "quick": quick})


@dataclass(frozen=True)
class Exempt:
    """A statement of a test, or a whole test, that cannot hold for some machines, and how it fails."""

    test: str
    machines: tuple[str, ...]
    reason: str
    error: str  # a pattern for "Type: message"
    statement: str = ""  # as ast.unparse writes it; nothing: the whole test


class Wrapped(ast.NodeTransformer):
    """Puts the exempted statements of a module into `with cannot_hold(test, statement):`."""

    def __init__(self, exempt: list[Exempt]) -> None:
        self.exempt = exempt
        self.found: set[Exempt] = set()
        self.test = ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self.test = self.test, self.test or node.name
        self.found |= {exempt for exempt in self.exempt if (exempt.test, exempt.statement) == (node.name, "")}
        # the other marks are for scikit-learn's own configuration of pytest
        node.decorator_list = [
            mark for mark in node.decorator_list if ast.unparse(mark).startswith("pytest.mark.parametrize")
        ]
        node = self.generic_visit(node)  # type: ignore[assignment]
        self.test = outer
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        # one module takes a test of LinearSVC from the other
        return ast.copy_location(ast.Pass(), node) if node.module == "sklearn.svm.tests" else node

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt) and self.test:
            text = ast.unparse(node)
            here = {exempt for exempt in self.exempt if (exempt.test, exempt.statement) == (self.test, text)}
            if here:
                self.found |= here
                guard = ast.parse(f"with cannot_hold({self.test!r}, {text!r}): pass").body[0]
                guard.body = [_telling(node)]  # type: ignore[attr-defined]
                return ast.fix_missing_locations(ast.copy_location(guard, node))
        return super().visit(node)


def _telling(node: ast.stmt) -> ast.stmt:
    """An assertion that says its values when it fails: those compared, or what is false."""
    if isinstance(node, ast.Assert) and node.msg is None:
        test = node.test
        parts = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
        signs = [f" {_SIGNS[type(sign)]} " for sign in test.ops] if isinstance(test, ast.Compare) else []
        said = "".join(
            f"{{({ast.unparse(part)})!r}}{sign}"
            for part, sign in itertools.zip_longest(parts, signs, fillvalue="")
        )
        quoted = "f" + repr(said)
        node.msg = ast.parse(quoted, mode="eval").body
    return node


_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


@dataclass
class Run:
    """The tests of one module with one machine in place of scikit-learn's."""

    module: ModuleType
    replaced: dict[str, type]
    exempt: set[Exempt]  # of this module
    failed: dict[Exempt, int] = field(default_factory=dict)
    tests: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, test in vars(self.module).items():
            if name.startswith("test_") and inspect.isfunction(test) and (cases := list(self.cases(test))):
                self.tests[name] = cases

    def cases(self, test: Callable[..., None]) -> Iterator[dict[str, Any]]:
        """Arguments of a test as its marks say, where one of the machines replaced is used."""
        named = set(self.replaced) & set(test.__code__.co_names)
        choices = []
        for mark in getattr(test, "pytestmark", []):
            if mark.name == "parametrize":
                names = mark.args[0]
                names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
                rows = [value if len(names) > 1 else (value,) for value in mark.args[1]]
                choices.append([dict(zip(names, row, strict=True)) for row in rows])
        known = inspect.signature(test).parameters
        seed = {"global_random_seed": SEED} if "global_random_seed" in known else {}
        for parts in itertools.product(*choices):
            arguments = {name: value for part in parts for name, value in part.items()}
            values = list(arguments.values())
            if named or any(
                isinstance(v, Shim) or (isinstance(v, type) and issubclass(v, Shim)) for v in values
            ):
                yield {**arguments, **seed}

    def check(self, name: str, *, thin: bool) -> None:
        """Run a test with all its arguments, or some; what is exempted must fail with one of them."""
        test = getattr(self.module, name)
        cases = self.tests[name]
        before = Shim.made
        for arguments in cases[:: max(1, len(cases) // MOST_CASES)] if thin else cases:
            with warnings.catch_warnings():
                for kind in (ConvergenceWarning, FutureWarning):
                    warnings.simplefilter("ignore", kind)
                warnings.filterwarnings("ignore", "SVC predicts one class only", UserWarning)
                with self.cannot_hold(name):
                    test(**arguments)
        assert Shim.made > before, "none of our machines was used"
        for exempt in self.exempt:
            if exempt.test == name:
                assert self.failed.get(exempt), f"it holds, so it must not be exempted: {exempt}"

    @contextmanager
    def cannot_hold(self, test: str, statement: str = "") -> Iterator[None]:
        """Count a failure that was foreseen; raise any other."""
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            said = f"{type(error).__name__}: {error}"
            foreseen = [
                exempt
                for exempt in self.exempt
                if (exempt.test, exempt.statement) == (test, statement)
                and re.search(exempt.error, said, re.DOTALL)
            ]
            if not foreseen:
                raise
            for exempt in foreseen:
                self.failed[exempt] = self.failed.get(exempt, 0) + 1


def load(name: str, replaced: dict[str, type], exempt: list[Exempt]) -> Run:
    """A test module of scikit-learn's, compiled afresh around the machines given."""
    path = Path(svm.__file__).parent / "tests" / f"{name}.py"
    wrapped = Wrapped(exempt)
    tree = wrapped.visit(ast.parse(path.read_text(encoding="utf-8")))
    module = ModuleType(name)
    with pytest.MonkeyPatch.context() as patch:
        for their, ours in replaced.items():
            patch.setattr(svm, their, ours)
        exec(compile(tree, str(path), "exec"), vars(module))
    stand_in = ModuleType("svm")
    vars(stand_in).update({**vars(svm), **replaced})
    module.svm = stand_in  # type: ignore[attr-defined]
    run = Run(module, replaced, wrapped.found)
    module.cannot_hold = run.cannot_hold  # type: ignore[attr-defined]
    return run
