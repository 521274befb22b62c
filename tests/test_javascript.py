"""ES modules answer in node as Python does: every estimator, kernel, readout, input and number format."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exported
from exported import Case, answers_of, check
from far_row_checks import DISTANCES, PRODUCTS, blocks, error_of, fits, model
from reference import exact_values
from slimsvm import LSSVC, EmpiricalSVC, KernelExpansion, Model, to_js
from slimsvm.datasets import make_banana
from slimsvm.inputs import Column, Inputs
from slimsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from slimsvm.probability import Probability
from slimsvm.projection import Projection
from slimsvm.readout import LargestReadout, SignReadout, ValueReadout, VotesReadout
from slimsvm.rounding import NUMBERS, rounded

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
MOST_CODE = 3000
# Sums in another order, exp and pow of another library.
TOLERANCE = 1e-12

# Answers to all rows of all modules, as JSON; numbers that JSON does not have, as texts.
DRIVER = """
import fs from "node:fs";
const text = (key, value) => (typeof value === "number" && !isFinite(value) ? String(value) : value);
const jobs = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const found = [];
for (const { module, rows } of jobs) {
  const model = await import(module);
  const asked = ["predict", "scores", "probabilities"].filter((name) => name in model);
  const ask = (name, row) => {
    try {
      return model[name](row);
    } catch (error) {
      return { error: error.message };
    }
  };
  found.push({
    exports: Object.keys(model), classes: model.classes, featureNames: model.featureNames,
    answers: Object.fromEntries(asked.map((name) => [name, rows.map((row) => ask(name, row))])),
  });
}
console.log(JSON.stringify(found, text));
"""


def in_node(jobs, folder: Path):
    """What modules say to rows: one process for all of them."""
    (folder / "driver.mjs").write_text(DRIVER)
    described = []
    for i, (text, rows) in enumerate(jobs):
        (folder / f"m{i}.mjs").write_text(text)
        described.append({"module": f"./m{i}.mjs", "rows": rows})
    (folder / "jobs.json").write_text(json.dumps(described))
    done = subprocess.run(
        [str(NODE), "driver.mjs", "jobs.json"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def code_of(text: str) -> str:
    """A module without its numbers, names and labels."""
    text = re.sub(r'\b(numbers|nibbles)\("[^"]*"', r"\1(", text)
    named = r"^((?:(?:export )?const )?(?:name|classes|featureNames|columns|allowed|fill|series|offset)=).*([,;])$"
    return re.sub(named, r"\1\2", text, flags=re.MULTILINE)


def as_arrays(case, found):
    """The answers of a module in the words of `exported.check`."""
    answers = found["answers"]
    numbers = {
        name: np.array(values, dtype=float)
        for name, values in answers.items()
        if name != "predict" or "classes" not in found
    }
    kind = type(case.model.readout).__name__
    if kind in ("ValueReadout", "FeaturesReadout", "DensityReadout"):
        [name] = answers_of(case.model, case.rows).keys()
        return {name: numbers["predict"]}
    labels = np.array(answers["predict"], dtype=object)
    return {
        "label": labels,
        **{name: numbers[name] for name in ("scores", "probabilities") if name in numbers},
    }


def rows_of(case):
    if isinstance(case.rows, np.ndarray):
        return case.rows.tolist()
    # JSON has no NaN
    return [[None if x != x else x for x in row] for row in case.rows.to_numpy().tolist()]


def compare(cases, folder, number="float64"):
    """Write, run and check cases, whose models have been rounded where the format asks for it."""
    cases = list(cases)
    texts = [to_js(case.model, number=number) for case in cases]
    for case, text in zip(cases, texts, strict=True):
        assert len(code_of(text)) < MOST_CODE, f"{case.name}: {len(code_of(text))} bytes of code"
    jobs = [(text, rows_of(case)) for case, text in zip(cases, texts, strict=True)]
    for case, found in zip(cases, in_node(jobs, folder), strict=True):
        small = replace(case.model, expansion=rounded(case.model.expansion, number).expansion)
        small_case = Case(case.name, small, case.rows)
        check(small_case, as_arrays(small_case, found), "float64", tolerance=TOLERANCE)
        if hasattr(small.readout, "classes"):
            assert found["classes"] == small.readout.classes.tolist()


@needs_node
@pytest.mark.parametrize(
    "cases",
    [exported.estimators, exported.hard, exported.projected, exported.readouts, exported.odd],
    ids=lambda cases: cases.__name__,
)
def test_every_model_answers_as_in_python(cases, tmp_path):
    compare(cases(), tmp_path)


@needs_node
def test_pipelines_fold_in(tmp_path):
    compare([case for case, _ in exported.inputs()], tmp_path)


def of_every_kernel():
    """Models whose numbers have no short form, with CSR vectors and projections among them."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    T = rng.standard_normal((15, 4))
    kernels = [RBF(0.3), RBF((0.1, 0.5, 0.0, 2.0)), Laplacian(0.3), Laplacian((0.1, 0.5, 1.0, 2.0)), Linear()]
    for kernel in (*kernels, Polynomial(0.5, 1.0, 3), Sigmoid(0.2, 0.1)):
        for make in (np.asarray, sparse.csr_array):
            Z = rng.standard_normal((7, 4)) * (rng.random((7, 4)) < 0.7)
            f = KernelExpansion(kernel, make(Z), rng.standard_normal((7, 2)), rng.standard_normal(2))
            yield Case(f"{kernel} {make.__name__}", Model(Inputs(4), f, ValueReadout(one_target=False)), T)
    for kernel in (RBF(0.4), RBF((0.1, 0.5, 2.0)), Laplacian(0.4), Laplacian((0.1, 0.5, 2.0))):
        P = Projection(rng.standard_normal((3, 4)), rng.standard_normal(3))
        f = KernelExpansion(kernel, rng.standard_normal((7, 3)), rng.standard_normal((7, 1)), [0.3], P)
        yield Case(f"{kernel} projected", Model(Inputs(4), f, ValueReadout()), T)


