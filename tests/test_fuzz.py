"""The kept inputs of the fuzzer, and what it found: any bytes give a model, a table or one sentence."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import slimsvm
from fuzz import readers, run
from profiles import hard
from slimsvm import ModelFormatError
from slimsvm.errors import DataFormatError
from slimsvm.reading import read
from slimsvm.reading.delimited import read_delimited

REPOSITORY = Path(__file__).parents[1]


@pytest.mark.parametrize("name", run.READERS)
def test_the_readers_keep_their_promises_for_the_kept_inputs(name):
    paths = list(run.seeds(name))
    assert len(paths) >= 7
    for path in paths:
        readers.CHECKS[name](path.read_bytes())


def test_a_check_finds_what_is_broken(monkeypatch):
    monkeypatch.setattr(readers, "read_delimited", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        readers.check_table(b"\0a,b\n1,2\n")
    monkeypatch.setattr(readers, "LEAST_BYTES", 0)
    with pytest.raises(readers.Broken, match="bytes of memory"):
        readers.check_libsvm(b"1 1:2\n")


# What was found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 +-5:3", "'+-5:3' is no pair of index and value"),
        ("1 --5:3", "'--5:3' is no pair"),
        ("1 " + "1" * 5000 + ":3", "is not between 0 and 10,000,000"),
        ("1 5:" + "9" * 5000, "is not finite"),
        ("9" * 5000 + " 5:1", "is not finite"),
    ],
)
def test_an_index_that_is_no_number_is_refused_in_one_sentence(text, said, tmp_path):
    (tmp_path / "data.svm").write_text(text + "\n")
    with pytest.raises(DataFormatError) as caught:
        read(tmp_path / "data.svm")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_file_of_quoted_blanks_is_empty():
    with pytest.raises(DataFormatError, match=r"the file: the file is empty\."):
        read_delimited(io.BytesIO(b'""\n" "\n'), "the file")


def test_a_cell_that_is_a_number_without_its_blanks_is_one():
    table = read_delimited(io.BytesIO(b"a,b\nx,\x1d9\ny,7\n"), "the file")
    assert table.column("b").tolist() == [9.0, 7.0]


@pytest.mark.parametrize("index", [b"", b","])  # a first column without a name counts the rows
def test_a_table_of_many_columns_takes_seconds(index):
    names = index + b",".join(b"c%d" % j for j in range(40_000))
    content = names + b"\n" + index.replace(b",", b"0,") + b",".join([b"0"] * 40_000) + b"\n"
    start = time.process_time()
    table = read_delimited(io.BytesIO(content), "the file")
    assert table.shape == (1, 40_000)
    assert table.index == bool(index)
    assert time.process_time() - start < readers.MOST_SECONDS


def test_a_short_file_is_inspected_with_little_memory(tmp_path):
    path = tmp_path / "short.slim"
    path.write_bytes((2**62).to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelFormatError):
        slimsvm.inspect(path)
    readers.check_model(path.read_bytes())


def test_a_model_of_very_many_classes_is_refused_before_memory_is_taken(tmp_path):
    n, m = 1500, 240
    header = [
        "svm_type c_svc", "kernel_type linear", f"nr_class {n}", f"total_sv {m}", "rho" + " 0" * (n * (n - 1) // 2),
        "label " + " ".join(map(str, range(n))), "nr_sv" + " 1" * m + " 0" * (n - m), "SV",
    ]  # fmt: skip
    path = tmp_path / "many.model"
    path.write_text("\n".join([*header, *["0 " * (n - 1) + "1:1"] * m, ""]))
    assert path.stat().st_size < 4e6
    with pytest.raises(MemoryError, match=r"240 vectors for 1124250 pairs of classes need 2\.01 GiB, above"):
        slimsvm.from_libsvm(path)


# The core


@hard
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a compiler")
def test_the_core_keeps_its_promises_for_the_kept_inputs(tmp_path):
    tools = Path(sys.executable).parent
    cmake, ninja = (shutil.which(name, path=f"{tools}:{os.environ['PATH']}") for name in ("cmake", "ninja"))
    if cmake is None or ninja is None:
        pytest.skip("needs cmake and ninja")
    options = [
        "-DSLIMSVM_CHECK=replay",
        "-DSLIMSVM_OPTIMISE=-O0",
        "-DSLIMSVM_BASELINE_ONLY=ON",
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
    ]
    subprocess.run(
        [cmake, "-G", "Ninja", *options, "-S", str(REPOSITORY / "tests/fuzz"), "-B", str(tmp_path)],
        check=True,
    )
    subprocess.run([ninja, "-C", str(tmp_path)], check=True)
    for name in run.CORE:
        paths = [str(path) for path in run.seeds(name)]
        assert len(paths) >= 8
        done = subprocess.run([str(tmp_path / name), *paths], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
