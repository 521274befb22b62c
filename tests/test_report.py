"""Reports: every kind of model gets a page that holds together, escapes what it is given, and runs the model."""

from __future__ import annotations

import json
import re
import runpy
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_blobs, make_regression
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, OneClassSVM

import pages
import slimsvm
from browser import browser, opened
from slimsvm import (
    CompactSVC,
    EmpiricalSVC,
    FixedSizeLSSVC,
    FixedSizeLSSVR,
    GreedyLSSVC,
    KernelExpansion,
    Model,
    SparseKernelDensity,
    TableEncoder,
    load,
    reduce,
    save,
    write_report,
)
from slimsvm.adapters.whole import as_model
from slimsvm.datasets import make_banana
from slimsvm.inputs import Inputs
from slimsvm.kernels import RBF
from slimsvm.reading import read
from slimsvm.readout import SignReadout
from slimsvm.report import headline, live, sizes
from slimsvm.report.contours import outlines, simplified
from slimsvm.report.png import grey_png
from slimsvm.report.svg import Scale

VOID = {"meta", "link", "input", "img", "br"}
ATTACK = "<script>alert(1)</script>"
NAMES = ("</script><script>alert(2)</script>", "a \"quoted\" 'name' & more", "`${alert(3)}`", "plain")


class Page(HTMLParser):
    """The elements of a page, checked to be closed in order."""

    def __init__(self, path):
        super().__init__()
        self.text = path.read_text()
        self.open, self.ids, self.tags, self.attributes, self.words = [], [], [], [], []
        self.feed(self.text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.attributes.append(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def said(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    @property
    def data(self):
        return json.loads(re.search(r'id="data">(.*?)</script>', self.text, re.DOTALL)[1])


def page_of(path, model, **given):
    """Write a report, and check what is true of every one."""
    write_report(model, path, **given)
    page = Page(path)
    assert len(page.text) < 1_000_000
    assert len(page.ids) == len(set(page.ids))
    assert len(set(re.findall(r'href="#([^"]+)"', page.text)) - set(page.ids)) == 0
    outside = [a for attrs in page.attributes for a in (attrs.get("src"), attrs.get("href")) if a]
    assert all(address.startswith(("#", "data:")) for address in outside)
    [policy] = [attrs["content"] for attrs in page.attributes if "http-equiv" in attrs]
    assert policy.startswith("default-src 'none'")
    assert not any(key.startswith("on") or key == "style" for attrs in page.attributes for key in attrs)
    for tag, attrs in zip(page.tags, page.attributes, strict=True):
        if tag == "svg":
            assert attrs.get("aria-label") or attrs.get("aria-hidden")
        if tag == "img":
            assert attrs["alt"]
    return page


@pytest.fixture(scope="module")
def banana():
    X, y = make_banana(500, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, train_size=200, random_state=0)
    model = CompactSVC(random_state=0).fit(X, y)
    return model, {"X": X, "y": y, "X_test": X_test, "y_test": y_test, "reference": SVC(C=10.0).fit(X, y)}


@pytest.fixture(scope="module")
def attack():
    """A table with a category, and names that no page should believe."""
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            NAMES[0]: rng.normal(size=n),
            NAMES[1]: rng.integers(0, 5, size=n),
            NAMES[2]: rng.choice([ATTACK, "b", "c"], size=n),
            NAMES[3]: rng.normal(size=n),
        }
    )
    y = np.where(X[NAMES[0]] + (X[NAMES[2]] == "b") > 0.3, ATTACK, 'no "thing"')
    steps = make_column_transformer((OneHotEncoder(), [NAMES[2]]), remainder=StandardScaler())
    return make_pipeline(steps, GreedyLSSVC(max_vectors=12)).fit(X, y), {"X": X, "y": y}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=400, random_state=0)
    model = FixedSizeLSSVC(n_vectors=30, gamma=0.0005, random_state=0).fit(X, y)
    return model, {"X": X, "y": y, "X_test": X_test, "y_test": y_test}


# What a page says


