"""C headers answer what Python answers: every estimator, kernel, kind and number, compiled strictly and sanitized."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import c_programs
import c_reference
import exported
import reference
from profiles import HARD, hard
from slimsvm import LSSVC, LSSVR, CompactSVC, FixedSizeLSSVC, KernelExpansion, Model, to_c
from slimsvm.budget import stored_bytes
from slimsvm.datasets import make_banana
from slimsvm.export.c.inputs import raw_numbers
from slimsvm.export.c.selftest import outputs_of_raw, size_of_outputs
from slimsvm.export.c.text import BYTES
from slimsvm.export.c.whole import MOVES
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
from slimsvm.rounding import NUMBERS, rounded

# at the end: no script may hide a module of the same name
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import c_metal

KERNELS = ("rbf", "laplacian", "linear", "poly", "sigmoid")
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


def double_of_image(header, raw):  # (n, 1)
    """What sums in double precision leave of the image of a row, relative to kernel values; Python has them too."""
    f = header.model.expansion
    if f.projection is None:
        return 0.0
    rows = np.minimum(np.abs(raw), 1e5)  # beyond, nothing is left to be wrong
    sums = (rows @ np.abs(f.projection.matrix.astype(np.float64)).T).max(axis=1, keepdims=True)
    return 20 * np.finfo(np.float64).eps * sums * np.sqrt(np.max(f.kernel.gamma))


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
    error = (TOLERANCE[header.number] + double_of_image(header, raw[fits])) * size + 1e-30
    if header.number in VALUE_ERROR:
        error += VALUE_ERROR[header.number] * np.abs(header.model.expansion.coef).sum(axis=0)
    dtype = np.float64 if header.number == "float64" else np.float32
    if not by_votes(header):
        worst = (np.abs(found.scores[fits] - outputs) / error).max(initial=0)
        assert worst <= 1, f"{where}: {worst}"
    if kind == "values":
        np.testing.assert_array_equal(
            found.predicted, found.scores if c_programs.several(header) else found.scores[:, :1]
        )
    elif kind == "inlier":
        clear = np.abs(outputs[:, 0]) > np.maximum(error[:, 0], 1e-6)
        np.testing.assert_array_equal(found.predicted[fits][clear, 0], readout.answer(outputs)[clear])
    elif kind == "density":
        positive = found.scores[:, 0] > 1e-30
        np.testing.assert_allclose(
            found.predicted[positive, 0],
            np.log(found.scores[positive, 0]) + readout.log_unit,
            rtol=1e-13 if dtype == np.float64 else 3e-6,
            atol=1e-6,
        )
        assert (found.predicted[found.scores[:, 0] <= 0, 0] == -np.inf).all()
    else:
        check_classes(header, outputs, np.maximum(error, 1e-6), dtype, found, fits)


def check_classes(header, outputs, error, dtype, found, fits):
    readout = header.model.readout
    exact_winners = readout.winners(outputs.astype(dtype))
    if outputs.shape[1] > 1 and hasattr(readout, "half_digits"):
        ordered = -np.sort(-outputs, axis=1)
        level = (np.sqrt(np.finfo(dtype).eps) * 2 if readout.half_digits else 0) * np.maximum(
            1, np.abs(ordered[:, 0])
        )
        clear = ordered[:, 0] - ordered[:, 1] > 2 * error.max(axis=1) + level
    else:
        clear = (np.abs(outputs) > error).all(axis=1)
        if getattr(readout, "break_ties", False):  # Python squeezes sums, C compares them as they are
            clear &= np.abs(outputs).max(axis=1) < 1e12
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
        if readout.probability.link == "softmax":  # it is ahead, if by one digit only
            np.testing.assert_array_equal((P == of_winner[:, None]).sum(axis=1), 1)


def headers_of(kernel):
    """Every estimator with a kernel, with rows for each: in all five numbers, or in turns, another with each kernel."""
    headers, rows = [], []
    for case in exported.estimators():
        name, used, _ = case.name.rsplit(" ", 2)
        turn = exported.ESTIMATORS.index(name) + KERNELS.index(kernel)
        for number in (NUMBERS if HARD else [NUMBERS[turn % len(NUMBERS)]]) if used == kernel else ():
            headers.append(to_c(case.estimator, name=f"m{len(headers)}", number=number))
            rows.append(rows_for(case.rows, "double" if number == "float64" else "float"))
    return headers, rows


def answered(headers, rows, folder, command):
    """Compile, run, compare."""
    found = c_programs.run(headers, rows, folder, command)
    for header, raw, each in zip(headers, rows, found, strict=True):
        check(header, raw, each)
    return found


def answered_in_turns(headers, rows, folder):
    """All strictly as C99; each model in one number under sanitizers and as C++, which take longer, or in all."""
    numbers = np.arange(len(headers))
    sanitized = np.full(len(headers), True) if HARD else (numbers // 5) % 5 == numbers % 5
    in_cpp = np.full(len(headers), True) if HARD else (numbers // 25) % 5 == numbers % 5
    for chosen, command in (
        (~sanitized, [*c_programs.C99, "-O0"]),
        (sanitized, [*c_programs.C99, "-O1" if HARD else "-O0", *c_programs.SANITIZED]),
        (in_cpp, [*c_programs.CPP, "-O0"]),
    ):
        some = np.flatnonzero(chosen)
        if not some.size:
            continue
        answered([headers[i] for i in some], [rows[i] for i in some], folder, command)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_estimator_and_number(kernel, tmp_path):
    headers, rows = headers_of(kernel)
    assert len(headers) >= (200 if HARD else 25)
    assert {header.number for header in headers} == set(NUMBERS)
    answered_in_turns(headers, rows, tmp_path)


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
        "density far away": (DensityReadout(-919.0), 1),
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
        cases += [
            made_model(40 + i, "largest", kernel=kernel),
            made_model(50 + i, "votes", kernel=kernel, rank=3),
        ]
    cases += [made_model(16, "density far away"), made_model(36, "density far away", rank=3)]
    cases += [
        made_model(60 + i, "values", kernel=kernel) for i, kernel in enumerate(("linear", "poly", "sigmoid"))
    ]
    cases += [made_model(70, "sign", m=1), made_model(71, "sign", m=1, rank=2), made_model(72, "value", d=1)]
    cases += [
        made_model(80 + i, "largest", kernel=kernel, csr=True)
        for i, kernel in enumerate(("rbf", "widths", "poly"))
    ]
    headers, rows = made_headers(cases)
    answered_in_turns(headers, rows, tmp_path)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_rows_behind_a_projection_move_by_no_more_than_their_grid_allows(offset, tmp_path):
    options = {"m": 5, "d": 38, "rank": 4, "offset": offset}
    made = itertools.product(range(3000, 3003), ("density", "value"), ("rbf", "widths", "laplacian"))
    cases = [made_model(seed, readout, kernel=kernel, **options) for seed, readout, kernel in made]
    headers, rows = made_headers(cases, ("int16", "int8", "int4"))
    found = c_programs.run(headers, rows, tmp_path, [*c_programs.C99, "-O1"])
    for header, raw, each in zip(headers, rows, found, strict=True):
        outputs, size = exact(header, raw)
        usual = np.abs(raw).max(axis=1) <= LARGEST_IN_PRODUCTS
        # no kernel is steeper than one
        most = (MOVES + VALUE_ERROR[header.number]) * np.abs(header.model.expansion.coef).sum(axis=0)
        most = most + (TOLERANCE["float32"] + double_of_image(header, raw)) * size
        assert (np.abs(each.scores - outputs) <= most)[usual].all(), f"{header}"


def test_rows_far_from_the_origin(tmp_path):
    cases = [
        made_model(i, "largest", kernel=kernel, offset=1e4)
        for i, kernel in enumerate(("rbf", "widths", "laplacian", "linear", "poly"))
    ]
    cases += [
        made_model(10 + i, "sign", kernel=kernel, rank=3, offset=1e4)
        for i, kernel in enumerate(("rbf", "widths", "laplacian"))
    ]
    headers, rows = made_headers(cases)
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O0", *c_programs.SANITIZED])


def test_headers_answer_on_a_64_bit_arm(tmp_path):
    cases = [made_model(i, readout, rank=3 if i % 2 else None) for i, readout in enumerate(READOUTS)]
    cases += [
        made_model(30 + i, "largest", kernel=kernel, offset=1e4 if i % 2 else 0.0)
        for i, kernel in enumerate(("widths", "laplacian", "linear", "poly", "sigmoid"))
    ]
    headers, rows = made_headers(cases)
    # GNU's C, optimised, contracts products and sums
    options = ["-std=gnu11", "-O2"] if HARD else ["-O0"]
    answered(headers, rows, tmp_path, [*c_programs.AARCH64, *options])


def test_very_narrow_and_very_wide_kernels(tmp_path):
    headers, rows = made_headers(
        [made_model(1, "sign", kernel="narrow"), made_model(2, "sign", kernel="wide")]
    )
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O0", *c_programs.SANITIZED])


@hard
@pytest.mark.parametrize("seed", range(4))
def test_models_made_at_random(seed, tmp_path):
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(60):
        kernel = rng.choice(["rbf", "widths", "laplacian", "laplacian widths", "linear", "poly", "sigmoid"])
        products = kernel in ("linear", "poly", "sigmoid")
        d, m = rng.integers(1, 80), rng.integers(1, 60)
        rank = None if products or rng.random() < 0.5 else int(rng.integers(1, min(6, d + 1)))
        offset = rng.choice([0.0, 1.0] if products else [0.0, 1.0, 100.0, 1e4])
        csr = rank is None and offset == 0 and rng.random() < 0.3
        options = {"kernel": kernel, "m": m, "d": d, "rank": rank, "offset": offset, "csr": csr}
        cases.append(made_model(1000 * seed + i, rng.choice(READOUTS), **options))
    headers, rows = made_headers(cases)
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])


# Whole numbers


@pytest.mark.parametrize("number", ["int16", "int8", "int4"])
def test_whole_numbers_are_those_of_the_reference(number, tmp_path):
    kinds = ("value", "values", "inlier", "largest", "density")
    kernels = ("rbf", "widths", "laplacian", "poly", "sigmoid", "linear")
    cases = [made_model(i, kinds[i % 5], kernel=kernel, d=5 + i) for i, kernel in enumerate(kernels)]
    cases += [
        made_model(20 + i, kinds[i], kernel=kernel, rank=3, d=40) for i, kernel in enumerate(kernels[:3])
    ]
    cases += [made_model(30, "largest", d=300), made_model(31, "largest", d=300, rank=4, offset=50.0)]
    headers, rows = made_headers(cases, [number])
    for header, raw, found in zip(
        headers, rows, answered(headers, rows, tmp_path, [*c_programs.C99, "-O2"]), strict=True
    ):
        ordinary = np.abs(raw).max(axis=1) <= LARGEST_IN_PRODUCTS
        f = header.model.expansion
        fine = isinstance(header.model.readout, DensityReadout)
        wanted = c_reference.outputs(rounded(f, number), raw[ordinary], fine)
        size = (
            np.abs(f.coef).sum(axis=0) + np.abs(f.intercept)
            if distances(header)
            else exact(header, raw)[1][ordinary]
        )
        assert (np.abs(found.scores[ordinary] - wanted) <= 2e-6 * size).all(), header
    assert len(headers) == 11


# Bytes


def compiled(header, command):
    c_programs.tool(command[0])
    return c_metal.sections(header.source, header.name, command)


@pytest.fixture(scope="module")
def digits():
    """Ten digits in two kilobytes, and rows that were not trained with."""
    X, y = load_digits(return_X_y=True)
    X, T, y, t = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    return CompactSVC(max_bytes=2048, number="int8", random_state=0).fit(X, y), T, t


@pytest.mark.parametrize("number", NUMBERS)
def test_the_flash_is_what_the_budget_counts(number):
    for i, (kernel, rank) in enumerate(
        [("rbf", None), ("widths", None), ("rbf", 3), ("laplacian", 2), ("widths", 3)]
    ):
        model, _ = made_model(i, "largest", kernel=kernel, rank=rank, d=7)
        header = to_c(model, number=number)
        assert (
            header.flash_bytes
            == stored_bytes(model.expansion, number)
            == rounded(model.expansion, number).nbytes
        )
        sizes = header.source.split("#ifdef MODEL_SELFTEST")[0]
        declared = re.findall(r"static const (\w+) model_(\w+)\[(\d+)\]", sizes)
        total = sum(
            BYTES[kind] * int(n) for kind, what, n in declared if what not in ("labels", "probability")
        )
        assert total == header.flash_bytes


@pytest.mark.parametrize("number", ["float32", "int8", "int4"])
def test_flash_and_ram_are_what_the_compilers_give(number, tmp_path):
    model, _ = made_model(5, "largest", m=40, d=30)
    header = to_c(model, number=number, progmem=True)
    for command in (c_metal.CORTEX_M3, c_metal.ATMEGA, c_metal.HOST):
        made = compiled(header, command)
        padding = 32 * 5 if command is c_metal.HOST else 0  # x86 begins each table at a multiple of 32 bytes
        assert abs(made.constants - header.flash_bytes) <= 0.05 * header.flash_bytes + padding, command[0]
        assert 0 < made.code < 3000
    stack = c_metal.stack_bytes(header.source, header.name, c_metal.CORTEX_M3)
    assert header.ram_bytes <= stack <= header.ram_bytes + 80  # registers and loop variables


def test_a_model_of_so_many_bytes_ships_in_so_many_bytes(digits):
    model, T, _ = digits
    header = to_c(model, name="digits", number="int8")
    assert header.flash_bytes == stored_bytes(model.expansion_, "int8") <= 2048
    np.testing.assert_array_equal(header.model.expansion.coef, model.expansion_.coef)
    np.testing.assert_array_equal(header.model(T), model.predict(T))
    made = compiled(header, c_metal.CORTEX_M3)
    assert abs(made.constants - header.flash_bytes) <= 0.05 * header.flash_bytes
    assert made.constants <= 2048


# On the metal


@pytest.mark.parametrize("exp", ["libm", "table"])
def test_digits_on_a_cortex_m3(digits, exp, capsys):
    c_programs.tool("arm-none-eabi-gcc"), c_programs.tool("qemu-system-arm")
    model, T, t = digits
    header = to_c(model, name="digits", number="int8", exp=exp)
    found, instructions = c_metal.on_cortex_m3(header.source, "digits", T)
    np.testing.assert_array_equal(found, model.predict(T))
    assert np.mean(found == t) >= 0.97
    assert 10_000 < instructions < 100_000
    with capsys.disabled():
        print(f"\nCortex-M3, exp={exp!r}: {instructions:,.0f} instructions for a digit")


@pytest.mark.parametrize(
    "command", [c_metal.CORTEX_M3, c_metal.ATMEGA, ["clang", *c_programs.C99[1:], "-O0"]]
)
def test_headers_compile_for_other_processors_too(command, tmp_path):
    c_programs.tool(command[0])
    cases = [made_model(i, kind, rank=3 if i % 2 else None, d=20)[0] for i, kind in enumerate(READOUTS)]
    cases += [
        made_model(30 + i, "votes", kernel=kernel)[0]
        for i, kernel in enumerate(("widths", "poly", "sigmoid"))
    ]
    text = ""
    for i, model in enumerate(cases):
        for number in ("float32", "int16", "int8", "int4"):
            name = f"m{i}_{number}"
            exp = "table" if i % 2 else "libm"
            source = to_c(
                model, tmp_path / f"{name}.h", name=name, number=number, exp=exp, progmem=i % 3 == 0
            ).source
            ask = f"{name}_scores(x, out);" + (
                f" {name}_probabilities(x, out);" if f"{name}_prob" in source else ""
            )
            head = f"void run_{name}(const float *x, float *out)"
            text += f'#include "{name}.h"\n{head};\n{head} {{ {ask} }}\n'
    (tmp_path / "all.c").write_text(text)
    subprocess.run([*command, "-c", str(tmp_path / "all.c"), "-o", str(tmp_path / "all.o")], check=True)


def test_digits_on_an_atmega(digits, capsys):
    c_programs.tool("avr-gcc")
    header = to_c(digits[0], name="digits", number="int8", exp="table", progmem=True)
    flash, ram = c_metal.program_size(header.source, "digits", c_metal.ATMEGA)
    assert header.flash_bytes < flash < 8192
    assert ram < 512
    with capsys.disabled():
        print(f"\nATmega328P: {flash:,d} bytes of flash, {ram} bytes of RAM for the whole program")


# Options


@pytest.mark.parametrize("number", ["float32", "int8"])
def test_a_table_for_exponentials(number, tmp_path):
    cases = [made_model(i, kind) for i, kind in enumerate(("sign", "largest", "votes", "inlier"))]
    cases += [
        made_model(8, "value", kernel="sigmoid"),
        made_model(9, "normal"),
        made_model(10, "value", kernel="laplacian"),
    ]
    headers, rows = made_headers(cases, [number], exp="table")
    assert not any("expf(" in header.source for header in headers)
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])


def test_tables_in_the_flash_of_an_avr_are_plain_tables_elsewhere(tmp_path):
    cases = [made_model(1, "largest"), made_model(2, "votes", rank=3), made_model(3, "values", kernel="poly")]
    headers, rows = made_headers(cases, progmem=True)
    answered(headers, rows, tmp_path, [*c_programs.C99, "-O1"])


def test_an_answer_may_be_none(tmp_path):
    kinds = {"sign": 0.7, "largest": 0.5, "votes": 0.6, "pairs": 3.245, "zero": 0.85}
    models = {kind: made_model(i, kind) for i, kind in enumerate(kinds)}
    bare = replace(models["largest"][0].readout, probability=None)
    models["bare"] = (replace(models["largest"][0], readout=bare), models["largest"][1])
    kinds["bare"] = 0.7
    headers, labels = [], []
    for kind, threshold in kinds.items():
        model, T = models[kind]
        labels.append(model.readout.classes[np.arange(len(T)) % len(model.readout.classes)])
        options = {"name": f"m{len(headers)}", "number": "float64", "threshold": threshold}
        headers.append(to_c(model, X=T, y=labels[-1], **options))
    rows = [models[kind][1] for kind in kinds]
    answers = c_programs.run(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])
    for (kind, threshold), header, y, found in zip(kinds.items(), headers, labels, answers, strict=True):
        model, T = models[kind]
        outputs = model.expansion(T)
        winners = model.readout.winners(outputs)
        if model.readout.probability is not None:
            sure = model.readout.probabilities(outputs).max(axis=1)
        elif kind == "pairs":
            sure = model.readout.by_class(outputs)[np.arange(len(T)), winners]
        else:
            sure = outputs.max(axis=1)
        clear = np.abs(sure - threshold) > 1e-9
        np.testing.assert_array_equal(
            found.predicted[clear, 0], np.where(sure < threshold, -1, winners)[clear]
        )
        assert 0 < np.mean(sure < threshold) < 1, kind
        assert header.answered == pytest.approx(np.mean(sure >= threshold))
        assert header.score == pytest.approx(
            np.mean((model.readout.classes[winners] == y)[sure >= threshold])
        )
        assert f"of the {header.answered:.1%} that are answered" in header.source


# Inputs


def test_scalers_and_categories_are_folded_in(tmp_path):
    rng = np.random.default_rng(0)
    n = 80
    table = pd.DataFrame({
        "length": rng.normal(1e4, 0.01, n), "colour": rng.choice(["red", "green", "blue"], n),
        "width": rng.normal(-3.0, 50.0, n), "code": rng.choice([3, 7], n),
    })  # fmt: skip
    y = (table["length"] > 1e4) ^ (table["colour"] == "red")
    scaled = ColumnTransformer([
        ("numbers", StandardScaler(), ["length", "width"]),
        ("text", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ("codes", OneHotEncoder(drop="first"), ["code"]),
    ])  # fmt: skip
    fitted = make_pipeline(scaled, SVC()).fit(table, y)
    headers, rows = [], []
    for number in ("float64", "float32", "int8"):
        header = to_c(fitted, X=table, name=f"m{len(headers)}", number=number)
        real = np.float64 if number == "float64" else np.float32
        headers.append(header)
        rows.append(raw_numbers(header.model.inputs, table).astype(real).astype(np.float64))
    assert "x[1] colour: 0 = blue, 1 = green, 2 = red; other numbers: none of them" in headers[0].source
    found = c_programs.run(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])
    for header, raw, each in zip(headers, rows, found, strict=True):
        wanted = outputs_of_raw(header.model, raw)
        error = TOLERANCE[header.number] * size_of_outputs(header.model, raw)
        assert (np.abs(each.scores - wanted) <= error).all(), header
        assert each.selftest == 0
    np.testing.assert_allclose(found[0].scores[:, 0], fitted.decision_function(table), atol=1e-9)


def test_something_is_put_in_the_place_of_missing_values(tmp_path):
    cases = [(case, table) for case, table in exported.inputs() if "holes" in case.name]
    headers = [to_c(case.model, name=f"m{i}", number="float64") for i, (case, _) in enumerate(cases)]
    rows = [raw_numbers(case.model.inputs, table) for case, table in cases]
    assert all(np.isnan(raw).any() for raw in rows)
    answers = c_programs.run(headers, rows, tmp_path, [*c_programs.C99, "-O1", *c_programs.SANITIZED])
    for (case, table), found in zip(cases, answers, strict=True):
        np.testing.assert_allclose(found.scores[:, 0], case.model.outputs(table)[:, 0], atol=1e-9)
        assert found.selftest == 0


def test_names_cannot_leave_their_place(tmp_path):
    X, y = make_banana(60, random_state=0)
    names = ["a */ int x = 1; /*", "b *\\\n/ \\"]
    classes = np.array(['no"; int y; "', "ja\\\n??/é%s"])
    fitted = SVC().fit(pd.DataFrame(X, columns=names), classes[(y > 0).astype(int)])
    headers = [to_c(fitted, name="m0"), to_c(fitted, name="m1", number="int8")]
    for command in (c_programs.C99, c_programs.CPP):
        found = c_programs.run(headers, [X, X], tmp_path, [*command, "-O0"])
        np.testing.assert_array_equal(
            fitted.classes_[found[0].predicted[:, 0].astype(int)],
            fitted.predict(pd.DataFrame(X, columns=names)),
        )
    (tmp_path / "print.c").write_text(
        '#include <stdio.h>\n#include "m0.h"\nint main(void) {\n'
        "    return puts(m0_class_names[0]) < 0 || puts(m0_class_names[1]) < 0;\n}\n"
    )
    subprocess.run(
        [*c_programs.C99, str(tmp_path / "print.c"), "-o", str(tmp_path / "print"), "-lm"], check=True
    )
    shown = subprocess.run([str(tmp_path / "print")], capture_output=True, check=True).stdout.decode()
    assert shown == "".join(f"{name}\n" for name in fitted.classes_)


# Finished at their final width


def test_coefficients_are_solved_again_for_rounded_vectors():
    X, y = make_banana(400, random_state=0)
    T, t = make_banana(2000, random_state=1)
    model = FixedSizeLSSVC(C=10, n_vectors=16, random_state=0).fit(X, y)
    plain, again = to_c(model, number="int4"), to_c(model, X=X, y=y, number="int4")
    assert np.mean(again.model(T) == t) > np.mean(plain.model(T) == t) + 0.1
    assert again.score == np.mean(again.model(X) == y)
    assert f"right answers {again.score:.4f}" in again.source
    assert again.flash_bytes == plain.flash_bytes
    outputs = to_c(LSSVR(C=10).fit(X, T[:400, 0]), X=X, y=T[:400, 0], number="int8")
    assert outputs.score is not None


def test_a_linear_machine_is_its_weights():
    X, y = make_banana(200, random_state=0)
    model = SVC(kernel="linear").fit(X, y)
    header = to_c(model)
    assert header.model.expansion.n_vectors == 1
    np.testing.assert_allclose(header.model.expansion(X)[:, 0], model.decision_function(X), atol=1e-5)


# The file, and what is refused


def test_the_selftest_finds_a_wrong_number(tmp_path):
    c_programs.tool("gcc")
    model, T = made_model(3, "largest")
    source = to_c(model, X=T, number="float32").source
    for text, wanted in ((source, 0), (source.replace("model_intercept[o]", "model_intercept[0]"), 1)):
        (tmp_path / "model.h").write_text(text)
        (tmp_path / "main.c").write_text('#include "model.h"\nint main(void) { return model_selftest(); }\n')
        command = ["gcc", "-DMODEL_SELFTEST", str(tmp_path / "main.c"), "-o", str(tmp_path / "main"), "-lm"]
        subprocess.run(command, check=True)
        assert subprocess.run([str(tmp_path / "main")]).returncode == wanted


def test_the_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    model, _ = made_model(3, "largest")
    path = tmp_path / "digits.h"
    header = to_c(model, path, name="digits")
    assert path.read_text() == header.source
    assert header.source.isascii()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        to_c(model, path, name="other")
    assert path.read_text() == header.source
    assert [each.name for each in tmp_path.iterdir()] == ["digits.h"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "two words"}, "name must be a name in C"),
        ({"name": "while"}, "name must be a name in C"),
        ({"number": "int3"}, "number must be one of"),
        ({"exp": "fast"}, "exp must be"),
        ({"exp": "table", "number": "float64"}, "take 'libm'"),
        ({"threshold": np.nan}, "threshold must be a finite number"),
        ({"y": [1]}, "y is given without X"),
        ({"X": np.zeros((3, 6)), "y": [1]}, "y has 1 entries, but X has another number of rows"),
    ],
)
def test_what_is_refused_is_said_in_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        to_c(made_model(3, "largest")[0], **options)


def test_functions_and_precomputed_kernels_are_refused():
    X, y = make_banana(60, random_state=0)
    for model in (LSSVC(kernel=lambda a, b: a @ b.T).fit(X, y), SVC(kernel="precomputed").fit(X @ X.T, y)):
        with pytest.raises(ValueError, match="to_c writes the kernels rbf, laplacian"):
            to_c(model)
    with pytest.raises(ValueError, match="threshold is for models that answer with classes"):
        to_c(LSSVR().fit(X, X[:, 0]), threshold=0.5)


def test_one_row_takes_less_than_a_microsecond(tmp_path):
    c_programs.tool("gcc")
    model, T = made_model(0, "largest", m=10, d=20)
    assert c_metal.microseconds(to_c(model).source, "model", T[0]) < 1.0