@needs_node
@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_format_stands_for_the_values_it_has_in_python(number, tmp_path):
    compare(of_every_kernel(), tmp_path, number)


def test_a_module_with_everything_has_little_code():
    """Whole numbers of four bits, a width for each feature, columns of categories, votes and probabilities."""
    rng = np.random.default_rng(0)
    f = KernelExpansion(
        RBF((0.3, 0.4)), rng.standard_normal((6, 2)), rng.standard_normal((6, 10)), np.zeros(10)
    )
    columns = (Column(0, shift=0.1, scale=0.3), Column(1, "x"))
    inputs = Inputs(2, ("a", "b"), columns, ((1, ("x", "y")),))
    for link in (Probability("softmax", 2.5, (0.1, 0.2, 0.3, 0.4, 0.5)), Probability("normal")):
        readout = VotesReadout(np.array(list("vwxyz")), link)
        assert len(code_of(to_js(Model(inputs, f, readout), number="int4"))) < MOST_CODE


def test_smaller_formats_make_smaller_modules():
    rng = np.random.default_rng(0)
    f = KernelExpansion(RBF(0.1), rng.standard_normal((100, 20)), rng.standard_normal(100), 0.0)
    sizes = [len(to_js(f, number=number)) for number in NUMBERS]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 6000


@needs_node
def test_rows_and_vectors_anywhere(tmp_path):
    cases, wanted = [], []
    for name, (X, Z) in blocks(np.float64, n=20, m=8).items():
        for kernel in (*DISTANCES, *PRODUCTS):
            coef, intercept = model(X, Z, 2)
            with np.errstate(all="ignore"):
                exact = exact_values(kernel, X, Z)
                storable = fits(exact, X, Z, coef, intercept)
            if kernel.name == "linear" and not storable:
                continue
            made = exported.features(kernel, Z, coef, intercept)
            cases.append((to_js(made), X.tolist()))
            wanted.append((f"{name}, {kernel}", kernel in DISTANCES or storable, exact, X, coef, intercept))
    for found, (name, comparable, exact, X, coef, intercept) in zip(
        in_node(cases, tmp_path), wanted, strict=True
    ):
        got = np.array(found["answers"]["predict"], dtype=float)
        assert np.isfinite(got).all(), name
        if comparable:
            assert error_of(got, exact, X, coef, intercept) <= TOLERANCE, name


# Rows


def asked(text, rows, folder):
    [found] = in_node([(text, rows)], folder)
    return found


