"""Data files in chunks: the rows and the encoding of the whole read, whatever the format and wherever a chunk ends."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from profiles import hard
from slimsvm import DataFormatError, FixedSizeLSSVC, TableEncoder, load, save
from slimsvm.reading import array_parts, delimited, read, read_chunks, survey, svmlight
from slimsvm.reading.files import data_files

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def small_parts(tmp_path, monkeypatch):
    """In an empty folder, with parts and chunks of a few rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(delimited, "ROWS_AT_A_TIME", 7)
    monkeypatch.setattr(svmlight, "ROWS_AT_A_TIME", 7)
    monkeypatch.setattr(array_parts, "CHUNK_BYTES", 1000)
    monkeypatch.setattr("slimsvm.reading.many.CHUNK_BYTES", 1000)


def numbers(n: int = 100, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 4)).round(3), columns=list("abcd"))
    return table.assign(y=(table["a"] * table["b"] > 0).astype(int))


def texts(n: int = 100, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = numbers(n, seed).assign(
        colour=rng.choice(["red", "green", "blue"], n), y=rng.choice(["no", "yes"], n)
    )
    table.loc[rng.random(n) < 0.1, "a"] = np.nan
    table.loc[rng.random(n) < 0.1, "colour"] = None
    return table[["a", "b", "colour", "y"]]


def all_of(reader):
    """All chunks of a pass as one."""
    chunks = list(reader())
    assert len(chunks) > 1
    X = [X for X, _ in chunks]
    stack = sparse.vstack(X).toarray() if sparse.issparse(X[0]) else np.concatenate(X)
    return stack, np.concatenate([y for _, y in chunks])


def put(name: str, content: str) -> str:
    Path(name).write_text(content)
    return name


# Formats


def write_csv(table, name):
    table.to_csv(f"{name}.csv", index=False)


def write_gz(table, name):
    table.to_csv(f"{name}.csv.gz", index=False)


def write_tsv(table, name):
    table.to_csv(f"{name}.tsv", index=False, sep="\t")


def write_with_index(table, name):
    table.to_csv(f"{name}.csv")


def write_parquet(table, name):
    table.to_parquet(f"{name}.parquet", row_group_size=13)


def write_npy(table, name):
    np.save(f"{name}.npy", table.to_numpy())


def write_fortran(table, name):
    np.save(f"{name}.npy", np.asfortranarray(table.to_numpy()))


def write_npz(table, name):
    np.savez_compressed(f"{name}.npz", X=np.ascontiguousarray(table[list("abcd")]), y=table["y"].to_numpy())


def write_npz_fortran(table, name):
    np.savez(f"{name}.npz", X=np.asfortranarray(table[list("abcd")]), y=table["y"].to_numpy())


def write_svm(table, name):
    dump_svmlight_file(table[list("abcd")].to_numpy(), table["y"], f"{name}.svm", zero_based=False)


WRITERS = [write_csv, write_gz, write_tsv, write_with_index, write_parquet, write_npy, write_fortran, write_npz,
           write_npz_fortran, write_svm]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS, ids=lambda writer: writer.__name__)
@pytest.mark.parametrize("cuts", [(0, 100), (0, 30, 31, 100)], ids=["one file", "three files"])
def test_chunks_have_the_rows_of_the_files(write, cuts):
    table = numbers()
    for j, (start, stop) in enumerate(itertools.pairwise(cuts)):
        write(table[start:stop], f"part-{j}")
    reader = read_chunks(".", scale=False)
    assert (reader.n_rows, reader.n_features, reader.classify) == (100, 4, True)
    for _ in range(2):
        X, y = (
            np.concatenate(parts)
            for parts in zip(*(piece() for piece in _dense(reader.pieces())), strict=True)
        )
        np.testing.assert_array_equal(X, table[list("abcd")])
        np.testing.assert_array_equal(y, table["y"])
        assert y.dtype == np.int64
        if write is not write_npz_fortran or len(cuts) > 2:  # else one part
            X, y = all_of(reader)
        np.testing.assert_array_equal(X, table[list("abcd")])
        np.testing.assert_array_equal(y, table["y"])


