"""The demonstration: every number in its table is there, picture and report are made, and what is missing is said."""

from __future__ import annotations

import io
import re
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.image
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from slimsvm.cli import demo, measured
from slimsvm.datasets import make_banana


@pytest.fixture
def _small(monkeypatch):
    """Two small problems and a short search: what is tested is the way, not the figures."""

    def problems():
        yield demo.Problem.split("banana", make_banana(200, random_state=0), 80)
        yield demo.Problem.split("blobs", make_blobs(120, centers=3, random_state=0), 60)

    monkeypatch.setattr(demo, "problems", problems)
    monkeypatch.setattr(demo, "C_VALUES", (1.0, 10.0))
    monkeypatch.setattr(demo, "GAMMA_VALUES", (1.0,))
    monkeypatch.setattr("slimsvm.cli.measured.SECONDS_PER_TIMING", 0.001)
    monkeypatch.setattr("slimsvm.cli.demo_picture.SIZES", (1, 4))


@pytest.mark.usefixtures("_small")
def test_table_and_picture(tmp_path, capsys):
    demo.run(tmp_path)
    printed = capsys.readouterr().out
    for name in ("SVC, searched", "CompactSVC", "reduce(SVC)"):
        rows = re.findall(
            rf"^  {re.escape(name)} +([\d.]+) % +([\d,]+) +([\d,]+) +([\d,]+) ", printed, re.MULTILINE
        )
        assert len(rows) == 2
    assert str(tmp_path / "slimsvm-demo.png") in printed
    assert matplotlib.image.imread(tmp_path / "slimsvm-demo.png").shape[2] == 4
    assert str(tmp_path / "slimsvm-demo.html") in printed
    assert "CompactSVC on banana" in (tmp_path / "slimsvm-demo.html").read_text()


@pytest.mark.usefixtures("_small")
def test_without_matplotlib(tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "slimsvm.cli.demo_picture", raising=False)
    demo.run(tmp_path / "new")
    assert "There is no picture: matplotlib is not installed" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["slimsvm-demo.html"]


def test_the_problems_need_no_download_and_are_standardised():
    for problem in demo.problems():
        if problem.name == "digits":  # pixels, in units of their largest value
            assert (problem.X.min(), problem.X.max()) == (0.0, 1.0)
        else:
            np.testing.assert_allclose(problem.X.mean(axis=0), 0.0, atol=1e-9)
        assert len(problem.X) == len(problem.y)
        assert len(problem.X_test) == len(problem.y_test)


def test_the_size_of_an_svc_is_what_libsvm_keeps():
    X, y = make_blobs(90, centers=3, random_state=0)
    svc = SVC().fit(X, y)
    m = len(svc.support_)
    assert measured.size_of(svc) == (m, 8 * (m * 2 + m * 2 + 3 + 1))


def test_progress_is_for_terminals_alone():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        progress = demo.Progress(stream)
        progress("fitting a long one")
        progress("short")
        progress()
    assert file.getvalue() == ""
    assert "fitting a long one" in terminal.getvalue()
    assert terminal.getvalue().endswith(" " * 5 + "\r")