@needs_node
def test_rows_may_be_objects_and_wrong_ones_get_a_sentence(tmp_path):
    f = KernelExpansion(RBF(1.0), [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [1.0, -1.0], 0.1)
    columns = (Column(0, shift=1.0, scale=2.0), Column(1, "red"), Column(1, "</script>"))
    inputs = Inputs(2, ("size", 'the "colour"'), columns, ((1, ("red", "</script>")),))
    machine = Model(inputs, f, SignReadout(np.array(["no", "yes"])))
    text = to_js(machine, name="colours")
    assert "</script>" not in text
    rows = [
        [1.5, "red"], {"size": 1.5, 'the "colour"': "red"}, [1.5, "</script>"], [1.5], {"size": 1.5}, ["a", "red"],
        [1.5, "blue"], None, [None, "red"],
    ]  # fmt: skip
    found = asked(text, rows, tmp_path)
    assert found["featureNames"] == ["size", 'the "colour"']
    scores = found["answers"]["scores"]
    raw = np.array([[1.5, "red"], [1.5, "</script>"]], dtype=object)
    np.testing.assert_allclose([scores[0], scores[2]], machine.outputs(raw)[:, 0], rtol=1e-14)
    assert scores[1] == scores[0]
    errors = [answer["error"] for answer in scores[3:]]
    assert errors[0] == "colours: a row must have 2 features, got 1."
    assert errors[1] == 'colours: feature the "colour" has undefined, none of its categories.'
    assert errors[2] == "colours: feature size must be a finite number, got a."
    assert errors[3] == 'colours: feature the "colour" has blue, none of its categories.'
    assert errors[4] == 'colours: feature the "colour" has undefined, none of its categories.'
    assert errors[5] == "colours: feature size must be a finite number, got null."
    assert found["answers"]["predict"][0] in ("no", "yes")


@needs_node
def test_rows_without_names_are_arrays(tmp_path):
    text = to_js(EmpiricalSVC().fit(*make_banana(60, random_state=0)))
    found = asked(text, [[0.1, 0.2], [0.1, 0.2, 0.3], {"a": 1}, "ab"], tmp_path)
    assert found["featureNames"] is None
    assert set(found["exports"]) == {"classes", "featureNames", "predict", "scores"}
    assert [answer["error"] for answer in found["answers"]["predict"][1:]] == [
        "model: a row must have 2 features, got 3.",
        "model: a row must be an array.",
        "model: feature 0 must be a finite number, got a.",
    ]


@needs_node
def test_names_and_labels_may_be_any_text(tmp_path):
    classes = [
        "a  b",
        'say "no"',
        "back\\slash\\",
        "`${name}`",
        "(x) => y",
        "\u2028 \n é",
        "</script>",
        "const x = 1;",
    ]
    rng = np.random.default_rng(0)
    f = KernelExpansion(RBF(1.0), rng.standard_normal((9, 2)), rng.standard_normal((9, 8)), np.zeros(8))
    names = ("\\", '"; throw 1; "')
    machine = Model(Inputs(2, names), f, LargestReadout(np.array(classes, dtype=object)))
    T = rng.standard_normal((40, 2))
    found = asked(to_js(machine, name='"\\`'), [*T.tolist(), []], tmp_path)
    assert found["classes"] == classes
    assert tuple(found["featureNames"]) == names
    assert found["answers"]["predict"][:-1] == machine(T).tolist()
    assert found["answers"]["predict"][-1] == {"error": '"\\`: a row must have 2 features, got 0.'}


# The file


def test_nothing_but_the_language_is_used():
    for case in (*exported.readouts(), *of_every_kernel()):
        for number in ("float64", "int4"):
            text = to_js(case.model, number=number)
            assert not re.search(
                r"\b(require|process|Buffer|import|window|document|globalThis)\b", code_of(text)
            )
            assert text.isascii()


def test_the_file_is_whole(tmp_path):
    estimator = EmpiricalSVC().fit(*make_banana(60, random_state=0))
    path = tmp_path / "banana.js"
    assert to_js(estimator, path) == path.read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["banana.js"]


def test_what_cannot_be_written_is_said():
    X, y = make_banana(40, random_state=0)
    with pytest.raises(ValueError, match=r"to_js writes the kernels .* not FunctionKernel"):
        to_js(LSSVC(kernel=lambda a, b: a @ b.T).fit(X, y))
    with pytest.raises(ValueError, match=r"to_js writes the kernels .* not precomputed"):
        to_js(LSSVC(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(ValueError, match=r"number must be one of .* got 'int9'"):
        to_js(LSSVC().fit(X, y), number="int9")
    with pytest.raises(ValueError, match=r"classes has whole numbers beyond 9007199254740992"):
        to_js(LSSVC().fit(X, np.where(y > 0, 2**60, 1)))
