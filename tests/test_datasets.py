"""The loaders hand over what was published, or say why not; recipes make it from raw tables."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from published_sets import published
from slimsvm.datasets import CATALOGUE, OpenMLSource, PublishedSet, load, load_split, recipes
from slimsvm.errors import DataFormatError, SlimsvmError

# Catalogue


def test_the_catalogue_is_well_formed():
    assert len(CATALOGUE) == 38
    assert len({entry.sha256 for entry in CATALOGUE.values()}) == len(CATALOGUE)
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
        assert entry.task == ("regression" if name.startswith("reg_") else "classification")
        assert entry.file_name == f"{name}.npz"
        assert name in entry.description
        assert entry.source in entry.description
        if entry.task == "classification":
            assert sum(count for _, count in entry.class_counts) == entry.n_rows


def test_the_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        CATALOGUE["mine"] = CATALOGUE["mnist"]  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        CATALOGUE["mnist"].n_rows = 1  # type: ignore[misc]


def test_openml_labels_can_be_told_by_their_counts():
    for entry in CATALOGUE.values():
        counts = [count for _, count in entry.class_counts]
        if entry.openml:
            assert len(set(counts)) == len(counts)
            assert 0 <= entry.openml.n_train < entry.n_rows


# Loaders, on small files of our own


@pytest.fixture
def data_dir(tmp_path, monkeypatch) -> Path:
    """An empty SLIMSVM_DATA beside an empty cache."""
    directory = tmp_path / "data"
    directory.mkdir()
    monkeypatch.setenv("SLIMSVM_DATA", str(directory))
    monkeypatch.setenv("SLIMSVM_CACHE", str(tmp_path / "cache"))
    return directory


@pytest.fixture
def publish(monkeypatch) -> Callable[..., bytes]:
    """Enter a small set in the catalogue and give the content of its file."""
    catalogue = dict(CATALOGUE)
    monkeypatch.setattr("slimsvm.datasets.published.CATALOGUE", catalogue)

    def enter(name: str, *, openml: OpenMLSource | None = None, **arrays: np.ndarray) -> bytes:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        content = buffer.getvalue()
        y = arrays["y"] if "y" in arrays else np.r_[arrays["y_train"], arrays["y_test"]]
        X = arrays["X"] if "X" in arrays else arrays["X_train"]
        labels = () if y.dtype.kind == "f" else np.unique(y, return_counts=True)
        catalogue[name] = PublishedSet(
            name,
            sha256=hashlib.sha256(content).hexdigest(),
            n_rows=len(y),
            n_features=X.shape[1],
            n_splits=len(arrays.get("train_idx", ())),
            source="a drawer",
            task="regression" if y.dtype.kind == "f" else "classification",
            class_counts=tuple(zip(*(part.tolist() for part in labels), strict=True)),
            openml=openml,
        )
        return content

    return enter


X_SMALL = np.arange(12, dtype=np.uint8).reshape(6, 2)
Y_SMALL = np.array([-1, 1, -1, 1, -1, -1], dtype=np.int8)
SPLITS = {
    "train_idx": np.array([[0, 1, 2, 3], [5, 3, 1, 2], [0, 2, 4, 1]], dtype=np.int32),
    "test_idx": np.array([[4, 5], [4, 0], [3, 5]], dtype=np.int32),
}


def test_a_set_with_splits(data_dir, publish):
    content = publish("six", X=X_SMALL, y=Y_SMALL, n_published=np.array([2]), **SPLITS)
    (data_dir / "six.npz").write_bytes(content)
    data = load("six")
    assert set(data) == {
        *("X", "y", "train_idx", "test_idx", "n_published"),
        *("name", "task", "description", "file"),
    }
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert data.X.flags.c_contiguous
    assert data.n_published == 2
    assert data.train_idx.dtype == np.int64
    assert data.file == str(data_dir / "six.npz")
    np.testing.assert_array_equal(data.X, X_SMALL)
    np.testing.assert_array_equal(data.train_idx, SPLITS["train_idx"])
    for index in (1, np.int64(1)):
        X_train, X_test, y_train, y_test = load_split("six", index)
        np.testing.assert_array_equal(X_train, X_SMALL[[5, 3, 1, 2]])
        np.testing.assert_array_equal(X_test, X_SMALL[[4, 0]])
        np.testing.assert_array_equal(y_train, Y_SMALL[[5, 3, 1, 2]])
        np.testing.assert_array_equal(y_test, Y_SMALL[[4, 0]])
        assert X_train.dtype == np.float64
        assert y_test.dtype == np.int64


def test_splits_that_are_not_counted_are_all_published(data_dir, publish):
    (data_dir / "six.npz").write_bytes(publish("six", X=X_SMALL, y=Y_SMALL, **SPLITS))
    assert load("six").n_published == 3


def test_a_fixed_test_part_is_one_split(data_dir, publish):
    X, y = X_SMALL.astype(np.float32), Y_SMALL
    content = publish("fixed", X_train=X[:4], y_train=y[:4], X_test=X[4:], y_test=y[4:])
    (data_dir / "fixed.npz").write_bytes(content)
    data = load("fixed")
    assert data.X.dtype == np.float32  # kept
    np.testing.assert_array_equal(data.X, X)
    assert data.train_idx.tolist() == [[0, 1, 2, 3]]
    assert data.test_idx.tolist() == [[4, 5]]
    assert data.n_published == 1
    X_train, X_test, y_train, y_test = load_split("fixed")
    np.testing.assert_array_equal(X_train, X[:4])
    np.testing.assert_array_equal(X_test, X[4:])
    np.testing.assert_array_equal(np.r_[y_train, y_test], y)
    assert X_train.dtype == X_test.dtype == np.float32
    with pytest.raises(ValueError, match=r"fixed\.npz holds 1 \(number 0\), but index is 1"):
        load_split("fixed", 1)


def test_a_regression_set_without_splits(data_dir, publish):
    content = publish("reg_six", X=X_SMALL.astype(float), y=np.linspace(0, 1, 6))
    (data_dir / "reg_six.npz").write_bytes(content)
    data = load("reg_six")
    assert data.y.dtype == np.float64
    assert data.task == "regression"
    assert data.train_idx.shape == data.test_idx.shape == (0, 0)
    assert data.n_published == 0
    with pytest.raises(ValueError, match=r"reg_six\.npz holds no train/test split"):
        load_split("reg_six")


@pytest.mark.parametrize("index", [3, -1, 0.0, "first", None])
def test_a_split_that_does_not_exist(data_dir, publish, index):
    (data_dir / "six.npz").write_bytes(publish("six", X=X_SMALL, y=Y_SMALL, **SPLITS))
    with pytest.raises(ValueError, match=r"holds 3 \(numbers 0 to 2\), but index is"):
        load_split("six", index)


def test_the_named_directory_comes_before_the_cache(data_dir, publish, monkeypatch):
    content = publish("six", X=X_SMALL, y=Y_SMALL)
    cache = data_dir.parent / "cache"
    cache.mkdir()
    (cache / "six.npz").write_bytes(content)
    assert load("six").file == str(cache / "six.npz")
    (data_dir / "six.npz").write_bytes(content)
    assert load("six").file == str(data_dir / "six.npz")
    monkeypatch.delenv("SLIMSVM_DATA")
    assert load("six").file == str(cache / "six.npz")


@pytest.mark.parametrize("xdg", [True, False])
def test_the_cache_directory_follows_the_platform(data_dir, publish, monkeypatch, xdg):
    content = publish("six", X=X_SMALL, y=Y_SMALL)
    home = data_dir.parent / "home"
    monkeypatch.delenv("SLIMSVM_CACHE")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    if xdg:
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / "elsewhere"))
    else:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    cache = home / ("elsewhere" if xdg else ".cache") / "slimsvm"
    cache.mkdir(parents=True)
    (cache / "six.npz").write_bytes(content)
    assert load("six").file == str(cache / "six.npz")


def test_an_altered_file_is_refused(data_dir, publish):
    content = publish("six", X=X_SMALL, y=Y_SMALL)
    path = data_dir / "six.npz"
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(DataFormatError) as caught:
        load("six")
    message = str(caught.value)
    assert str(path) in message
    assert found in message
    assert hashlib.sha256(content).hexdigest() in message
    assert "replace it" in message


@pytest.mark.parametrize("named", [True, False])
def test_a_missing_file_is_described_in_one_sentence(data_dir, monkeypatch, named):
    if not named:
        monkeypatch.delenv("SLIMSVM_DATA")
    entry = CATALOGUE["ida_banana"]
    with pytest.raises(DataFormatError) as caught:
        load_split("ida_banana", 3)
    message = str(caught.value)
    for part in ("ida_banana.npz", entry.sha256, entry.source, "SLIMSVM_DATA", "fetch_openml"):
        assert part in message
    assert "data_id 1460" in message
    assert (str(data_dir) if named else "not set") in message
    assert str(data_dir.parent / "cache") in message
    assert message.endswith(".")
    assert ". " not in message
    assert isinstance(caught.value, SlimsvmError)
    assert isinstance(caught.value, ValueError)


def test_a_missing_file_that_openml_does_not_hold(data_dir):
    with pytest.raises(DataFormatError) as caught:
        load("ida_waveform")
    assert "OpenML" not in str(caught.value)
    with pytest.raises(DataFormatError, match="OpenML is not known to hold this set"):
        load("ida_waveform", download=True)


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(ValueError, match="nearest name is 'ida_banana'"):
        load("banana")
    with pytest.raises(ValueError, match="the names are covtype, eeg_eye"):
        load_split("xyzzy")


# OpenML, through a stub of the fetch function


class Stub:
    """Stands in for ``fetch_openml``: remembers its calls, answers with what it was given."""

    def __init__(self, data, target):
        self.answer, self.calls = Bunch(data=data, target=target), []

    def __call__(self, **arguments):
        self.calls.append(arguments)
        return self.answer


@pytest.fixture
def stub(monkeypatch) -> Callable[..., Stub]:
    def install(data, target) -> Stub:
        stub = Stub(data, target)
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", stub)
        return stub

    return install


OPENML_LABELS = np.where(Y_SMALL == 1, "2", "1").astype(object)


def test_openml_serves_a_missing_set_and_is_asked_once(data_dir, publish, stub):
    publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77, n_train=4), **SPLITS)
    fetch = stub(X_SMALL.astype(object), OPENML_LABELS)
    data = load("six", download=True)
    assert fetch.calls == [{"data_id": 77, "as_frame": False, "parser": "auto"}]
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, X_SMALL)
    np.testing.assert_array_equal(data.y, Y_SMALL)  # told by their counts
    assert data.train_idx.tolist() == [[0, 1, 2, 3]]
    cache = data_dir.parent / "cache"
    assert data.file == str(cache / "openml_six.npz")
    assert [path.name for path in cache.iterdir()] == ["openml_six.npz"]
    X_train, X_test, _, _ = load_split("six", download=True)
    assert len(X_train) == 4
    assert len(X_test) == 2
    assert len(fetch.calls) == 1
    with pytest.raises(DataFormatError, match="is wanted"):
        load("six")  # OpenML's copy never passes for the published file


def test_the_published_file_is_preferred_to_openml(data_dir, publish, stub):
    content = publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77), **SPLITS)
    (data_dir / "six.npz").write_bytes(content)
    fetch = stub(None, None)
    assert len(load("six", download=True).train_idx) == 3
    assert fetch.calls == []


def test_openml_without_a_known_order_has_no_split(data_dir, publish, stub):
    publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77), **SPLITS)
    stub(X_SMALL, OPENML_LABELS)
    assert load("six", download=True).n_published == 0
    with pytest.raises(ValueError, match=r"openml_six\.npz holds no train/test split"):
        load_split("six", download=True)


def test_openml_serves_regression(data_dir, publish, stub):
    X, y = X_SMALL / 7, np.linspace(-1, 1, 6)
    publish("reg_six", X=X, y=y, openml=OpenMLSource(78))
    stub(X, y)
    data = load("reg_six", download=True)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)


@pytest.mark.parametrize("low", [-1, 0, -300])
def test_whole_numbers_survive_the_cache(data_dir, publish, stub, low):
    X = np.array([[low, 255], [1, 2], [3, 4], [5, 6], [7, 8], [9, 10]])
    publish("six", X=X, y=Y_SMALL, openml=OpenMLSource(77))
    stub(X, OPENML_LABELS)
    np.testing.assert_array_equal(load("six", download=True).X, X)


@pytest.mark.parametrize(
    ("data", "target", "complaint"),
    [
        (X_SMALL[:5], OPENML_LABELS[:5], r"shape \(5, 2\), but six has \(6, 2\)"),
        (X_SMALL, OPENML_LABELS[[0, 1, 1, 1, 0, 0]], r"classes \{'1': 3, '2': 3\}, but six has"),
        (np.full((6, 2), "red", dtype=object), OPENML_LABELS, "features that are not numbers"),
    ],
)
def test_something_else_from_openml_is_refused_and_not_kept(data_dir, publish, stub, data, target, complaint):
    publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77))
    stub(data, target)
    with pytest.raises(DataFormatError, match=f"OpenML's set 77 .*{complaint}"):
        load("six", download=True)
    assert not (data_dir.parent / "cache").exists()


@pytest.mark.parametrize("failure", [URLError("no route"), ValueError("Dataset not found")])
def test_openml_out_of_reach(data_dir, publish, monkeypatch, failure):
    publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77))

    def fail(**arguments):
        raise failure

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(DataFormatError, match=r"set 77 could not be fetched .*six\.npz \(sha256"):
        load("six", download=True)


def test_openml_without_pandas(data_dir, publish, monkeypatch):
    publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77))

    def fail(**arguments):
        raise ImportError("no such module")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(ImportError, match="needs pandas: install it, or put six"):
        load("six", download=True)


@pytest.mark.parametrize("damage", ["cut", "empty", "no archive", "no X", "other shape"])
def test_a_damaged_copy_in_the_cache(data_dir, publish, stub, damage):
    publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77))
    stub(X_SMALL, OPENML_LABELS)
    path = Path(load("six", download=True).file)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "no archive":
        path.write_bytes(b"x,y\n1,2\n")
    elif damage == "no X":
        np.savez(path, y=Y_SMALL)
    else:
        np.savez(path, X=X_SMALL[:, :1], y=Y_SMALL)
    with pytest.raises(DataFormatError, match="delete it, and it will be downloaded again"):
        load("six", download=True)
    path.unlink()
    assert load("six", download=True).X.shape == (6, 2)


def test_nothing_half_written_is_left(data_dir, publish, stub, monkeypatch):
    publish("six", X=X_SMALL, y=Y_SMALL, openml=OpenMLSource(77))
    stub(X_SMALL, OPENML_LABELS)

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        load("six", download=True)
    assert list((data_dir.parent / "cache").iterdir()) == []


# Recipes: small tables made by hand, as OpenML gives them


def texts(*columns):
    return [np.array(column, dtype=str) for column in columns]


def test_every_recipe_of_the_catalogue_is_there_and_in_words():
    named = {entry.openml.recipe for entry in CATALOGUE.values() if entry.openml} - {""}
    assert named == set(recipes.RECIPES)
    assert all(recipe.__doc__ for recipe in recipes.RECIPES.values())
    for entry in CATALOGUE.values():
        if entry.openml:
            assert entry.openml.name
            assert entry.openml.pattern == "" or re.fullmatch("[0-9a-f]{64}", entry.openml.pattern)
            assert not entry.openml.drawn or entry.openml.recipe


def test_standardised_numbers():
    X, y = recipes.standard(texts(["1", "2.5", "9"], ["4", "4.5", "5"]), np.array(["a", "b", "a"]))
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(X.std(axis=0, ddof=1), 1.0)
    assert y.tolist() == [-1, 1, -1]


def test_breast_cancer_leaves_out_rows_with_missing_values():
    rows = [
        "40-49 premeno 15-19 0-2 yes 3 right left_up no recurrence-events",
        "50-59 ge40 25-29 0-2 ? 1 left central no no-recurrence-events",
        "20-29 lt40 5-9 24-26 no 2 left right_low yes no-recurrence-events",
    ]
    *columns, target = texts(*zip(*(row.split() for row in rows), strict=True))
    X, y = recipes.breast_cancer(columns, target)
    assert y.tolist() == [1, -1]
    codes = X * recipes.BREAST_CANCER_SCALE + recipes.BREAST_CANCER_CENTRE
    np.testing.assert_allclose(codes, [[3, 2, 3, 0, 0, 2, 1, 0, 1], [1, 0, 1, 8, 1, 1, 0, 3, 0]], atol=1e-9)
    with pytest.raises(ValueError, match="the value 'unknown' is none of lt40, ge40, premeno"):
        recipes.breast_cancer([columns[0], np.full(3, "unknown"), *columns[2:]], target)


def credit(names: bool):
    """Two applicants, with categories by name or by UCI's codes."""
    told = {
        0: ("no checking", "<0"), 2: ("existing paid", "all paid"), 3: ("other", "radio/tv"), 5: ("<100", ">=1000"),
        6: ("<1", ">=7"), 8: ("male single", "male div/sep"), 9: ("none", "guarantor"), 11: ("car", "real estate"),
        13: ("none", "bank"), 14: ("own", "for free"), 16: ("skilled", "unskilled resident"), 18: ("none", "yes"),
        19: ("yes", "no"),
    }  # fmt: skip
    coded = (
        "14 11 32 31 410 43 61 64 72 75 93 91 101 103 123 121 143 141 152 153 173 172 191 192 201 202".split()
    )
    if not names:
        told = {j: (f"A{coded[2 * at]}", f"A{coded[2 * at + 1]}") for at, j in enumerate(told)}
    return texts(*(told.get(j, ("10", "20")) for j in range(20)))