def _dense(pieces):
    def dense(piece):
        X, y = pickle.loads(pickle.dumps(piece))()
        return (X.toarray() if sparse.issparse(X) else X), y

    return [lambda piece=piece: dense(piece) for piece in pieces]


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_texts_and_missing_values_are_encoded_as_a_whole(write):
    table = texts()
    for j in range(4):
        write(table[25 * j : 25 * (j + 1)], f"part-{j}")
    reader = read_chunks(".", impute=True)
    encoder = TableEncoder(impute=True).fit(table.drop(columns="y"))
    assert reader.inputs == encoder.inputs_
    X, y = all_of(reader)
    np.testing.assert_array_equal(X, encoder.transform(table.drop(columns="y")))
    np.testing.assert_array_equal(y, table["y"])
    scaled, _ = all_of(read_chunks(".", impute=True, scale=True))
    np.testing.assert_allclose(scaled, StandardScaler().fit_transform(X), atol=1e-12)


def test_a_complete_model_takes_the_rows_of_the_files():
    table = texts(300)
    table["y"] = np.where(table["b"] > 0, "yes", "no")
    table[:200].to_csv("one.csv", index=False)
    table[200:].to_csv("two.csv", index=False)
    reader = read_chunks(["one.csv", "two.csv"], impute=True, scale=True)
    fitted = FixedSizeLSSVC(n_vectors=20, random_state=0).fit_chunks(reader)
    model = reader.complete(fitted)
    X, _ = all_of(reader)
    np.testing.assert_array_equal(model.predict(table), fitted.predict(X))
    save(model, "model.slim")
    np.testing.assert_array_equal(load("model.slim").predict(table), fitted.predict(X))
    assert (model.predict(table) == table["y"]).mean() > 0.9


def test_medians_of_many_rows_come_from_a_sample(monkeypatch):
    monkeypatch.setattr(survey, "MEDIAN_ROWS", 40)
    table = texts(1000)
    table.to_csv("all.csv", index=False)
    reader = read_chunks("all.csv", impute=True)
    assert reader.inputs == read_chunks("all.csv", impute=True).inputs  # the same sample each time
    fill = dict(reader.inputs.fill)
    assert fill[0] in table["a"].to_numpy() or fill[0] * 2 in np.add.outer(table["a"], table["a"])
    below = (table["a"].dropna() < fill[0]).mean()
    assert 0.25 < below < 0.75
    assert fill[2] == table["colour"].mode()[0]  # texts are counted in all rows


@pytest.mark.parametrize("write", [write_csv, write_svm, write_parquet])
def test_a_copy_has_the_same_chunks(write, monkeypatch):
    os.mkdir("copies")
    write(numbers(), "all")
    plain, kept = (read_chunks(".", cache=cache) for cache in (None, "copies"))
    for chunk in itertools.islice(kept(), 2):  # a pass that ends early has made no copy
        pass
    first = list(kept())
    assert os.listdir("copies")
    monkeypatch.setattr("slimsvm.reading.chunks.parts_of", None)  # nothing is parsed again
    second = list(kept())
    for chunks in (first, second):
        for (X, y), (expected, labels) in zip(chunks, first, strict=True):
            assert type(X) is type(expected)
            np.testing.assert_array_equal(y, labels)
            difference = X - expected
            assert not (difference.nnz if sparse.issparse(X) else difference.any())
    assert sum(len(y) for _, y in first) == plain.n_rows
    assert len(plain.pieces()) == len(kept.pieces())
    del kept
    assert not os.listdir("copies")
    with pytest.raises(DataFormatError, match="nowhere: no copy can be kept there"):
        plain.copied("nowhere")


# Where chunks and files end


def test_a_chunk_may_end_beside_a_quoted_line_break():
    rows = [(i, f'say "{i}",\nor\r\nnot' if i % 3 else "plain", "u" if i % 2 else "v") for i in range(40)]
    pd.DataFrame(rows * 2, columns=["a", "b", "y"]).to_csv("quoted.csv", index=False)
    whole = read("quoted.csv")
    parts = list(read_parts("quoted.csv"))
    assert len(parts) > 5
    for name in whole.names:
        np.testing.assert_array_equal(
            np.concatenate([part.column(name) for part in parts]), whole.column(name)
        )
    assert [part.where(0) for part in parts[:2]] == ["quoted.csv, line 2", "quoted.csv, line 19"]


