"""The command line, as someone at a shell would use it."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris
from sklearn.svm import SVC

import pages
import slimsvm
from profiles import in_turns
from slimsvm import to_libsvm

cyclopts = pytest.importorskip("cyclopts")

from slimsvm.cli import names  # noqa: E402
from slimsvm.cli.app import MethodName  # noqa: E402
from slimsvm.cli.main import main  # noqa: E402

PAGE = pages.ROOT / "docs" / "command-line.md"
FAILURE, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130


def customers(n: int, seed: int) -> pd.DataFrame:
    """A table with texts and holes; who buys depends on age, income and colour."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "age": rng.integers(18, 80, n).astype(float), "income": rng.normal(30, 10, n).round(2),
        "favourite colour": rng.choice(["red", "green", "blue"], n), "town": rng.choice(["small", "large"], n),
    })  # fmt: skip
    z = (table["age"] - 45) / 15 * np.where(table["favourite colour"] == "red", 1, -1) + (
        table["income"] - 30
    ) / 10
    table["bought"] = np.where(z + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    table.loc[rng.random(n) < 0.05, "age"] = np.nan
    table.loc[rng.random(n) < 0.05, "favourite colour"] = None
    return table


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with data and a fitted model, made once."""
    folder = tmp_path_factory.mktemp("shop")
    customers(300, 0).to_csv(folder / "train.csv", index=False)
    customers(150, 1).to_csv(folder / "test.csv", index=False)
    assert (
        main(["fit", str(folder / "train.csv"), "--impute", "-q", "--out", str(folder / "model.slim")]) == 0
    )
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def put(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


# Fitting and predicting


def test_a_table_goes_the_whole_way_and_agrees_with_python(shop, capsys):
    train, test, model = (str(shop / name) for name in ("train.csv", "test.csv", "model.slim"))
    assert main(["predict", model, test, "--proba", "--scores"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(found) == ["label", "score", "p(no)", "p(yes)"]
    table = pd.read_csv(test)
    loaded = slimsvm.load(model)
    assert (found["label"] == loaded.predict(table)).all()
    np.testing.assert_allclose(found["p(yes)"], loaded.predict_proba(table)[:, 1], rtol=1e-12)
    assert (found["label"] == table["bought"]).mean() > 0.8
    for to, suffix in names.EXPORTS.items():
        expected = BAD_MODEL if to == "libsvm" else 0  # which knows no texts
        assert main(["export", model, "--to", to, "--out", f"m{suffix}", "--data", train]) == expected
        assert Path(f"m{suffix}").exists() == (expected == 0)
    assert main(["reduce", model, "--data", train, "--max-vectors", "3", "--out", "small.slim"]) == 0
    assert slimsvm.load("small.slim").n_vectors_ <= 3
    capsys.readouterr()
    assert main(["predict", "small.slim", test, "--out", "answers.csv"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "150 answers are in answers.csv" in captured.err
    answers = pd.read_csv("answers.csv")["label"]
    assert (answers == slimsvm.load("small.slim").predict(table)).all()


def test_the_same_pipeline_in_python_gives_the_same_model(shop):
    from sklearn.pipeline import make_pipeline

    table = pd.read_csv(shop / "train.csv")
    pipe = make_pipeline(slimsvm.TableEncoder(impute=True), slimsvm.CompactSVC(random_state=0))
    pipe.fit(table.drop(columns="bought"), table["bought"])
    other = pd.read_csv(shop / "test.csv")
    np.testing.assert_array_equal(
        pipe.predict_proba(other.drop(columns="bought")),
        slimsvm.load(shop / "model.slim").predict_proba(other),
    )


def test_what_fit_says(shop, capsys):
    arguments = ["fit", str(shop / "train.csv"), "--impute", "--test", str(shop / "test.csv")]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "300 rows of 4 columns, 2 of them of texts; target 'bought': 2 classes" in captured.err
    assert "Missing values are replaced" in captured.err
    assert "150 rows of" in captured.out
    assert "train.slim" in captured.out
    assert main([*arguments, "--json", "--quiet", "--out", "other.slim"]) == 0
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert captured.err == ""
    assert said["estimator"] == "CompactSVC"
    assert said["test_score"] > 0.8
    assert said["vectors"] == slimsvm.load("other.slim").n_vectors_
    assert Path("train.slim").read_bytes() == Path("other.slim").read_bytes()  # the same seed, the same bytes


def test_the_console_sessions_of_the_page_are_what_happens():
    for name, n, seed in (("customers.csv", 600, 14), ("later.csv", 300, 15)):
        customers(n, seed).rename(columns={"favourite colour": "colour"}).to_csv(name, index=False)
    sessions = [block.text for block in pages.blocks(PAGE) if block.info == "console"]
    commands = re.findall(r"^\$ slimsvm (.+)\n((?:[^$].*\n)*)", "".join(sessions), re.MULTILINE)
    assert len(commands) == 4
    for command, shown in commands:
        arguments, _, lines = command.partition(" | head -")
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
            main(arguments.split())
        printed = said.getvalue().splitlines(keepends=True)[: int(lines) if lines else None]
        without_time = re.sub(r"(fitted in +)[\d.]+ s", r"\1… s", "".join(printed))
        assert pages.same(without_time, shown), f"{command} said\n{without_time}"


def test_limits_are_kept(shop, capsys):
    train = str(shop / "train.csv")
    assert (
        main(
            ["fit", train, "--impute", "--max-bytes", "100", "--number", "int8", "--json", "--out", "a.slim"]
        )
        == 0
    )
    assert slimsvm.budget.stored_bytes(slimsvm.load("a.slim").expansion_, number="int8") <= 100
    assert (
        main(["fit", train, "--impute", "--method", "pursuit", "--max-vectors", "5", "--out", "b.slim"]) == 0
    )
    assert slimsvm.load("b.slim").n_vectors_ <= 5
    assert main(["fit", train, "--impute", "--method", "rvm", "--max-vectors", "5"]) == FAILURE
    assert "use `slimsvm reduce --max-vectors`" in capsys.readouterr().err
    assert main(["fit", train, "--impute", "--method", "rvm", "--max-bytes", "5"]) == FAILURE
    assert main(["fit", train, "--impute", "--method", "lp", "--target", "income"]) == FAILURE
    assert "does no regression" in capsys.readouterr().err


@pytest.mark.parametrize("method", names.METHODS)
def test_every_method_fits(method, shop, capsys):
    iris = load_iris()
    pd.DataFrame(iris.data[::2]).assign(kind=iris.target_names[iris.target[::2]]).to_csv(
        "iris.csv", index=False
    )
    assert main(["fit", "iris.csv", "--method", method, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["train_score"] > 0.8
    assert main(["predict", "iris.slim", "iris.csv", "-q"]) == 0


def test_the_methods_are_those_of_the_options():
    assert tuple(names.METHODS) == MethodName.__args__
    made = {name for method in names.METHODS.values() for name in method if name}
    machines = {
        name for name in slimsvm.__all__
        if name.endswith(("SVC", "SVR", "RVC", "RVR", "GPC", "GPR", "ProbitClassifier"))
    }  # fmt: skip
    assert made == machines


def test_numbers_are_regression_and_other_files_are_read(capsys):
    X, y = load_diabetes(return_X_y=True)
    np.savez("a.npz", X=X, y=y)
    np.save("b.npy", np.column_stack([X, y]))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)]).assign(target=y)
    frame.to_parquet("c.parquet")
    frame.to_csv("d.tsv", sep="\t", index=False)
    frame.to_csv("e.csv.gz")
    dump_svmlight_file(X, y, "f.svm", zero_based=False)
    scores = []
    for name in ("a.npz", "b.npy", "c.parquet", "d.tsv", "e.csv.gz", "f.svm"):
        assert main(["fit", name, "--json", "-q"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["task"], said["columns"]) == ("regression", 10)
        scores.append(said["train_score"])
        source = "a.npz" if name == "b.npy" else name
        assert main(["predict", f"{name.split('.')[0]}.slim", source, "-q"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 443
    np.testing.assert_allclose(scores, scores[0], atol=0.05)


def test_standard_input_is_read(shop, capsys, monkeypatch):
    class Bytes:
        buffer = io.BytesIO((shop / "test.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", Bytes())
    assert main(["predict", str(shop / "model.slim"), "-", "--json", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 150
    assert json.loads(lines[0])["label"] in ("yes", "no")


def test_columns_are_taken_by_name_in_any_order(shop, capsys):
    table = pd.read_csv(shop / "test.csv")
    answers = []
    for columns in (list(table), list(table)[::-1], ["town", "income", "age", "favourite colour"]):
        table[columns].assign(more=1).to_csv("shuffled.csv", index=False)
        assert main(["predict", str(shop / "model.slim"), "shuffled.csv", "-q"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] == answers[2]


def test_categories_may_look_like_numbers(capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"code": rng.choice([3, 7, 9], 200), "x": rng.normal(size=200)})
    table["y"] = np.where((table["code"] == 7) ^ (table["x"] > 0), "a", "b")
    table.to_csv("codes.csv", index=False)
    assert main(["fit", "codes.csv", "--categorical", "code", "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["train_score"] > 0.95
    assert slimsvm.load("codes.slim").model.inputs.n_numbers == 4
    assert main(["predict", "codes.slim", "codes.csv", "-q"]) == 0
    assert (pd.read_csv(io.StringIO(capsys.readouterr().out))["label"] == table["y"]).mean() > 0.95


# Many files, and more rows than memory holds


@pytest.fixture
def months(shop):
    """The rows of the shop in a folder of files."""
    os.mkdir("months")
    table = pd.read_csv(shop / "train.csv")
    for month in range(3):
        table[100 * month : 100 * (month + 1)].to_csv(f"months/{month}.csv", index=False)
    put("months/notes.md", "not data")
    return sorted(f"months/{name}" for name in os.listdir("months") if name.endswith("csv"))


@pytest.fixture
def in_chunks(monkeypatch):
    """As if a few kilobytes were large."""
    monkeypatch.setattr("slimsvm.cli.data.WHOLE_BYTES", 2000)
    monkeypatch.setattr("slimsvm.reading.array_parts.CHUNK_BYTES", 2000)
    monkeypatch.setattr("slimsvm.reading.delimited.ROWS_AT_A_TIME", 40)


def test_many_files_give_the_model_of_their_rows_in_one(shop, months, capsys):
    expected = (shop / "model.slim").read_bytes()
    for given in (months, ["months"]):
        assert main(["fit", *given, "--impute"]) == 0
        captured = capsys.readouterr()
        assert "0.csv and 2 other files: 300 rows of 4 columns, 2 of them of texts" in captured.err
    for written in ("0.slim", "months.slim"):
        assert Path(written).read_bytes() == expected


def test_large_files_are_fitted_in_chunks(shop, months, in_chunks, capsys):
    arguments = [
        "fit",
        "months",
        "--impute",
        "--test",
        str(shop / "test.csv"),
        "--test",
        months[0],
        "--out",
        "m.slim",
    ]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert (
        "300 rows of 4 columns; target 'bought': 2 classes; 11.7 kB of numbers, read in chunks"
        in captured.err
    )
    assert "Missing values are replaced" in captured.err
    assert "on the 250 rows of" in captured.out
    # all rows are in the sample that chooses the vectors, and all medians are exact
    assert Path("m.slim").read_bytes() == (shop / "model.slim").read_bytes()
    assert main([*arguments, "--json", "-q"]) == 0
    said = json.loads(capsys.readouterr().out)
    model, train, test = (
        slimsvm.load("m.slim"),
        pd.read_csv(shop / "train.csv"),
        pd.read_csv(shop / "test.csv"),
    )
    assert said["rows"] == 300
    assert said["train_score"] == (model.predict(train) == train["bought"]).mean()
    both = pd.concat([test, train[:100]])
    assert said["test_score"] == (model.predict(both) == both["bought"]).mean()


@pytest.mark.parametrize("method", ["empirical", "fixed-size", "greedy-ls", "pursuit"])
def test_other_methods_in_chunks_are_scaled_and_searched(method, shop, months, in_chunks, capsys):
    os.mkdir("copies")
    arguments = ["fit", "months", "--impute", "--method", method, "--max-vectors", "8", "--json", "-q"]
    arguments += ["--cache", "copies"] if method in ("empirical", "pursuit") else []
    assert main([*arguments, "--out", "m.slim"]) == 0
    said = json.loads(capsys.readouterr().out)
    train = pd.read_csv(shop / "train.csv")
    right = (slimsvm.load("m.slim").predict(train) == train["bought"]).mean()
    assert right == said["train_score"] > 0.6
    assert said["C"] if method != "pursuit" else said["gamma"]
    assert not os.listdir("copies")


def test_regression_in_chunks(in_chunks, capsys):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60], y[:60]
    for j in range(2):
        np.save(f"{j}.npy", np.column_stack([X, y])[j::2])
        dump_svmlight_file(X[j::2], y[j::2], f"{j}.svm", zero_based=False)
    for suffix in ("npy", "svm"):
        arguments = ["fit", f"0.{suffix}", f"1.{suffix}", "--json", "-q", "--test", f"0.{suffix}"]
        assert main([*arguments, "--method", "pursuit", "--max-vectors", "3"]) == 0
        said, model = json.loads(capsys.readouterr().out), slimsvm.load("0.slim")
        assert (said["rows"], said["columns"]) == (60, 10)
        assert said["train_score"] == pytest.approx(model.score(X, y), abs=1e-12)
        assert said["test_score"] == pytest.approx(model.score(X[::2], y[::2]), abs=1e-12)


def test_what_cannot_be_done_in_chunks_is_said(months, in_chunks, capsys):
    assert main(["fit", "months", "--impute", "--method", "rvm"]) == FAILURE
    said = capsys.readouterr().err
    assert (
        "the method rvm needs all rows at once; compact, empirical, fixed-size, greedy-ls, pursuit do not"
        in said
    )
    assert main(["fit", "months", "--impute", "--report", "r.html"]) == FAILURE
    assert "fit without --report" in capsys.readouterr().err
    assert main(["fit", "months", "--method", "full"]) == BAD_DATA
    assert "column 'age' has no value (and in" in capsys.readouterr().err
    put("months/3.csv", "age,income,town,favourite colour,bought\n1,2,small,red,yes\n")
    assert main(["fit", "months", "--impute"]) == BAD_DATA
    assert (
        "months/3.csv: column 3 is 'town', but 'favourite colour' in months/0.csv" in capsys.readouterr().err
    )
    os.mkdir("empty")
    assert main(["fit", "empty"]) == BAD_DATA
    assert "empty: there is no data file in the directory" in capsys.readouterr().err


def test_what_is_wrong_with_test_rows_is_said_before_the_fit(months, in_chunks, capsys):
    assert main(["fit", *months, "--impute", "--test", put("t.csv", "age,income\n1,2\n")]) == BAD_DATA
    assert "t.csv: there is no column 'bought', the target" in capsys.readouterr().err
    header = "age,income,favourite colour,town,bought\n"
    rows = "1,2,red,small,yes\n" * 100 + "1,2,mauve,small,yes\n"
    assert main(["fit", *months, "--impute", "--test", put("t.csv", header + rows)]) == BAD_DATA
    said = capsys.readouterr().err
    assert "t.csv, line 102: column 'favourite colour' has 'mauve'" in said
    assert "fitting" not in said


def test_answers_are_written_as_they_come(shop, months, in_chunks, capsys, monkeypatch):
    model, train = str(shop / "model.slim"), str(shop / "train.csv")
    monkeypatch.setattr("slimsvm.reading.array_parts.CHUNK_BYTES", 2**24)
    assert main(["predict", model, train, "--proba", "--scores"]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr("slimsvm.reading.array_parts.CHUNK_BYTES", 2000)
    for given in ([train], months, ["months"]):
        assert main(["predict", model, *given, "--proba", "--scores"]) == 0
        assert capsys.readouterr().out == expected
        assert main(["predict", model, *given, "--proba", "--scores", "--out", "answers.csv"]) == 0
        assert "300 answers are in answers.csv" in capsys.readouterr().err
        assert Path("answers.csv").read_text() == expected
    assert main(["predict", model, "months", "--json", "-q"]) == 0
    assert len([json.loads(line) for line in capsys.readouterr().out.splitlines()]) == 300
    # a file is there whole or not at all
    put("months/3.csv", "income,age,favourite colour,town\n1,2,red,small\n1,2,mauve,small\n")
    assert main(["predict", model, "months", "--out", "other.csv"]) == BAD_DATA
    assert "months/3.csv, line 3: column 'favourite colour' has 'mauve'" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["answers.csv", "months"]


def test_libsvm_files_are_predicted_with_the_columns_that_all_rows_show(monkeypatch, capsys):
    X, y = load_iris(return_X_y=True)
    slimsvm.save(SVC().fit(X, y), "iris.slim")
    monkeypatch.setattr("slimsvm.reading.svmlight.ROWS_AT_A_TIME", 40)
    answers = []
    for zero_based in (False, True):
        dump_svmlight_file(X, y, "iris.svm", zero_based=zero_based)
        assert main(["predict", "iris.slim", "iris.svm", "-q", "--scores"]) == 0
        answers.append(capsys.readouterr().out)

        class Bytes:
            buffer = io.BytesIO(Path("iris.svm").read_bytes())

        monkeypatch.setattr(sys, "stdin", Bytes())
        assert main(["predict", "iris.slim", "-", "-q", "--scores"]) == 0
        answers.append(capsys.readouterr().out)
    assert len(set(answers)) == 1


def test_a_cluster_that_is_not_there(months, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["fit", "months", "--impute", "--dask", "tcp://127.0.0.1:1"]) == FAILURE
    assert "pip install 'slimsvm[dask]'" in capsys.readouterr().err


def test_a_cluster_gives_the_same_model(shop, months, capsys):
    pytest.importorskip("slimsvm.dask")
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        assert main(["fit", "months", "--impute", "-q", "--json", "--out", "m.slim", "--dask", address]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 300
    assert Path("m.slim").read_bytes() == (shop / "model.slim").read_bytes()


# Reducing, paths, comparing


def test_models_of_others_are_reduced(capsys):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)
    svc = SVC().fit(X, y)
    to_libsvm(svc, "iris.model")
    assert main(["reduce", "iris.model", "--data", "iris.svm", "--max-vectors", "8", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["after"]["vectors"] <= 8 < said["before"]["vectors"]
    assert said["after"]["score"] > 0.9
    with open("iris.pkl", "wb") as file:
        pickle.dump(svc, file)
    assert main(["reduce", "iris.pkl", "--data", "iris.svm"]) == BAD_MODEL
    assert "can run any program" in capsys.readouterr().err
    assert main(["reduce", "iris.pkl", "--data", "iris.svm", "--allow-pickle", "--max-vectors", "9"]) == 0
    assert "reading it runs what is in it" in capsys.readouterr().err
    assert slimsvm.load("iris-small.slim").n_vectors_ <= 9
    assert main(["inspect", "iris.model"]) == 0
    assert "LIBSVM model" in capsys.readouterr().out
    assert main(["reduce", "iris.model", "--data", "iris.svm", "--max-bytes", "3"]) == FAILURE


def test_a_path_is_shown_and_drawn(shop, capsys):
    arguments = [
        "path",
        str(shop / "train.csv"),
        "--impute",
        "--method",
        "pursuit",
        "--size",
        "2",
        "--size",
        "8",
    ]
    assert main([*arguments, "--picture", "path.png"]) == 0
    assert "<- chosen" in capsys.readouterr().out
    assert Path("path.png").read_bytes().startswith(b"\x89PNG")
    assert main([*arguments, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"] == [2, 8]
    assert main(["path", str(shop / "train.csv"), "--impute", "--method", "rvm"]) == FAILURE


@pytest.mark.parametrize(("given", "form"), in_turns([[], ["--test"]], ["table", "json"]))
def test_methods_are_compared(given, form, shop, capsys):
    more = [*given, str(shop / "test.csv")] if given else []
    more += ["--json", "-q"] if form == "json" else []
    methods = ["compact", "rvm"]
    chosen = ["--method", "compact", "--method", "rvm"]
    assert main(["compare", str(shop / "train.csv"), "--impute", *chosen, *more]) == 0
    printed = capsys.readouterr().out
    if form == "json":
        rows = json.loads(printed)["rows"]
        assert [row["name"] for row in rows] == methods
        assert all(row["score"] > 0.75 for row in rows)
    else:
        assert all(method in printed for method in methods)
        assert Path("slimsvm-compare.png").exists()


def test_a_model_is_inspected(shop, capsys):
    assert main(["inspect", str(shop / "model.slim")]) == 0
    assert "favourite colour" in capsys.readouterr().out
    assert main(["inspect", str(shop / "model.slim"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == ["no", "yes"]


# What is wrong with files


BAD = {
    "ragged": ("a,b,y\n1,2,u\n3,v\n", 3, "the line has 2 fields, but line 1 has 3"),
    "wrong separator": ("a:b:y\n1:2:u\n3:4:v\n", None, "one column only"),
    "not a number": ("a,y\n1,u\nNaN,v\n3,u\n", 3, "column 'a' has no value. Fit with --impute"),
    "infinite": ("a,y\n1,u\ninf,v\n", 3, "column 'a' has an infinite number"),
    "a word among numbers": ("a,y\n1,u\nfoo,v\n2,u\n", 3, "column 'a' has 'foo', no number"),
    "a number among words": ("a,b,y\nx,1,u\n3,2,v\nz,1,u\n", 3, "column 'a' has '3', a number among texts"),
    "garbage": (bytes(range(256)) * 20, 1, "a byte 0"),
    "garbage without 0": (bytes(range(128, 256)) * 20, 1, "is not UTF-8"),
    "empty": ("", None, "the file is empty"),
    "blank": ("\n\n  \n", None, "the file is empty"),
    "header only": ("a,b,y\n", 1, "a header and nothing below it"),
    "Latin-1": ("a,b,y\n1,café,u\n2,thé,v\n".encode("latin-1"), 2, "byte 6 of the line (0xe9) is not UTF-8"),
    "UTF-16": ("a,y\n1,u\n".encode("utf-16"), 1, "UTF-16"),
    "two names": ("a,a,y\n1,2,u\n3,4,v\n", 1, "two columns have the name 'a'"),
    "one class": ("a,b,y\n1,2,u\n3,4,u\n", None, "has one value only, 'u'"),
    "open quote": ('a,b,y\n1,"x,u\n2,z,v\n', 3, "is a quote left open?"),
    "carriage returns": ("a,b,y\r1,2,u\r3,4,v\r", 1, "because of a carriage return within it"),
    "no target": ("a,b,y\n1,2,u\n3,4,\n", 3, "the target 'y' has no value"),
    "names of rows": ("a,b,y\n" + "".join(f"n{i},{i},{'uv'[i % 2]}\n" for i in range(50)), None, "name the rows"),
    "a long line": (b"a,b,y\n" + b"1" * (2**24 + 5), 2, "longer than 16,777,216 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_one_message_with_its_place(name, capsys):
    content, line, words = BAD[name]
    put("bad.csv", content)
    assert main(["fit", "bad.csv"]) == BAD_DATA
    said = [text for text in capsys.readouterr().err.splitlines() if text]
    assert len(said) == 1, said
    assert words in said[0]
    assert said[0].startswith("slimsvm: bad.csv" + ("" if line is None else f", line {line}:"))
    assert os.listdir() == ["bad.csv"]


BAD_LIBSVM = {
    "1 1:0.5 2147483648:2\n-1 1:1\n": "line 1: the index 2147483648 is not between",
    "1 1:0.5\n-1 foo\n": "line 2: 'foo' is no pair",
    "1 1:nan\n": "line 1: the value nan at index 1 is not finite",
    "1 3:1 2:1\n": "line 1: the index 2 comes after 3",
    "x 3:1\n": "line 1: the line begins with 'x'",
    "1 1:2:3\n": "line 1: '2:3' at index 1 is no number",
    "1 -4:2\n": "line 1: the index -4",
    "1 1.5:2\n": "line 1: '1.5:2' is no pair",
    "nan 1:2\n": "line 1: the label nan is not finite",
    "": "the file is empty",
}


@pytest.mark.parametrize("content", BAD_LIBSVM)
def test_a_bad_libsvm_file_is_one_message_with_its_place(content, capsys):
    assert main(["fit", put("bad.svm", content)]) == BAD_DATA
    assert BAD_LIBSVM[content] in capsys.readouterr().err


def test_bad_arrays_are_refused(capsys):
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save("flat.npy", np.zeros(3))
    np.save("nan.npy", np.full((3, 3), np.nan))
    np.savez("none.npz", Z=np.zeros(3))
    whole = Path("nan.npy").read_bytes()
    put("cut.npy", whole[:-8])
    put("huge.npy", whole.replace(b"(3, 3)", b"(9999999999, 3)".ljust(6)))
    put("torn.npz", Path("none.npz").read_bytes()[:-30])
    put("no.parquet", b"PAR1 and no more")
    for name in ("objects.npy", "flat.npy", "nan.npy", "none.npz", "cut.npy", "huge.npy", "torn.npz", "no.parquet",
                 "missing.csv", "."):  # fmt: skip
        assert main(["fit", name]) == BAD_DATA, name
        said = capsys.readouterr().err
        assert said.startswith(f"slimsvm: {name}"), said
        assert len(said.splitlines()) == 1


def test_marks_and_ends_of_lines_do_not_matter(capsys):
    plain = "a;b;y\n1,5;2;u\n2,5;3;v\n" * 1 + "".join(f"{i},5;{i};{'uv'[i > 9]}\n" for i in range(20))
    kinds = {
        "plain": plain.encode(),
        "bom": b"\xef\xbb\xbf" + plain.encode(),
        "crlf": plain.replace("\n", "\r\n").encode(),
        "blank lines": plain.replace("\n", "\n\n").encode(),
    }
    models = set()
    for kind, content in kinds.items():
        put("kind.csv", content)
        assert main(["fit", "kind.csv", "-q"]) == 0, kind
        models.add(Path("kind.slim").read_bytes())
    assert len(models) == 1
    latin = "a,b,y\n" + "".join(f"{i},{'café' if i % 3 else 'thé'},{'uv'[i > 9]}\n" for i in range(20))
    put("latin.csv", latin.encode("latin-1"))
    assert main(["fit", "latin.csv", "--encoding", "latin-1", "-q"]) == 0
    assert main(["fit", "latin.csv", "--encoding", "nonsense", "-q"]) == BAD_DATA


def test_rows_to_predict_must_fit_the_model(shop, capsys):
    model = str(shop / "model.slim")
    cases = {
        "age,income\n1,2\n": "there is no column 'favourite colour'",
        "age,income,favourite colour,town\n1,2,purple,small\n": "line 2: column 'favourite colour' has 'purple'",
        "age,income,favourite colour,town\nx,2,red,small\n": "line 2: column 'age' has 'x', where the model",
    }
    for content, words in cases.items():
        assert main(["predict", model, put("rows.csv", content)]) == BAD_DATA
        assert words in capsys.readouterr().err
    # what was imputed in training is imputed in predictions
    assert main(["predict", model, put("rows.csv", "age,income,favourite colour,town\n,,,\n")]) == 0
    plain = "a,b,y\n" + "".join(f"{i},{i * i % 7},{'uv'[i > 9]}\n" for i in range(20))
    assert main(["fit", put("plain.csv", plain), "-q"]) == 0
    capsys.readouterr()
    assert main(["predict", "plain.slim", put("rows.csv", "a,b\n1,2\n,3\n")]) == BAD_DATA
    assert "rows.csv, line 3: column 'a' has no value" in capsys.readouterr().err


def test_bad_models_have_their_own_code(shop, capsys):
    content = bytearray((shop / "model.slim").read_bytes())
    content[-3] ^= 1
    put("broken.slim", bytes(content))
    for name in ("broken.slim", "missing.slim", str(shop / "train.csv")):
        assert main(["predict", name, str(shop / "test.csv")]) == BAD_MODEL, name
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["export", "broken.slim", "--to", "c"]) == BAD_MODEL
    assert not Path("broken.h").exists()


def test_wrong_usage_has_its_own_code(capsys):
    for arguments in (
        ["fit"],
        ["fit", "a.csv", "--method", "nope"],
        ["fit", "a.csv", "--max-vectors", "0"],
        ["nothing"],
    ):
        assert main(arguments) == USAGE, arguments
        assert capsys.readouterr().err
    put("a.csv", "a,y\n1,u\n2,v\n")
    for arguments in (
        ["fit", "a.csv", "--max-vector", "3"],
        ["fit", "a.csv", "-o", "b.slim"],
        ["predict", "m", "-x"],
    ):
        assert main(arguments) == USAGE, arguments
        assert f"Unknown option: {arguments[2]}" in capsys.readouterr().err


def test_a_number_may_stand_for_a_missing_value(capsys):
    rows = "".join(f"{-999 if i == 7 else i},{i % 5},{'uv'[i > 20]}\n" for i in range(40))
    assert main(["fit", put("n.csv", "a,b,y\n" + rows), "--missing=-999"]) == BAD_DATA
    assert "n.csv, line 9: column 'a' has no value." in capsys.readouterr().err
    assert main(["fit", "n.csv", "--missing=-999", "--impute"]) == 0
    assert "replaced by medians and most frequent texts: a (1)" in capsys.readouterr().err


def test_texts_are_no_target_for_regression(shop, capsys):
    assert main(["fit", str(shop / "train.csv"), "--impute", "--task", "regression"]) == BAD_DATA
    assert "the target 'bought' has texts" in capsys.readouterr().err


def test_probabilities_that_are_not_there_are_said_to_be_so(capsys):
    X, y = load_iris(return_X_y=True)
    slimsvm.save(SVC().fit(X, y), "iris.slim")
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)
    assert main(["predict", "iris.slim", "iris.svm", "--proba"]) == FAILURE
    assert "no probabilities" in capsys.readouterr().err


# The process


def slimsvm_process(*arguments: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "slimsvm", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_help_imports_neither_numpy_nor_scikit_learn():
    for command in ([], ["fit"], ["compare"]):
        script = (
            "import sys\nfrom slimsvm.cli.main import main\ntry:\n"
            f"    main({[*command, '--help']!r})\nexcept SystemExit:\n    pass\n"
            "print(sorted({name.split('.')[0] for name in sys.modules} & {'numpy', 'scipy', 'sklearn', 'pandas'}))"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert "Usage: slimsvm" in done.stdout
        assert done.stdout.splitlines()[-1] == "[]"


def test_the_version_is_printed():
    process = slimsvm_process("--version")
    assert slimsvm.__version__ in process.communicate()[0]
    assert process.returncode == 0


def test_an_interrupt_keeps_the_best_model_or_leaves_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 20))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=9000) > 0).astype(int)
    np.savez("large.npz", X=X, y=y)
    for seconds in (0.0, 1.5):
        process = slimsvm_process("fit", "large.npz", "--out", "large.slim")
        assert "9,000 rows" in process.stderr.readline()  # the fit begins
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if process.returncode == 0:
            pytest.skip("the machine was too fast to be interrupted")
        assert "Traceback" not in err
        if Path("large.slim").exists():
            assert process.returncode == INTERRUPTED
            assert "the best model so far" in err
            assert slimsvm.load("large.slim").n_vectors_ >= 1
            Path("large.slim").unlink()
        else:
            assert out == ""
        assert os.listdir() == ["large.npz"]


def test_a_reader_that_goes_away_is_no_error(shop):
    command = f"{sys.executable} -m slimsvm predict model.slim test.csv -q | head -1"
    done = subprocess.run(command, shell=True, cwd=shop, capture_output=True, text=True)
    assert done.stdout == "label\n"
    assert done.stderr == ""


def test_answers_with_separators_are_quoted(capsys):
    table = pd.DataFrame({"x": np.arange(40.0), "y": ['a, "b"'] * 20 + ["c"] * 20})
    table.to_csv("odd.csv", index=False)
    assert main(["fit", "odd.csv", "-q"]) == 0
    capsys.readouterr()
    assert main(["predict", "odd.slim", "odd.csv", "-q"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert {row[0] for row in rows[1:]} <= {'a, "b"', "c"}


# The report


def test_a_fit_has_a_report(shop, capsys):
    arguments = [
        "fit",
        str(shop / "train.csv"),
        "--impute",
        "--test",
        str(shop / "test.csv"),
        "--report",
        "r.html",
    ]
    assert main(arguments) == 0
    assert "r.html" in capsys.readouterr().out
    page = Path("r.html").read_text()
    for words in ("CompactSVC on", "favourite colour", "150 test rows", "SVC"):
        assert words in page


def test_a_report_of_numbers_without_names():
    X, y = load_diabetes(return_X_y=True)
    np.savez("a.npz", X=X[:200], y=y[:200])
    assert main(["fit", "a.npz", "--report", "r.html", "-q"]) == 0
    assert "CompactSVR on a.npz" in Path("r.html").read_text()


def test_what_a_report_needs_is_said_before_the_work(shop, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["fit", str(shop / "train.csv"), "--impute", "--report", "r.html"]) == FAILURE
    assert "pip install 'slimsvm[report]'" in capsys.readouterr().err
    assert os.listdir() == []