def test_credit_by_names_and_by_codes_is_the_same():
    X, y = recipes.german(credit(names=True), np.array(["bad", "good"]))
    X_codes, y_codes = recipes.german(credit(names=False), np.array(["2", "1"]))
    np.testing.assert_array_equal(X, X_codes)
    assert y.tolist() == y_codes.tolist() == [1, -1]
    # of two numbers, standardised, only which is larger is left
    assert (X[0] > 0)[:8].tolist() == [True, False, True, True, False, False, False, False]
    three = [np.append(column, column[0]) for column in credit(names=True)]
    three[3] = np.array(["other", "radio/tv", "new car"])
    purpose = recipes.german(three, np.array(["bad", "good", "good"]))[0][:, 3]
    assert (purpose[0] - purpose[2]) / (purpose[1] - purpose[2]) == pytest.approx((410 - 40) / (43 - 40))


def test_image_segments_lose_the_constant_column():
    columns = texts(["1", "2", "4"], ["9", "9", "9"], ["0.5", "0", "0.25"])
    X, y = recipes.image(columns, np.array(["BRICKFACE", "grass", "path"]))
    assert X.shape == (3, 2)
    assert y.tolist() == [1, -1, 1]


def test_splice_leaves_out_rows_with_other_letters():
    rows = ["ACGT" * 15, "N" + "ACG" * 19 + "TT", "TTTT" * 15]
    columns = texts(["x", "y", "z"], *zip(*rows, strict=True))
    X, y = recipes.splice(columns, np.array(["EI", "IE", "N"]))
    assert X[0, :4].tolist() == [1, 3, 2, 4]
    assert X.shape == (2, 60)
    assert y.tolist() == [1, -1]


