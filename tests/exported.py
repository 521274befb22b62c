"""Models for the exports, and what their answers must agree with: Python's own, in double precision.

Numbers agree up to a share of what is added up for them, sum_j |coef_j k_j| + |intercept|; labels wherever the margin
is larger than that and than 1e-6.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import everyone
import reference
from profiles import in_turns
from slimsvm import CompactSVC, CompactSVR, KernelExpansion, Model, TableEncoder, reduce
from slimsvm.adapters.whole import as_model
from slimsvm.inputs import Inputs
from slimsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from slimsvm.probability import Probability
from slimsvm.projection import Projection
from slimsvm.readout import DensityReadout, FeaturesReadout, LargestReadout, SignReadout, VotesReadout
from slimsvm.rows import dense

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
SURE_MARGIN = 1e-6
KERNELS = ("rbf", "laplacian", "linear", "poly", "sigmoid")
# Classes, or targets and one more.
TASKS = (2, 3)
# What has no expansion, or no such kernel.
NO_MODEL = ("ZeroNormSelector",)
ESTIMATORS = [name for name in everyone.NAMES if name not in NO_MODEL]


@dataclass(frozen=True, eq=False)
class Case:
    """A model and rows to answer."""

    name: str
    model: Model
    rows: Any
    estimator: Any = None


def fitted(name: str, kernel: str, X: Any, y: Any, **parameters: Any) -> Any:
    """A fitted estimator with a kernel, or None where it has no such kernel."""
    prefix = "estimator__" if name.startswith("Reduced") else ""
    if name == "SparseKernelDensity" or (prefix and kernel == "laplacian"):
        if kernel != "rbf":
            return None
        parameters = {}
    else:
        parameters = {f"{prefix}{key}": value for key, value in {"kernel": kernel, **parameters}.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some do not converge on a kernel that is not positive definite
        return everyone.make(name, **parameters).fit(X, y)


@functools.cache
def estimators() -> list[Case]:
    """Every estimator with every kernel, two classes and three, one target and two: in turns, or with HARD both."""
    found = []
    for name, kernel, n_classes in in_turns(itertools.product(ESTIMATORS, KERNELS), TASKS):
        X, y, _, T = everyone.data(name, n=40, n_classes=n_classes)
        estimator = fitted(name, kernel, X, y)
        if estimator is not None:
            found.append(Case(f"{name} {kernel} {n_classes}", as_model(estimator), T, estimator))
    return found


def _changed(rows: Any, change: str, rng: np.random.Generator) -> Any:
    rows = rows.copy()
    if change == "shifted":
        rows += 1e4
    elif change == "sentinels":
        rows[rng.random(len(rows)) < 0.3, 1] = -9999.0
    elif change == "outliers":
        rows[rng.random(len(rows)) < 0.1] *= 1e6
    return rows


@functools.cache
def hard() -> list[Case]:
    """Every estimator trained far from the origin, with sentinels and with outliers."""
    found = []
    for change in ("shifted", "sentinels", "outliers"):
        for name in ESTIMATORS:
            rng = np.random.default_rng(0)
            X, y, _, T = everyone.data(name, n=40)
            for kernel in KERNELS if name in ("FullSVC", "LSSVR") else ("rbf",):
                rows, others = (_changed(part, change, rng).astype(np.float32) for part in (X, T))
                options = {} if name.startswith("Compact") else {"gamma": 0.4 if kernel != "poly" else 1e-3}
                estimator = fitted(name, kernel, rows.astype(np.float64), y, **options)
                rows = np.vstack([others, rows[:10]])
                found.append(Case(f"{name} {kernel} {change}", as_model(estimator), rows, estimator))
    return found


@functools.cache
def projected() -> list[Case]:
    """Models behind a projection, trained and made."""
    found = []
    rng = np.random.default_rng(0)
    tasks = (
        (CompactSVC, lambda score: np.digitize(score, [-0.5, 0.5]), np.float64),
        (CompactSVC, lambda score: score > 0, np.float32),
        (CompactSVR, np.sin, np.float64),
    )
    for kind, target, dtype, offset in in_turns(tasks, (0.0, 1e4)):  # a second or two each
        X = (rng.standard_normal((80, 6)) + offset).astype(np.float32)
        c = X.astype(np.float64) - offset
        T = X[:20] + rng.standard_normal((20, 6)).astype(np.float32) / 4
        y = target(c[:, 0] + c[:, 1] + 0.1 * c[:, 2])
        model = kind(metric="linear", max_vectors=4, random_state=0).fit(X.astype(dtype), y)
        assert model.expansion_.projection is not None
        found.append(Case(f"{kind.__name__} projected {dtype.__name__} {offset}", model.model_, T, model))
    for kernel in (RBF((0.5, 2.0)), Laplacian(0.3)):
        f = KernelExpansion(
            kernel, rng.standard_normal((5, 2)), rng.standard_normal((5, 2)), [0.1, 0.2],
            Projection(rng.standard_normal((2, 4)), rng.standard_normal(2)),
        )  # fmt: skip
        found.append(Case(f"{kernel.name} made", as_model(f), rng.standard_normal((20, 4))))
    return found


def readouts() -> Iterator[Case]:
    """Every readout with every way to probabilities."""
    rng = np.random.default_rng(1)
    T = rng.standard_normal((40, 2))
    for classes in (["no", "yes"], [0, 1], [3, -7], [0.5, 1.5], [False, True]):
        f = KernelExpansion(RBF(0.7), rng.standard_normal((6, 2)), rng.standard_normal(6), 0.1)
        for zero in (0, 1):
            yield Case(
                f"sign {classes} {zero}", Model(Inputs(2), f, SignReadout(np.array(classes), zero=zero)), T
            )
    for log_unit in (0.0, -919.0, 789.5):
        f = KernelExpansion(RBF(0.7), rng.standard_normal((6, 2)), rng.random(6), 0.0)
        yield Case(f"density {log_unit}", Model(Inputs(2), f, DensityReadout(log_unit)), T)
    links = [
        Probability("logistic"), Probability("normal"), Probability("softmax"), Probability("softmax", 0.0),
        Probability("softmax", 2.5),
    ]  # fmt: skip
    for n_classes in (2, 3, 5):
        classes = np.array([f"class {c}" for c in range(n_classes)])
        k = 1 if n_classes == 2 else n_classes
        f = KernelExpansion(RBF(0.7), rng.standard_normal((6, 2)), rng.standard_normal((6, k)), np.zeros(k))
        offsets = (-0.8,) if n_classes == 2 else tuple(np.linspace(-1, 1, n_classes))
        for link in (*links, Probability("softmax", 1.5, offsets)):
            if n_classes == 2:
                made = [SignReadout(classes, link)]
            else:
                made = [LargestReadout(classes, link), LargestReadout(classes, link, half_digits=True)]
            for readout in made:
                yield Case(f"{readout} {link}", Model(Inputs(2), f, readout), T)
            if n_classes > 2:
                n_pairs = n_classes * (n_classes - 1) // 2
                pairs = KernelExpansion(
                    RBF(0.7),
                    rng.standard_normal((6, 2)),
                    rng.standard_normal((6, n_pairs)),
                    np.zeros(n_pairs),
                )
                for ties in (False, True):
                    for each in (False, True):
                        readout = VotesReadout(classes, link, break_ties=ties, one_for_each_pair=each)
                        yield Case(
                            f"votes {n_classes} {link} {ties} {each}", Model(Inputs(2), pairs, readout), T
                        )


def inputs() -> Iterator[tuple[Case, Any]]:
    """Pipelines that fold in, with the table of raw rows."""
    import pandas as pd

    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "size": rng.standard_normal(80) + 1e4,
            "kind": rng.choice(["a", "b", "<c>"], 80),
            "door": rng.integers(2, 5, 80).astype(float),
            "X": rng.choice(["yes", "no"], 80),
        }
    )
    y = (table["size"] > 1e4) ^ (table["kind"] == "a")
    for kernel in KERNELS[:1] + KERNELS[2:]:
        for columns in (["kind", "door", "X"], ["door"], ["kind"]):
            used = table[["size", *columns]]
            encoder = ColumnTransformer([("kind", OneHotEncoder(), columns)], remainder="passthrough")
            pipe = make_pipeline(encoder, StandardScaler(with_mean=False), SVC(kernel=kernel, gamma=0.3))
            # the sizes are small beside their mean: what is left after scaling is large
            used = used.assign(size=used["size"] - 9999.0)
            yield Case(f"{kernel} {columns}", as_model(pipe.fit(used, y)), used), used
    only = table[["kind", "X"]]
    pipe = make_pipeline(OneHotEncoder(), SVC(gamma=0.5)).fit(only, y)
    yield Case("texts only", as_model(pipe), only), only
    holes = table.assign(size=table["size"] - 9999.0, kind=table["kind"].astype(object))
    holes.loc[::7, "size"] = np.nan
    holes.loc[3::9, "door"] = np.nan
    holes.loc[5::11, "kind"] = None
    for kernel in ("rbf", "linear"):
        pipe = make_pipeline(TableEncoder(impute=True), StandardScaler(), SVC(kernel=kernel, gamma=0.3))
        yield Case(f"{kernel} with holes", as_model(pipe.fit(holes, y)), holes), holes
    some = holes[["size", "door"]].assign(size=table["size"] - 9999.0)
    imputer = ColumnTransformer([("door", SimpleImputer(), ["door"])], remainder="passthrough")
    pipe = make_pipeline(imputer, StandardScaler(), SVC(gamma=0.3)).fit(some, y)
    yield Case("holes in one column", as_model(pipe), some), some
    for scaler in (StandardScaler(), MinMaxScaler((-1, 1))):
        for kernel in KERNELS[:1] + KERNELS[2:]:
            X = (rng.standard_normal((60, 3)) * [1.0, 100.0, 1e-3] + [1e4, 0.0, 5.0]).astype(np.float32)
            label = X[:, 0] > X[:, 0].mean()
            pipe = make_pipeline(scaler, SVC(kernel=kernel)).fit(X.astype(np.float64), label)
            yield Case(f"{kernel} {scaler}", as_model(pipe), X), X
            small = reduce(pipe, X.astype(np.float64), label, max_vectors=5)
            yield Case(f"{kernel} {scaler} reduced", as_model(small), X), X


def odd() -> Iterator[Case]:
    """Models at the edges: no vectors, one vector, widths of zero, constant columns, CSR, many vectors."""
    from scipy import sparse

    rng = np.random.default_rng(3)
    T = rng.standard_normal((9, 3))
    for kernel in (
        RBF(1.0),
        Laplacian(1.0),
        Linear(),
        Polynomial(1.0, 1.0, 0),
        Polynomial(0.5, 1.0, 7),
        Sigmoid(0.2),
    ):
        for m in (0, 1):
            f = KernelExpansion(kernel, rng.standard_normal((m, 3)), rng.standard_normal((m, 2)), [0.5, -0.5])
            yield Case(f"{kernel} {m}", as_model(f), T)
    for gamma in ((1.0, 0.0, 2.0), (0.0, 0.0, 1e-9)):
        for kind in (RBF, Laplacian):
            Z = rng.standard_normal((8, 3))
            yield Case(
                f"{kind.__name__} {gamma}", as_model(KernelExpansion(kind(gamma), Z, np.ones(8), 0.0)), T
            )
    Z = sparse.random_array((12, 3), density=0.4, random_state=rng, format="csr")
    yield Case("csr", as_model(KernelExpansion(RBF(1.0), Z, np.ones(12), 0.0)), T)
    for kernel in (Laplacian(0.01), RBF(40.0)):  # so many that differences are taken row by row
        Z, wide = rng.standard_normal((300, 60)), rng.standard_normal((4, 60))
        f = KernelExpansion(kernel, Z, rng.standard_normal(300), 0.0)
        yield Case(f"wide {kernel.name}", as_model(f), np.vstack([wide, Z[:3] + 0.01]))
    f = KernelExpansion(RBF(3.0), rng.standard_normal((200, 2)) * 6, rng.standard_normal(200), 0.0)
    yield Case("many widths across", as_model(f), rng.standard_normal((50, 2)) * 6)


# ---------------------------------------------------------------------------- what agrees


def answers_of(model: Model, rows: Any) -> dict[str, Any]:
    """What Python says, in the words of the exports."""
    outputs, readout = model.outputs(rows), model.readout
    kind = type(readout).__name__
    if kind == "FeaturesReadout":
        return {"features": outputs}
    if kind == "ValueReadout":
        return {"value": readout.answer(outputs)}
    if kind == "DensityReadout":
        return {"log_density": readout.answer(outputs)}
    found = {"label": readout.answer(outputs), "scores": readout.scores(outputs)}
    if getattr(readout, "probability", None) is not None:
        found["probabilities"] = readout.probabilities(outputs)
    return found


def size(model: Model, rows: Any) -> Any:  # (n, n_outputs)
    """What is added up for each output, in absolute terms."""
    f = model.expansion
    x = np.asarray(dense(model.inputs(rows)), dtype=np.float64)
    if f.projection is not None:
        x = np.asarray(f.projection(x))
    _, terms = reference.exact_values(f.kernel, x, dense(f.vectors))
    coef = np.abs(f.coef.astype(np.longdouble))
    return (terms @ coef + np.abs(f.intercept)).astype(np.float64)


def margins(model: Model, outputs: Any) -> Any:  # (n,)
    """How far the outputs may move before the label changes."""
    if outputs.shape[1] == 1 or isinstance(model.readout, VotesReadout):
        return np.abs(outputs).min(axis=1)
    ordered = np.sort(outputs, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def check(case: Case, found: dict[str, Any], number: str, *, tolerance: float | None = None) -> None:
    """The answers agree with Python's."""
    rows = case.rows.astype(np.float64) if isinstance(case.rows, np.ndarray) else case.rows
    wanted = answers_of(case.model, rows)
    assert found.keys() == wanted.keys(), case.name
    share = TOLERANCE[number] if tolerance is None else tolerance
    with np.errstate(over="ignore"):
        error = share * size(case.model, rows)  # (n, n_outputs)
    outputs = case.model.outputs(rows)
    sure = margins(case.model, outputs) > np.maximum(SURE_MARGIN, 4 * error.max(axis=1))
    if getattr(case.model.readout, "half_digits", False):
        sure &= margins(case.model, outputs) > 1e-3
    votes = isinstance(case.model.readout, VotesReadout)
    for name, answer in wanted.items():
        got, where = np.asarray(found[name]), f"{case.name}, {number}: {name}"
        assert got.shape == answer.shape, where
        if name == "label":
            assert (got[sure] == answer[sure]).all(), where
            continue
        assert not np.isnan(got.astype(np.float64)).any(), where
        if name == "probabilities":
            factor = max(1.0, case.model.readout.probability.factor)
            limit = 4 * share + 4 * factor * error.max(axis=1, keepdims=True)
            assert (np.abs(got - answer) <= limit)[sure].all(), where
            winner = np.array([list(case.model.readout.classes).index(label) for label in found["label"]])
            if case.model.readout.probability.link == "softmax":
                assert (got.argmax(axis=1) == winner).all(), where
                others = got.copy()
                others[np.arange(len(got)), winner] = -1
                assert (others.max(axis=1) < got[np.arange(len(got)), winner]).all(), where
        elif name == "log_density":
            lowest = case.model.readout.log_unit + np.log(np.finfo(number).tiny) + 5
            visible = np.isfinite(answer) & (answer > lowest)
            assert visible.any(), where
            got, answer = got[visible], answer[visible]
            assert (np.abs(got - answer) <= 4 * share * (1 + np.abs(answer))).all(), where
        elif votes and name == "scores" and not case.model.readout.one_for_each_pair:
            assert np.abs(got - answer)[sure].max(initial=0) <= 4 * share + 4 * error.max(), where
        else:
            limit = error if answer.ndim == 2 else error[:, 0]
            worst = np.abs(got - answer) / (limit + 1e-300)
            assert worst.max() <= 1, f"{where}: {worst.max():.3g} times the tolerance"


def features(kernel: Any, vectors: Any, coef: Any, intercept: Any) -> Model:
    """A model whose answers are its outputs."""
    f = KernelExpansion(kernel, vectors, coef, intercept)
    return Model(Inputs(f.n_features), f, FeaturesReadout())