def read_parts(name):
    from slimsvm.reading import How

    return How().parts(name)


def test_what_only_the_last_file_has_is_known_in_all_chunks():
    put("a.csv", "x,colour,gap,y\n" + "1,red,,u\n2,blue,,v\n" * 20)
    put("b.csv", "x,colour,gap,y\n" + "1,green,deep,u\n2,blue,flat,w\n3,red,,w\n" * 5)
    reader = read_chunks(".", impute=True)
    assert reader.inputs.fill == ((0, 2.0), (1, "blue"), (2, "deep"))
    X, y = all_of(reader)
    assert X.shape == (55, 1 + 3 + 1)
    assert set(y) == {"u", "v", "w"}
    assert (X[:40, 4] == 0).all()
    model = FixedSizeLSSVC(n_vectors=4, random_state=0).fit_chunks(reader)
    assert list(model.classes_) == ["u", "v", "w"]


def test_the_widest_libsvm_file_gives_the_number_of_features():
    put("a.svm", "1 1:1\n-1 2:2\n" * 50)
    put("b.svm", "1 1:1 9:3\n-1\n" * 50)
    reader = read_chunks(["a.svm", "b.svm"])
    assert reader.n_features == 9
    assert {X.shape[1] for X, _ in reader()} == {9}
    put("c.svm", "1 0:1 2:2\n" * 3)  # counted from 0, and so in all of them
    reader = read_chunks(["a.svm", "b.svm", "c.svm"])
    X, _ = all_of(reader)
    assert X.shape == (203, 10)
    np.testing.assert_array_equal(X[0], np.eye(10)[1])


def test_files_without_rows_are_passed_over():
    numbers(20).to_csv("a.csv", index=False)
    put("b.csv", "")
    put("c.csv", "a,b,c,d,y\n")
    put("d.csv", "\n\n")
    numbers(20, seed=1).to_csv("e.csv", index=False)
    reader = read_chunks(".")
    assert reader.n_rows == 40
    assert len(all_of(reader)[1]) == 40
    assert sum(len(piece()[1]) for piece in reader.pieces()) == 40
    with pytest.raises(DataFormatError, match=r"b\.csv: there are no rows, nor in the other files"):
        read_chunks(["b.csv", "c.csv"])
    with pytest.raises(DataFormatError, match=r"c\.csv, line 1: there is a header and nothing below"):
        read_chunks("c.csv")


def test_an_index_may_count_on_from_file_to_file():
    table = numbers(60)
    table[:30].to_csv("a.csv")
    table[30:].to_csv("b.csv")
    assert read_chunks(["a.csv", "b.csv"]).inputs.names == tuple("abcd")


def test_whole_numbers_are_labels_only_if_all_are_whole():
    put("a.csv", "x,y\n" + "".join(f"{i},{i % 3}\n" for i in range(20)))
    put("b.csv", "x,y\n1,0.5\n2,1\n")
    assert read_chunks("a.csv").classify
    both = read_chunks(["a.csv", "b.csv"])
    assert not both.classify
    assert {y.dtype for _, y in both()} == {np.dtype(float)}
    put("many.csv", "x,y\n" + "".join(f"{i},{i}\n" for i in range(50)))
    assert not read_chunks("many.csv").classify
    assert read_chunks("many.csv", task="classification").classify


def test_a_directory_is_the_data_files_in_it():
    for name in ("b.csv", "a.csv", ".hidden.csv", "_SUCCESS", "readme.md", "c.csv.gz", "d.parquet"):
        put(name, "x")
    os.mkdir("more.csv")
    os.mkdir("none")
    assert data_files(["."]) == ("./a.csv", "./b.csv", "./c.csv.gz", "./d.parquet")
    assert data_files(["b.csv", "readme.md"]) == ("b.csv", "readme.md")
    with pytest.raises(DataFormatError, match=r"none: there is no data file in the directory"):
        data_files(["none"])
    with pytest.raises(DataFormatError, match="read alone"):
        data_files(["-", "a.csv"])
    with pytest.raises(DataFormatError, match="only once"):
        read_chunks("-")