def test_thyroid_and_titanic():
    X, y = recipes.thyroid(texts(["109.38"] * 3, ["9.881"] * 3, *[["1"] * 3] * 3), np.array(["1", "3", "1"]))
    np.testing.assert_allclose(X[:, :2], 0.0, atol=1e-12)
    assert y.tolist() == [-1, 1, -1]
    named = texts(["1st", "crew", "3rd"], ["adult", "child", "adult"], ["female", "male", "male"])
    numbered = texts(["-1.87", "0.965", "0.0214"], ["-0.228", "4.38", "-0.228"], ["-1.92", "0.521", "0.521"])
    X, y = recipes.titanic(named, np.array(["1", "0", "0"]))
    assert y.tolist() == [1, -1, -1]
    np.testing.assert_array_equal(X.argsort(axis=0)[:, 0], [0, 2, 1])
    # of numbers the order of the values that occur counts
    np.testing.assert_array_equal(
        recipes.titanic(numbered, np.array(["1", "0", "0"]))[0].argsort(axis=0)[:, 0], [0, 2, 1]
    )


def test_flares_without_the_columns_are_refused():
    with pytest.raises(ValueError, match="no column has values that occur 164, 902 times"):
        recipes.flare_solar(texts(["1", "2"]), np.array(["a", "b"]))


