"""C headers answer what Python answers: every estimator, kernel, kind and number, compiled strictly and sanitized."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import c_programs
import everyone
import reference
from slimsvm import KernelExpansion, Model, to_c
from slimsvm.export.c.selftest import outputs_of_raw, size_of_outputs
from slimsvm.adapters.whole import as_model
from slimsvm.inputs import Inputs
from slimsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from slimsvm.probability import Probability
from slimsvm.projection import Projection
from slimsvm.readout import (
    DensityReadout,
    FeaturesReadout,
    InlierReadout,
    LargestReadout,
    SignReadout,
    ValueReadout,
    VotesReadout,
)
from slimsvm.rounding import NUMBERS

KERNELS = ("rbf", "laplacian", "linear", "poly", "sigmoid")
HARD = bool(os.environ.get("SLIMSVM_HARD"))
# Relative to the sum of the absolute terms of an output.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "int16": 2e-3, "int8": 1e-2, "int4": 1e-2}
# Kernel values as whole numbers.
VALUE_ERROR = {"int16": 2.0**-20, "int8": 2.0**-14, "int4": 2.0**-14}
# Products of whole numbers see the numbers of a row to 2^-30 of the largest among them.
LARGEST_IN_PRODUCTS = 1e5


def rows_for(T, real):
    """Ordinary rows, sentinels, outliers and the extremes of the type."""
    largest = np.finfo(np.float32 if real == "float" else np.float64).max
    rows = np.array(T, dtype=np.float64)
    far = np.tile(rows[:1], (6, 1))
    far[0, 0] = -9999.0
    far[1, -1] = 1e6
    far[2] = 1e9
    far[3, 0] = largest
    far[4] = -largest
    far[5, 0], far[5, -1] = largest, -largest
    return np.vstack([rows, far]).astype(np.float32 if real == "float" else np.float64).astype(np.float64)


def exact(header, raw):
    """Outputs in the longest floats there are, and the size of what was added up."""
    f = header.model.expansion.astype(np.float64)
    X = raw if f.projection is None else f.projection(raw)
    vectors = f.vectors.toarray() if hasattr(f.vectors, "toarray") else f.vectors
    with np.errstate(over="ignore", invalid="ignore"):
        K, size = reference.exact_values(f.kernel, X, vectors)
        coef = f.coef.astype(np.longdouble)
        return K @ coef + f.intercept, size @ np.abs(coef) + np.abs(f.intercept)


def distances(header):
    return isinstance(header.model.expansion.kernel, RBF | Laplacian)


def by_votes(header):
    return isinstance(header.model.readout, VotesReadout) and not header.model.readout.one_for_each_pair


def check(header, raw, found):
    """Scores, answers and probabilities are those of Python, as far as rounding allows."""
    assert found.selftest == 0, header
    where = f"{header}"
    outputs, size = exact(header, raw)
    fits = (size < 1e-3 * np.finfo(np.float32 if header.number != "float64" else np.float64).max).all(axis=1)
    if header.number in VALUE_ERROR and not (distances(header) and header.model.expansion.projection is None):
        fits &= np.abs(raw).max(axis=1) <= LARGEST_IN_PRODUCTS
    for part in (found.scores, found.predicted, found.probabilities):
        assert part is None or not np.isnan(part).any(), where
    outputs, size = outputs[fits].astype(np.float64), size[fits].astype(np.float64)
    readout, kind = header.model.readout, c_programs.kind_of_answer(header)
    error = TOLERANCE[header.number] * size + 1e-30
    if header.number in VALUE_ERROR:
        error += VALUE_ERROR[header.number] * np.abs(header.model.expansion.coef).sum(axis=0)
    dtype = np.float64 if header.number == "float64" else np.float32
    if not by_votes(header):
        worst = (np.abs(found.scores[fits] - outputs) / error).max(initial=0)
        assert worst <= 1, f"{where}: {worst}"
    if kind == "values":
        np.testing.assert_array_equal(found.predicted, found.scores if c_programs.several(header) else found.scores[:, :1])
    elif kind == "inlier":
        clear = np.abs(outputs[:, 0]) > np.maximum(error[:, 0], 1e-6)
        np.testing.assert_array_equal(found.predicted[fits][clear, 0], readout.answer(outputs)[clear])
    elif kind == "density":
        positive = found.scores[:, 0] > 1e-30
        np.testing.assert_allclose(
            found.predicted[positive, 0], np.log(found.scores[positive, 0]), rtol=1e-13 if dtype == np.float64 else 3e-6, atol=1e-6
        )
        assert (found.predicted[found.scores[:, 0] <= 0, 0] == -np.inf).all()
    else:
        check_classes(header, outputs, np.maximum(error, 1e-6), dtype, found, fits)


def check_classes(header, outputs, error, dtype, found, fits):
    readout = header.model.readout
    exact_winners = readout.winners(outputs.astype(dtype))
    if outputs.shape[1] > 1 and hasattr(readout, "half_digits"):
        ordered = -np.sort(-outputs, axis=1)
        level = (np.sqrt(np.finfo(dtype).eps) * 2 if readout.half_digits else 0) * np.maximum(1, np.abs(ordered[:, 0]))
        clear = ordered[:, 0] - ordered[:, 1] > 2 * error.max(axis=1) + level
    else:
        clear = (np.abs(outputs) > error).all(axis=1)
    np.testing.assert_array_equal(found.predicted[fits][clear, 0], exact_winners[clear], err_msg=str(header))
    loose = 20 * TOLERANCE[header.number] * (1 + np.abs(outputs[clear]).max(initial=0)) + 1e-13
    if by_votes(header):
        np.testing.assert_allclose(found.scores[fits][clear], readout.scores(outputs)[clear], atol=loose * 10)
    if found.probabilities is not None:
        wanted = readout.probabilities(outputs)
        P = found.probabilities[fits]
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)
        factor = max(1.0, readout.probability.factor)
        assert np.abs(P[clear] - wanted[clear]).max(initial=0) <= factor * loose * 10, header
        of_winner = P[np.arange(len(P)), found.predicted[fits][:, 0].astype(int)]
        np.testing.assert_array_equal(of_winner, P.max(axis=1))


def every_model(kernels=KERNELS):
    """Every estimator with every kernel it takes, for two classes and three (one target and two)."""
    for kernel in kernels:
        for name in everyone.NAMES:
            if name == "ZeroNormSelector" or (kernel != "rbf" and not everyone.has(name, "kernel")):
                continue
            for n_classes in (2, 3):
                X, y, _, T = everyone.data(name, n=40, n_classes=n_classes)
                options = {"kernel": kernel} if everyone.has(name, "kernel") else {}
                yield everyone.fit(name, X, y, **options), X, y, T


def headers_of(models, numbers):
    headers, rows = [], []
    for i, (model, X, y, T) in enumerate(models):
        for number in numbers(i):
            header = to_c(model, name=f"m{len(headers)}", number=number)
            headers.append(header)
            rows.append(rows_for(T, "double" if number == "float64" else "float"))
    return headers, rows


def answered(headers, rows, folder, command):
    """Compile, run, compare."""
    found = c_programs.run(headers, rows, folder, command)
    for header, raw, each in zip(headers, rows, found, strict=True):
        check(header, raw, each)
    return found


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_estimator_and_number(kernel, tmp_path):
    models = list(every_model([kernel]))
    assert len(models) > 40
    headers, rows = headers_of(models, lambda i: NUMBERS)
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O0"])
    # sanitizers and C++ take longer: each model in one number, unless there is time
    headers, rows = headers_of(models, lambda i: NUMBERS if HARD else [NUMBERS[i % 5]])
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])
    headers, rows = headers_of(models, lambda i: NUMBERS if HARD else [NUMBERS[(i // 5) % 5]])
    answered(headers, rows, tmp_path, [*c_programs.CPP, "-O1"])


# Models made by hand: what no estimator gives by chance


def made_readout(kind, k):
    """A readout and the number of outputs it takes."""
    softmax = Probability("softmax", 1.7, tuple(np.linspace(-2.0, 2.0, 4)))
    return {
        "sign": (SignReadout(np.array([-1, 1]), Probability("softmax", 2.0, 0.8)), 1),
        "zero": (SignReadout(np.array(["no", 'a "?" é']), Probability("logistic"), zero=1), 1),
        "normal": (SignReadout(np.array([False, True]), Probability("normal")), 1),
        "largest": (LargestReadout(np.arange(4), softmax), 4),
        "halves": (LargestReadout(np.array([0.5, 1.5, 2.5]), Probability("normal"), half_digits=True), 3),
        "logistic": (LargestReadout(np.array(list("abc")), Probability("logistic")), 3),
        "votes": (VotesReadout(np.arange(4), softmax), 6),
        "ties": (VotesReadout(np.arange(4), Probability("softmax", 3.0), break_ties=True), 6),
        "pairs": (VotesReadout(np.arange(4), one_for_each_pair=True), 6),
        "value": (ValueReadout(), 1),
        "values": (ValueReadout(one_target=False), 3),
        "inlier": (InlierReadout(0.3), 1),
        "density": (DensityReadout(), 1),
        "features": (FeaturesReadout(), 5),
    }[kind]


READOUTS = (
    "sign", "zero", "normal", "largest", "halves", "logistic", "votes", "ties", "pairs", "value", "values", "inlier",
    "density", "features",
)  # fmt: skip


def made_model(seed, readout, *, kernel="rbf", m=9, d=6, rank=None, offset=0.0, csr=False):
    """A random model, and rows near its vectors."""
    rng = np.random.default_rng(seed)
    readout, k = made_readout(readout, 0)
    width = d if rank is None else rank
    vectors = rng.standard_normal((m, width))
    gamma = rng.uniform(0.05, 0.5, width)
    gamma[rng.random(width) < 0.2] = 0.0
    gamma[0] = 0.3
    made = {
        "rbf": RBF(0.2), "widths": RBF(gamma), "laplacian": Laplacian(0.3), "laplacian widths": Laplacian(gamma),
        "linear": Linear(), "poly": Polynomial(0.2, 1.0, 3), "sigmoid": Sigmoid(0.1, -0.2), "narrow": RBF(1e-20),
        "wide": RBF(1e20),
    }[kernel]  # fmt: skip
    scale = {"narrow": 1e10, "wide": 1e-10}.get(kernel, 1.0)
    rows = rng.standard_normal((40, d))
    middle = offset * np.sign(rng.standard_normal(d))
    projection = None
    if rank is not None:
        matrix = rng.standard_normal((rank, d)) / np.sqrt(d)
        projection = Projection(matrix, matrix @ middle)
    else:
        vectors = vectors * scale + middle
    coef = rng.standard_normal((m, k))
    coef = np.abs(coef) if isinstance(readout, DensityReadout) else coef
    vectors = sparse.csr_array(np.where(rng.random(vectors.shape) < 0.4, 0.0, vectors)) if csr else vectors
    intercept = 0.0 * coef[:1].sum(axis=0) if isinstance(readout, DensityReadout) else rng.standard_normal(k)
    f = KernelExpansion(made, vectors, coef, intercept, projection)
    return Model(Inputs(d), f, readout), rows * scale + middle


def made_headers(cases, numbers=NUMBERS, **options):
    headers, rows = [], []
    for model, T in cases:
        for number in numbers:
            header = to_c(model, name=f"m{len(headers)}", number=number, **options)
            headers.append(header)
            rows.append(rows_for(T, "double" if number == "float64" else "float"))
    return headers, rows


def test_every_readout_kernel_and_projection(tmp_path):
    cases = [made_model(i, readout) for i, readout in enumerate(READOUTS)]
    cases += [made_model(20 + i, readout, rank=3) for i, readout in enumerate(READOUTS)]
    for i, kernel in enumerate(("widths", "laplacian", "laplacian widths")):
        cases += [made_model(40 + i, "largest", kernel=kernel), made_model(50 + i, "votes", kernel=kernel, rank=3)]
    cases += [made_model(60 + i, "values", kernel=kernel) for i, kernel in enumerate(("linear", "poly", "sigmoid"))]
    cases += [made_model(70, "sign", m=1), made_model(71, "sign", m=1, rank=2), made_model(72, "value", d=1)]
    cases += [made_model(80 + i, "largest", kernel=kernel, csr=True) for i, kernel in enumerate(("rbf", "widths", "poly"))]
    headers, rows = made_headers(cases)
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O0", *c_programs.SANITIZED])


def test_rows_far_from_the_origin(tmp_path):
    cases = [made_model(i, "largest", kernel=kernel, offset=1e4) for i, kernel in enumerate(("rbf", "widths", "laplacian", "linear", "poly"))]
    cases += [made_model(10 + i, "sign", kernel=kernel, rank=3, offset=1e4) for i, kernel in enumerate(("rbf", "widths", "laplacian"))]
    headers, rows = made_headers(cases)
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])


def test_very_narrow_and_very_wide_kernels(tmp_path):
    headers, rows = made_headers([made_model(1, "sign", kernel="narrow"), made_model(2, "sign", kernel="wide")])
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])