def test_two_inputs_beside_the_full_machine(banana, tmp_path):
    model, given = banana
    told = []
    page = page_of(tmp_path / "r.html", model, **given, progress=told.append)
    svc = given["reference"]
    score, full = (m.score(given["X_test"], given["y_test"]) for m in (model, svc))
    assert f"is right on {100 * score:.1f} % of 300 test rows" in page.said
    assert f"SVC: {100 * full:.1f} %" in page.said
    assert f"SVC: {len(svc.support_)}" in page.said
    for part in ("try", "size", "answers", "regions", "vectors", "relevance", "training", "deploy"):
        assert part in page.ids
    assert "nothing is held fixed" in page.said
    assert "which the model has not seen" in page.said
    assert {"ROC curve", "Calibration", "Confusion"} <= {word.strip() for word in page.words}
    assert told[0] == "scores and times"
    assert any("vectors" in text for text in told)


def test_the_confusions_are_those_of_predict(banana, tmp_path):
    model, given = banana
    page = page_of(tmp_path / "r.html", model, **given, sizes=None)
    table = re.search(r'<table class="confusion">.*?</table>', page.text, re.DOTALL)[0]
    counts = [int(n) for n in re.findall(r'<td class="(?:right|wrong) q\d">(\d+)</td>', table)]
    answers, true = model.predict(given["X_test"]), given["y_test"]
    wanted = [int(np.sum((true == a) & (answers == b))) for a in model.classes_ for b in model.classes_]
    assert counts == wanted
    assert "size" not in page.ids


def test_sizes_are_models_of_those_sizes(banana):
    model, given = banana
    subject = live.Subject.of(model, given["X"], given["y"], given["X_test"], given["y_test"])
    own = headline.figures_of(subject)
    found, late = sizes.steps(subject, own, given["reference"], "auto", lambda text: None)
    numbers = [step.n_vectors for step in found]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    assert model.n_vectors_ < numbers[-1] <= sizes.MOST_TIMES * model.n_vectors_
    for step in found:
        assert step.score == np.mean(step.model(given["X_test"]) == given["y_test"])
        assert (step.n_vectors == model.n_vectors_) == step.own
    assert not late
    some, _ = sizes.steps(subject, own, None, [2, 3, 100], lambda text: None)
    assert [step.n_vectors for step in some] == [2, 3, model.n_vectors_]


def test_scores_of_training_rows_are_called_that(banana, tmp_path):
    model, given = banana
    page = page_of(tmp_path / "r.html", model, X=given["X"], y=given["y"], sizes=None)
    assert "Scores are of the training rows" in page.said
    assert "200 training rows" in page.said


def test_names_and_classes_are_text(attack, tmp_path):
    model, given = attack
    page = page_of(tmp_path / "r.html", model, **given, title=ATTACK)
    assert page.tags.count("script") == 2  # the data, and ours
    assert ATTACK not in page.text
    assert ATTACK in page.said
    for name in NAMES:
        assert name in page.said
    fields = page.data["fields"]
    assert [field["name"] for field in fields] == list(NAMES)
    assert fields[2]["values"] == sorted([ATTACK, "b", "c"])
    assert fields[1] == {
        "column": 1,
        "name": NAMES[1],
        "missing": False,
        "low": 0.0,
        "high": 4.0,
        "whole": True,
    }
    # the policy allows exactly the style and the script that are there
    [policy] = [attrs["content"] for attrs in page.attributes if "http-equiv" in attrs]
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2


def test_images_are_shown_as_images(digits, tmp_path):
    model, given = digits
    page = page_of(tmp_path / "r.html", model, **given, sizes=[5])
    assert page.data["image"] == {"height": 8, "width": 8, "low": 0.0, "high": 16.0}
    assert "pad" in page.ids
    alts = [attrs["alt"] for tag, attrs in zip(page.tags, page.attributes, strict=True) if tag == "img"]
    assert sum("speaks for" in alt for alt in alts) == model.n_vectors_
    # shuffled columns are no images, unless one says so
    order = np.random.default_rng(0).permutation(64)
    mixed = FixedSizeLSSVC(n_vectors=10, random_state=0).fit(given["X"][:, order], given["y"])
    rows = {"X": given["X"][:, order], "y": given["y"], "sizes": None}
    assert "pad" not in page_of(tmp_path / "r.html", mixed, **rows).ids
    told = page_of(tmp_path / "r.html", mixed, **rows, image_shape=(4, 16))
    assert told.data["image"]["width"] == 16
    with pytest.raises(ValueError, match=r"image_shape must be of 64 pixels in all, got \(3, 3\)"):
        write_report(mixed, tmp_path / "no.html", **rows, image_shape=(3, 3))