@pytest.fixture
def titanic_table(data_dir, publish, stub):
    """A table of four passengers, and the entry it is the set of."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "class": ["'crew'", "1st", "2nd", "3rd"],
            "age": ["adult"] * 3 + ["child"],
            "sex": ["male"] * 3 + ["female"],
        }
    )
    X, y = recipes.in_published_order(
        *recipes.titanic(
            texts(["crew", "1st", "2nd", "3rd"], frame["age"], frame["sex"]), np.array(["0", "0", "1", "0"])
        )
    )
    source = OpenMLSource(77, "boats", recipe="titanic", pattern=recipes.pattern(X, y), drawn=3)
    publish("six", X=X, y=y, openml=source, train_idx=np.zeros((2, 3), int), test_idx=np.zeros((2, 1), int))
    return frame, X, y, stub(frame, pd.Series(["0", "0", "1", "0"]))


def test_a_recipe_gives_rows_order_and_splits(data_dir, titanic_table):
    _, X, y, fetch = titanic_table
    data = load("six", download=True)
    assert fetch.calls == [{"data_id": 77, "as_frame": True, "parser": "auto"}]
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert (np.diff(data.X[:, 0]) > 0).all()
    assert data.train_idx.shape == (2, 3)
    assert data.n_published == 0
    for train, test in zip(data.train_idx, data.test_idx, strict=True):
        assert sorted([*train, *test]) == [0, 1, 2, 3]
    assert load("six", download=True).file == data.file
    assert len(fetch.calls) == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"class": ["crew", "1st", "3rd", "2nd"]},
            r"gives other rows than six has \(checksum [0-9a-f]{64}, expected",
        ),
        ({"class": ["1st", "lounge", "2nd", "3rd"]}, r"the value 'lounge' is none of 1st, 2nd, 3rd, crew"),
        ({"extra": ["a"] * 4}, r"is not the table six was made from"),
    ],
)
def test_another_table_is_refused_and_not_kept(data_dir, titanic_table, change, complaint):
    frame, _, _, fetch = titanic_table
    fetch.answer.data = frame.assign(**change)
    with pytest.raises(DataFormatError, match=rf"OpenML's set 77 \(boats\) .*{complaint}"):
        load("six", download=True)
    assert not (data_dir.parent / "cache").exists()


def test_other_classes_are_refused(data_dir, titanic_table):
    fetch = titanic_table[3]
    fetch.answer.target = fetch.answer.target.replace("1", "0").where(lambda y: y.index > 1, "1")
    with pytest.raises(DataFormatError, match=r"with the classes \{-1: 2, 1: 2\}, but six has"):
        load("six", download=True)


# The published files themselves


def raw_table(name: str, data: Bunch):
    """What a published set was made from, as far as it can be told from the set: columns and target."""
    X, y = data.X, data.y
    if name == "ida_breast_cancer":
        codes = np.rint(X * recipes.BREAST_CANCER_SCALE + recipes.BREAST_CANCER_CENTRE).astype(int)
        columns = [np.array(order.split())[codes[:, j]] for j, order in enumerate(recipes.BREAST_CANCER)]
        return columns, np.where(y > 0, "recurrence-events", "no-recurrence-events")
    if name == "ida_german":
        columns = []
        for j, column in enumerate(X.T):
            if j in recipes.CREDIT:
                named = [
                    value for value in recipes.CREDIT[j][1] if value not in ("vacation", "female single")
                ]
                named += ["other"] if j == 3 else []
                columns.append(np.array(named)[np.unique(column, return_inverse=True)[1]])
            else:
                columns.append(column)
        return columns, np.where(y > 0, "bad", "good")
    if name == "ida_splice":
        return list(np.array([*" AGCT"])[X.astype(int)].T), np.where(y > 0, "IE", "N")
    if name == "ida_thyroid":
        return list((X * recipes.THYROID_SCALE + recipes.THYROID_CENTRE).round(1).T), np.where(
            y > 0, "2", "1"
        )
    if name == "ida_titanic":
        return [
            np.array(order)[np.unique(c, return_inverse=True)[1]]
            for order, c in zip(recipes.TITANIC, X.T, strict=True)
        ], y
    if name == "ida_flare_solar":
        others = np.repeat(["X", "I", "C"], [331, 223, 35])
        spots = np.full(len(y), "O")
        spots[y > 0] = others
        return [spots, *X.T.astype(int)], y
    if name == "ida_image":
        return [*X.T[:2], np.full(len(X), 9.0), *X.T[2:]], np.where(y > 0, "sky", "grass")
    return list(X.T), y


@pytest.mark.published
@pytest.mark.parametrize(
    "name", [name for name, entry in CATALOGUE.items() if entry.openml and entry.openml.recipe]
)
def test_recipes_give_the_published_files(name, tmp_path, monkeypatch, stub):
    import pandas as pd

    wanted, entry = published(name), CATALOGUE[name]
    columns, target = raw_table(name, wanted)
    order = np.random.default_rng(0).permutation(len(target))
    frame = pd.DataFrame({f"column {j}": np.asarray(column)[order] for j, column in enumerate(columns)})
    stub(frame, pd.Series(np.asarray(target)[order]))
    monkeypatch.delenv("SLIMSVM_DATA")
    monkeypatch.setenv("SLIMSVM_CACHE", str(tmp_path))
    found = load(name, download=True)
    np.testing.assert_allclose(found.X, wanted.X, atol=1e-6)
    np.testing.assert_array_equal(found.y, wanted.y)
    if entry.openml.drawn:
        np.testing.assert_array_equal(found.train_idx, wanted.train_idx)
        np.testing.assert_array_equal(found.test_idx, wanted.test_idx)


# Larger files only repeat the layouts of these, at the price of seconds.
MANAGEABLE = [name for name, entry in CATALOGUE.items() if entry.n_rows * entry.n_features < 3e6]


@pytest.mark.published
@pytest.mark.parametrize("name", MANAGEABLE)
def test_the_files_are_what_the_catalogue_says(name):
    entry, data = CATALOGUE[name], published(name)
    assert data.X.shape == entry.shape
    assert len(data.train_idx) == len(data.test_idx) == entry.n_splits
    assert 0 <= data.n_published <= entry.n_splits
    if entry.task == "classification":
        labels, counts = np.unique(data.y, return_counts=True)
        assert tuple(zip(labels.tolist(), counts.tolist(), strict=True)) == entry.class_counts
    for train, test in zip(data.train_idx, data.test_idx, strict=True):
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(entry.n_rows))


@pytest.mark.published
def test_the_splits_of_banana_have_the_published_sizes():
    published("ida_banana")
    X_train, X_test, y_train, y_test = load_split("ida_banana", 3)
    assert X_train.shape == (400, 2)
    assert X_test.shape == (4900, 2)
    assert y_train.shape == (400,)
    assert y_test.shape == (4900,)
    with pytest.raises(ValueError, match=r"holds 10 \(numbers 0 to 9\), but index is 10"):
        load_split("ida_banana", 10)