# What is wrong

GOOD = "a,b,y\n" + "1,2,u\n3,4,v\n" * 10
WRONG = {
    "columns in another order": ("b,a,y\n1,2,u\n", r"^z\.csv: column 1 is 'b', but 'a' in a\.csv"),
    "a column too few": ("a,y\n1,u\n", r"^z\.csv: the file lacks a column 'b', unlike a\.csv"),
    "a column too many": ("a,b,c,y\n1,2,3,u\n", r"^z\.csv: the file has a column 'c', unlike a\.csv"),
    "texts": (
        "a,b,y\n1,2,u\nfoo,2,v\nbar,1,v\n",
        r"^z\.csv, line 2: column 'a' has '1', a number among texts",
    ),
    "texts only": (
        "a,b,y\n,2,u\nfoo,2,v\n",
        r"^z\.csv, line 3: column 'a' has 'foo', a text, but numbers in a\.csv",
    ),
    "a gap": ("a,b,y\n1,2,u\n3,,v\n,,v\n", r"^z\.csv, line 4: column 'a' has no value\. Fit with --impute"),
    "no target": ("a,b,y\n1,2,u\n3,2,\n", r"^z\.csv, line 3: the target 'y' has no value"),
    "ragged": ("a,b,y\n1,2,u\n3,v\n", r"^z\.csv, line 3: the line has 2 fields"),
    "numbers to predict": ("a,b,y\n1,2,7\n3,4,8\n", r"^z\.csv: the target has numbers, 7"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_its_file(name):
    content, words = WRONG[name]
    put("a.csv", GOOD), put("z.csv", content)
    with pytest.raises(DataFormatError, match=words):
        read_chunks(["a.csv", "z.csv"])


def test_what_is_wrong_with_columns():
    put("names.csv", "name,x,y\n" + "".join(f"n{i},{i},{'uv'[i % 2]}\n" for i in range(50)))
    with pytest.raises(DataFormatError, match=r"names\.csv: X has 50 different texts in column 'name'"):
        read_chunks("names.csv")
    assert read_chunks("names.csv", drop=["name"]).n_features == 1
    put("gap.csv", "x,e,y\n1,,u\n2,,v\n")
    with pytest.raises(DataFormatError, match="column 'e' has no value at all"):
        read_chunks("gap.csv", impute=True)
    put("one.csv", "y\nu\nv\n")
    with pytest.raises(DataFormatError, match="one column only"):
        read_chunks("one.csv")
    put("same.csv", "x,y\n1,u\n2,u\n")
    with pytest.raises(DataFormatError, match="has one value only, 'u'"):
        read_chunks("same.csv")
    with pytest.raises(DataFormatError, match="has texts: that is classification"):
        read_chunks("gap.csv", drop=["e"], task="regression")
    numbers(30).to_csv("a.csv", index=False), numbers(30).to_parquet("b.parquet")
    assert read_chunks(["a.csv", "b.parquet"]).n_rows == 60
    np.save("c.npy", numbers(30).to_numpy())
    with pytest.raises(DataFormatError, match=r"c\.npy: this is an array, but a\.csv is a table"):
        read_chunks(["a.csv", "c.npy"])
    np.save("d.npy", np.zeros((5, 3)))
    with pytest.raises(
        DataFormatError, match=r"d\.npy: there are 2 columns beside the target, but 4 in c\.npy"
    ):
        read_chunks(["c.npy", "d.npy"])


def test_too_many_categories_are_refused_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr(survey, "MOST_CATEGORIES", 30)
    put("codes.csv", "code,y\n" + "".join(f"c{i % 40},{'uv'[i % 2]}\n" for i in range(200)))
    with pytest.raises(DataFormatError, match=r"column 'code' has more than .* different values"):
        read_chunks("codes.csv")


def test_a_text_is_kept_once_and_not_for_good():
    """Python's own table of texts grows for the whole process, and Python 3.12 never takes one out again."""
    rows = "".join(f"{word},1\n" for word in ("an oak", " a fir", "an oak "))
    column = delimited.read_delimited(io.BytesIO(f"tree,y\n{rows}".encode()), "trees").values[0]
    assert column.tolist() == ["an oak", "a fir", "an oak"]
    assert column[0] is column[2]
    again = " ".join(["an", "oak"])
    assert sys.intern(again) is again


@pytest.mark.parametrize("write", WRITERS, ids=lambda writer: writer.__name__)
def test_a_file_that_ends_halfway_is_said_to_do_so(write):
    write(numbers(400), "whole")
    (name,) = os.listdir()
    content = Path(name).read_bytes()
    cut = len(content) // 2
    while write is write_svm and content[cut - 1 : cut] != b":":  # before a value
        cut += 1
    while name.endswith(("csv", "tsv")) and content[cut - 1 : cut] not in b",\t":
        cut += 1
    while name.endswith(("csv", "tsv")) and content[cut - 2 : cut - 1] == b"\n":
        cut += 1
    cut -= name.endswith(("csv", "tsv"))  # without the last separator: a field is missing
    Path(name).write_bytes(content[:cut])
    with pytest.raises(DataFormatError, match=rf"^{name}"):
        read_chunks(name)


def test_an_infinite_number_of_a_late_chunk_has_its_row():
    table = numbers(100).to_numpy()
    table[77, 2] = np.nan
    np.save("late.npy", table)
    with pytest.raises(DataFormatError, match=r"late\.npy: row 77 has a number that is not finite"):
        read_chunks("late.npy")
    frame = numbers(100)
    frame.loc[77, "c"] = np.inf
    frame.to_parquet("late.parquet", row_group_size=20)
    with pytest.raises(DataFormatError, match=r"late\.parquet: column 'c' has an infinite number in row 77"):
        read_chunks("late.parquet")
    frame.loc[77, "c"] = np.nan
    frame.to_parquet("late.parquet", row_group_size=20)
    with pytest.raises(DataFormatError, match=r"late\.parquet, row 77: column 'c' has no value"):
        read_chunks("late.parquet")


def test_unpacking_that_fails_halfway(monkeypatch):
    content = bytearray(gzip.compress(GOOD.encode() * 1000))
    content[len(content) // 2] ^= 0xFF
    Path("bad.csv.gz").write_bytes(bytes(content))
    with pytest.raises(DataFormatError, match=r"^bad\.csv\.gz"):
        read_chunks("bad.csv.gz")


# Memory


PEAK = """
import resource, sys
from slimsvm.reading import read_chunks
reader = read_chunks(sys.argv[1], scale=True)
for X, y in reader():
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak(name: str) -> float:
    """The most megabytes that a process takes to go through a file three times."""
    done = subprocess.run([sys.executable, "-c", PEAK, name], capture_output=True, text=True, check=True)
    return float(done.stdout)


@hard
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
@pytest.mark.parametrize("suffix", ["csv", "npy", "npz", "parquet", "svm"])
def test_memory_does_not_grow_with_the_files(suffix):
    rng = np.random.default_rng(0)
    for name, n in (("some", 150_000), ("many", 750_000)):  # 25 and 126 MB of numbers
        X = rng.normal(size=(n, 20)).round(5)
        y = (X[:, 0] > 0).astype(float)
        table = pd.DataFrame(np.column_stack([X, y])).rename(columns=lambda j: f"c{j}")
        if suffix == "csv":
            table.to_csv("some.csv", index=False) if name == "some" else write_five_times(
                "some.csv", "many.csv"
            )
        elif suffix == "npy":
            np.save(f"{name}.npy", table.to_numpy())
        elif suffix == "npz":
            np.savez(f"{name}.npz", X=X, y=y)
        elif suffix == "parquet":
            table.to_parquet(f"{name}.parquet", row_group_size=100_000)
        else:
            dump_svmlight_file(X[: n // 5], y[: n // 5], f"{name}.svm", zero_based=False)
    assert peak(f"many.{suffix}") - peak(f"some.{suffix}") < 40


def write_five_times(name: str, other: str) -> None:
    """The rows of a table five times, for that is quicker than to write numbers."""
    header, *lines = Path(name).read_text().splitlines(keepends=True)
    with open(other, "w") as file:
        file.write(header)
        for _ in range(5):
            file.writelines(lines)