def test_values(tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = FixedSizeLSSVR(n_vectors=20, random_state=0).fit(X[:300], y[:300])
    page = page_of(
        tmp_path / "r.html", model, X=X[:300], y=y[:300], X_test=X[300:], y_test=y[300:], sizes=[4]
    )
    assert f"{model.score(X[300:], y[300:]):.3f}" in page.said
    assert "Predicted against true" in page.said
    far = page_of(
        tmp_path / "far.html", model, X=X[:300], y=y[:300], X_test=X[300:], y_test=-y[300:], sizes=None
    )
    assert "on 142 test rows it is worse than their mean" in far.said
    assert "Confusion" not in page.said
    assert "all other directions are held at the mean row" in page.said


def test_relevance_is_told_where_there_is_a_difference(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    even = make_pipeline(StandardScaler(), FixedSizeLSSVC(n_vectors=6, random_state=0)).fit(X, y)
    page = page_of(tmp_path / "r.html", even, X=X, y=y, sizes=None)
    assert "All 4 inputs count the same" in page.said
    page = page_of(
        tmp_path / "r.html", FixedSizeLSSVC(n_vectors=6, random_state=0).fit(X, y), X=X, y=y, sizes=None
    )
    shares = X.to_numpy().var(axis=0) / X.to_numpy().var(axis=0).sum()
    table = re.search(r'<table class="relevance">.*?</table>', page.text, re.DOTALL)[0]
    order = np.argsort(-shares)
    assert re.findall(r'<th scope="row">(.*?)</th>', table) == X.columns[order].tolist()
    assert re.findall(r"<td>([\d.]+) %</td>", table) == [f"{100 * share:.1f}" for share in shares[order]]


def test_several_targets_and_one_input(tmp_path):
    X, y = make_regression(60, 1, n_targets=2, random_state=0)
    model = FixedSizeLSSVR(n_vectors=8, random_state=0).fit(X, y)
    page = page_of(tmp_path / "r.html", model, X=X, y=y, sizes=None)
    assert "of target 1" in page.said
    assert "What the model gives along input 0" in page.text


def test_inliers_and_densities(tmp_path):
    X, kind = make_blobs(150, centers=2, random_state=0)
    page = page_of(tmp_path / "r.html", reduce(OneClassSVM(nu=0.2).fit(X), X), X=X)
    assert "Rows with a positive score are inliers" in page.said
    labelled = page_of(
        tmp_path / "r.html", OneClassSVM(nu=0.2).fit(X), X=X, y=np.where(kind, 1, -1), sizes=None
    )
    assert "The area below the ROC curve" in labelled.said
    page = page_of(tmp_path / "r.html", SparseKernelDensity(random_state=0).fit(X), X=X)
    assert "logarithm of the density" in page.text


def test_rows_of_text_and_wide_ones(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(80, 3000, 0.01, format="csr", random_state=rng)
    y = np.arange(80) % 3
    model = EmpiricalSVC(kernel="linear", max_vectors=20).fit(X, y)
    page = page_of(tmp_path / "r.html", model, X=X, y=y, sizes=[4])
    assert "regions" not in page.ids
    assert len(page.data["fields"]) == live.MOST_FIELDS
    assert isinstance(page.data["rows"][0], dict)
    assert "the others keep the values of the row" in page.said


def test_models_of_all_origins(banana, tmp_path):
    model, given = banana
    rows = {"X": given["X"], "y": given["y"], "sizes": None}
    save(model, tmp_path / "model.slim")
    search = GridSearchCV(GreedyLSSVC(), {"max_vectors": [3, 5]}, cv=2).fit(given["X"], given["y"])
    for other in (
        as_model(model),
        load(tmp_path / "model.slim"),
        reduce(given["reference"], given["X"], given["y"]),
        search,
    ):
        assert "try" in page_of(tmp_path / "r.html", other, **rows).ids
    features = reduce(KernelPCA(2, kernel="rbf").fit(given["X"]), given["X"], max_vectors=10)
    page_of(tmp_path / "r.html", features, X=given["X"])
    rows = {**rows, "X": given["X"].tolist(), "y": given["y"].tolist()}
    page_of(tmp_path / "r.html", model, **rows)


def test_what_cannot_run_in_a_page_is_left_out(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = FixedSizeLSSVC(kernel=lambda A, B: (1.0 + A @ B.T) ** 2, n_vectors=10, random_state=0).fit(X, y)
    page = page_of(tmp_path / "r.html", model, X=X, y=y, sizes=None)
    assert "try" not in page.ids
    assert "relevance" not in page.ids
    assert "to_js" not in page.said
    assert "answers" in page.ids


def test_kernel_values_and_models_without_vectors(tmp_path):
    X, y = load_iris(return_X_y=True)
    machine = SVC(kernel="precomputed").fit(X @ X.T, y)
    page = page_of(tmp_path / "r.html", machine, X=X @ X.T, y=y)
    assert not {"try", "size", "regions", "vectors", "relevance"} & set(page.ids)
    constant = Model(
        Inputs(2), KernelExpansion(RBF(1.0), np.empty((0, 2)), np.empty((0, 1)), 0.5), SignReadout([0, 1])
    )
    page = page_of(tmp_path / "r.html", constant, X=X[:, :2], y=(y > 0).astype(int))
    assert "with 0 vectors and is right on 66.7 % of 150 training rows" in page.said


def test_a_table_of_a_file_and_the_estimator_behind_a_model(tmp_path):
    (tmp_path / "train.csv").write_text(
        "age,colour,bought\n"
        + "".join(f"{20 + i},{'red' if i % 3 else 'blue'},{'yes' if i % 2 else 'no'}\n" for i in range(40))
    )
    table = read(tmp_path / "train.csv")
    X, y = table.without("bought"), table.column("bought")
    frame = pd.DataFrame(X.to_numpy(), columns=X.columns)
    pipeline = make_pipeline(TableEncoder(), GreedyLSSVC(C=7.0, max_vectors=4)).fit(frame, y)
    page = page_of(tmp_path / "r.html", as_model(pipeline), X=X, y=y, estimator=pipeline, seconds=1.25)
    assert "training took 1.25 seconds" in page.said
    assert page.said.count("GreedyLSSVC with 4 vectors") == 2
    assert "7.0" in page.said
    assert page.data["fields"][1]["values"] == ["blue", "red"]


def test_one_score_for_each_pair_is_not_taken_for_one_of_each_class(tmp_path):
    X, y = load_iris(return_X_y=True)
    for shape in ("ovo", "ovr"):
        machine = SVC(decision_function_shape=shape).fit(X, y)
        page = page_of(tmp_path / "r.html", machine, X=X, y=y, sizes=None)
        assert page.data["pairs"] == (shape == "ovo")


def test_tables_of_polars(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = pl.DataFrame(X.to_dict("list"))
    model = FixedSizeLSSVC(n_vectors=6, random_state=0).fit(table, y)
    page = page_of(tmp_path / "r.html", model, X=table, y=y, sizes=[3])
    assert page.data["fields"][0]["name"] == "sepal length (cm)"


def test_a_reference_may_be_anything_that_predicts(banana, tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    model, given = banana
    tree = DecisionTreeClassifier(random_state=0).fit(given["X"], given["y"])
    page = page_of(tmp_path / "r.html", model, **{**given, "reference": tree})
    score = tree.score(given["X_test"], given["y_test"])
    assert f"DecisionTreeClassifier: {100 * score:.1f} %" in page.said


def test_large_models_are_rounded_for_the_page_where_that_changes_nothing(banana, tmp_path, monkeypatch):
    model, given = banana
    rows = {"X": given["X"], "y": given["y"], "sizes": None}
    n_numbers = model.n_vectors_ * 3
    monkeypatch.setattr(live, "LONGEST_MODULE", n_numbers * 16 / 6)
    assert "Its numbers are rounded to int16 here" in page_of(tmp_path / "r.html", model, **rows).said
    monkeypatch.setattr(live, "SAME_ANSWERS", 2.0)  # no format is good enough
    page = page_of(tmp_path / "r.html", model, **rows)
    assert "rounded" not in page.said
    assert "try" in page.ids
    monkeypatch.setattr(live, "LONGEST_AT_ALL", n_numbers)
    assert "try" not in page_of(tmp_path / "r.html", model, **rows).ids


# What is refused


def test_errors_say_what_to_do(banana, tmp_path, monkeypatch):
    model, given = banana
    path, X, y = tmp_path / "r.html", given["X"], given["y"]
    with pytest.raises(ValueError, match="y is needed: the right answers of the rows in X"):
        write_report(model, path, X=X)
    with pytest.raises(ValueError, match="X has 200 rows, but y has 3 answers"):
        write_report(model, path, X=X, y=y[:3])
    with pytest.raises(ValueError, match=r"X_test must have the shape \(rows, 2\), got \(300, 1\)"):
        write_report(model, path, X=X, y=y, X_test=given["X_test"][:, :1], y_test=given["y_test"])
    with pytest.raises(ValueError, match="y_test was given without X_test"):
        write_report(model, path, X=X, y=y, y_test=y)
    with pytest.raises(ValueError, match="y has the label 7, which is not a class"):
        write_report(model, path, X=X, y=np.full(len(X), 7))
    with pytest.raises(ValueError, match="X has no rows"):
        write_report(model, path, X=X[:0], y=y[:0])
    with pytest.raises(ValueError, match='sizes must be "auto", whole numbers or None'):
        write_report(model, path, X=X, y=y, sizes="all")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'slimsvm\[report\]'"):
        write_report(model, path, X=X, y=y)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_page(banana, tmp_path):
    model, given = banana
    path = tmp_path / "r.html"
    path.write_text("before")

    def stop(text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_report(model, path, **given, progress=stop)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


# The parts


def inside(polygons, x, y):
    """Whether a point is inside an odd number of polygons."""
    crossings = 0
    for polygon in polygons:
        (px, py), (qx, qy) = polygon.T, np.roll(polygon, -1, axis=0).T
        upward = (py > y) != (qy > y)
        at = px + (y - py) / np.where(upward, qy - py, 1.0) * (qx - px)
        crossings += int(np.sum(upward & (at > x)))
    return crossings % 2 == 1


@given(arrays(np.float64, (5, 6), elements=st.sampled_from([-2.0, -1.0, -0.3, 0.4, 1.0, 3.0])))
def test_outlines_hold_what_is_positive(values):
    polygons = outlines(values)
    # just within the border, where the grid ends
    for i in range(1, 4):
        for j in range(1, 5):
            assert inside(polygons, j + 1e-7, i + 1e-7) == (values[i, j] > 0)


def test_outlines_have_the_area_of_a_disc():
    u, v = np.meshgrid(np.linspace(-2, 2, 81), np.linspace(-2, 2, 81))
    [polygon] = outlines(1.0 - u**2 - v**2)
    few = simplified(polygon, 0.05)
    for points in (polygon, few):
        (x, y), (x2, y2) = points.T, np.roll(points, -1, axis=0).T
        assert abs(np.sum(x * y2 - x2 * y)) / 2 * (4 / 80) ** 2 == pytest.approx(np.pi, rel=0.01)
    assert len(few) < len(polygon) / 2


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans())
def test_ticks_are_few_and_within_the_range(low, width, log):
    low = abs(low) + 0.1 if log else low
    scale = Scale(low, low + width, 0.0, 100.0, log)
    ticks = scale.ticks()
    assert len(ticks) <= 8
    places = scale(np.array(ticks)) if ticks else np.zeros(0)
    assert np.all((places >= -0.1) & (places <= 100.1))
    assert log or len(ticks) >= 2


def test_pictures_of_pixels_can_be_read(tmp_path):
    import base64
    import io

    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (5, 7), dtype=np.uint8)
    content = base64.b64decode(grey_png(pixels).partition(",")[2])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), pixels)


def test_the_package_has_its_templates():
    from pathlib import Path

    folder = Path(slimsvm.report.write.TEMPLATES)
    assert {path.name for path in folder.iterdir()} == {"report.html.jinja", "style.css", "page.js"}


# In a browser


@pytest.fixture(scope="module")
def window():
    with browser() as running:
        yield running


def rows_shown(page):
    """The row and what the page says of it, for the first rows it can start from."""
    for _ in page.evaluate("data.rows.slice(0, 10)"):
        yield np.array(page.evaluate("slimsvm.row()"), dtype=object), page.inner_text("#answer")
        page.click("#row-next")


def move(page, selector, value):
    """Set a field as a hand would, with the events it causes."""
    page.eval_on_selector(
        selector,
        "(field, value) => { field.value = value; field.dispatchEvent(new Event('input', {bubbles: true})); }",
        value,
    )


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_in_the_browser(banana, window, tmp_path, width, scheme):
    model, given = banana
    path = tmp_path / "r.html"
    write_report(model, path, **given)
    with opened(window, path, width=width, scheme=scheme) as found:
        page = found.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.inner_text("#agrees").endswith("s answer each time.")
        shown = page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 384) == (scheme == "dark")
        assert len(shown) > 20_000
        # the script and the style were allowed: the policy would have complained otherwise
        assert page.evaluate("getComputedStyle(document.querySelector('.curve')).strokeWidth") == "2px"


def test_the_slider_shows_each_size(banana, window, tmp_path):
    model, given = banana
    path = tmp_path / "r.html"
    write_report(model, path, **given)
    with opened(window, path) as found:
        page = found.page
        assert f"{model.n_vectors_} vectors" in page.inner_text("#step-says")
        n = page.locator("[data-frame]").count()
        assert n >= 3
        move(page, "#step", 0)
        pictures = set()
        for k in range(n):
            visible = page.locator("[data-frame]:visible")
            assert visible.count() == 1
            assert visible.get_attribute("data-frame") == str(k)
            pictures.add(visible.inner_html())
            at = page.locator("#sizes tr.at")
            assert at.get_attribute("data-row") == str(k)
            assert at.locator("th").inner_text() in page.inner_text("#step-says")
            assert page.get_attribute("#at-size", "cx") == page.get_attribute(f"[data-step='{k}']", "cx")
            page.focus("#step")
            page.keyboard.press("ArrowRight")
        assert len(pictures) == n
        page.locator("[data-row='1']").click()
        assert page.locator("[data-frame]:visible").get_attribute("data-frame") == "1"


def test_the_model_in_the_page_answers_as_python_does(banana, window, tmp_path):
    model, given = banana
    path = tmp_path / "r.html"
    write_report(model, path, **given, sizes=None)
    with opened(window, path) as found:
        page = found.page
        for row, answer in rows_shown(page):
            assert answer == str(model.predict(row[None].astype(float))[0])
        for selector, value in (
            ("#field-0", -0.5),
            ("[aria-label='input 1, as a number']", 1.25),
            ("#field-1", 0.75),
        ):
            move(page, selector, value)
            row = np.array([page.evaluate("slimsvm.row()")])
            assert value in row
            assert page.inner_text("#answer") == str(model.predict(row)[0])
            shares = [
                float(text.rstrip(" %")) for text in page.locator("#bars td:last-child").all_inner_texts()
            ]
            np.testing.assert_allclose(shares, 100 * model.predict_proba(row)[0], atol=0.051)
        before = page.evaluate("slimsvm.row()")
        page.focus("#field-0")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("slimsvm.row()")[0] > before[0]
        page.click("#row-reset")
        assert page.evaluate("slimsvm.row()") == page.evaluate("data.rows[10]")


def test_attacks_and_categories_in_the_browser(attack, window, tmp_path):
    model, given = attack
    path = tmp_path / "r.html"
    write_report(model, path, **given, sizes=[3])
    with opened(window, path) as found:
        page = found.page
        page.on("dialog", lambda dialog: found.complaints.append(dialog.message))
        answers = set()
        for row, answer in rows_shown(page):
            assert answer == model.predict(pd.DataFrame([row], columns=NAMES))[0]
            answers.add(answer)
        assert answers == {ATTACK, 'no "thing"'}
        for k in range(3):
            page.select_option("#field-2", str(k))
            row = page.evaluate("slimsvm.row()")
            assert row[2] == sorted([ATTACK, "b", "c"])[k]
            assert page.inner_text("#answer") == model.predict(pd.DataFrame([row], columns=NAMES))[0]


def test_missing_values_in_the_browser(window, tmp_path):
    rng = np.random.default_rng(0)
    age, colour = (
        rng.uniform(20, 60, 150).round(),
        rng.choice(np.array(["red", "blue", None], dtype=object), 150),
    )
    X = pd.DataFrame({"age": np.where(rng.uniform(size=150) < 0.2, np.nan, age), "colour": colour})
    y = np.where((age > 40) ^ (colour == "red"), "yes", "no")
    model = make_pipeline(TableEncoder(impute=True), GreedyLSSVC(max_vectors=10, gamma=0.01)).fit(X, y)
    path = tmp_path / "r.html"
    write_report(model, path, X=X, y=y, sizes=[4])
    with opened(window, path) as found:
        page = found.page
        assert page.evaluate("data.fields[1].values") == ["blue", "red", None]

        def agrees():
            row = page.evaluate("slimsvm.row()")
            table = pd.DataFrame([[np.nan if row[0] is None else row[0], row[1]]], columns=X.columns)
            assert page.inner_text("#answer") == model.predict(table)[0]
            return row

        assert any(None in row for row in page.evaluate("data.rows"))
        for _ in page.evaluate("data.rows"):
            agrees()
            page.click("#row-next")
        page.fill("[aria-label='age, as a number']", "")
        assert agrees()[0] is None
        page.fill("[aria-label='age, as a number']", "55")
        page.select_option("#field-1", label="missing")
        assert agrees() == [55, None]


def test_digits_can_be_drawn(digits, window, tmp_path):
    model, given = digits
    path = tmp_path / "r.html"
    write_report(model, path, **given, sizes=[5])
    with opened(window, path, width=390) as found:
        page = found.page

        def agrees():
            row = np.array([page.evaluate("slimsvm.row()")])
            assert page.inner_text("#answer") == str(model.predict(row)[0])
            assert (row.min() >= 0) & (row.max() <= 16)
            return row[0]

        agrees()
        page.click("#clear")
        assert not agrees().any()
        page.locator("#pad").scroll_into_view_if_needed()
        box = page.locator("#pad").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.1 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.9 * box["height"], steps=5)
        page.mouse.up()
        drawn = agrees().reshape(8, 8)
        assert (drawn[:, 3:5] > 10).all()  # a stroke down the middle, from edge to edge
        assert not drawn[:, [0, 1, 6, 7]].any()
        assert page.inner_text("#answer") == "1"
        page.click("#clear")
        page.focus("#pad")
        for key in ("ArrowUp", "ArrowLeft", " "):
            page.keyboard.press(key)
        assert agrees().reshape(8, 8)[3, 3] == 16
        page.keyboard.press("Backspace")
        assert agrees().reshape(8, 8)[3, 3] == 0


def test_every_part_is_reached_by_the_keyboard(banana, digits, window, tmp_path):
    path = tmp_path / "r.html"
    for (model, rows), wanted in ((banana, {"field-0", "step"}), (digits, {"pad"})):
        write_report(model, path, **{**rows, "sizes": [3]})
        with opened(window, path) as found:
            page, reached = found.page, []
            for _ in range(60):
                page.keyboard.press("Tab")
                name, part = page.evaluate(
                    "[document.activeElement.localName, document.activeElement.id || document.activeElement.className]"
                )
                if name == "body":  # past the last one
                    break
                reached.append(part)
            assert name == "body"
            assert {"row-before", "row-next", "row-reset", *wanted} <= set(reached)
            assert reached.count("copy") == 5
            page.focus("#row-next")
            page.keyboard.press("Tab")
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_values_and_wide_rows_in_the_browser(window, tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = make_pipeline(StandardScaler(), FixedSizeLSSVR(n_vectors=15, random_state=0)).fit(X, y)
    path = tmp_path / "r.html"
    write_report(model, path, X=X, y=y, sizes=None)
    with opened(window, path) as found:
        for row, answer in rows_shown(found.page):
            wanted = model.predict(pd.DataFrame([row.astype(float)], columns=X.columns))[0]
            assert float(answer) == pytest.approx(wanted, rel=1e-3)
    rows = sparse.random(60, 500, 0.05, format="csr", random_state=np.random.default_rng(0))
    labels = np.arange(60) % 2
    wide = EmpiricalSVC(max_vectors=10).fit(rows, labels)
    write_report(wide, path, X=rows, y=labels, sizes=None)
    with opened(window, path) as found:
        for row, answer in rows_shown(found.page):
            assert answer == str(wide.predict(row[None].astype(float))[0])


def test_a_snippet_can_be_copied(banana, window, tmp_path):
    model, given = banana
    path = tmp_path / "r.html"
    write_report(model, path, **given, sizes=None)
    with opened(window, path) as found:
        page = found.page
        page.locator(".copy").nth(1).click()
        page.get_by_text(re.compile("^(Copied|Selected)$")).wait_for()
        page.get_by_text(re.compile("^(Copied|Selected)$")).wait_for(state="detached")


def test_the_web_page_of_the_examples_in_a_browser(window, tmp_path, monkeypatch):
    made = {}

    def to_js(model, *given, **options):
        made["model"] = model
        return slimsvm_to_js(model, *given, **options)

    slimsvm_to_js = slimsvm.to_js
    monkeypatch.setattr(slimsvm, "to_js", to_js, raising=False)
    path = tmp_path / "digits.html"
    monkeypatch.setattr(sys, "argv", ["web_page.py", "--output", str(path), "--bytes", "1500"])
    runpy.run_path(str(pages.ROOT / "examples" / "web_page.py"), run_name="__main__")
    X, _ = load_digits(return_X_y=True)
    model = made["model"]
    with opened(window, path) as found:
        page = found.page
        assert page.inner_text("#answer") == "?"
        asked = page.evaluate(
            """async (rows) => {
                const [address] = document.querySelector("script").textContent.match(/data:text[^"]+/);
                const module = await import(address);
                return rows.map((row) => [module.predict(row), module.probabilities(row)]);
            }""",
            X[:300].tolist(),
        )
        rows = X[:300].astype(np.float32)
        assert [answer for answer, _ in asked] == model.predict(rows).tolist()
        np.testing.assert_allclose([p for _, p in asked], model.predict_proba(rows), atol=1e-5)
        box = page.locator("#pad").bounding_box()
        page.mouse.move(box["x"] + 128, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + 128, box["y"] + 236, steps=8)
        page.mouse.up()
        seen = page.evaluate(
            """() => {
                const pad = document.getElementById("pad"), row = new Array(64).fill(0);
                const { data } = pad.getContext("2d").getImageData(0, 0, 256, 256);
                for (let i = 0; i < 32; i++)
                    for (let j = 0; j < 32; j++)
                        row[8 * (i >> 2) + (j >> 2)] += data[4 * (256 * (8 * i + 4) + 8 * j + 4) + 3] > 127;
                return row;
            }"""
        )
        assert sum(seen) > 40
        assert page.inner_text("#answer") == str(model.predict(np.array([seen], dtype=np.float32))[0])
