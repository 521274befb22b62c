"""Every example runs, and prints what it promises."""

from __future__ import annotations

import re
import runpy
import sys

import matplotlib
import pytest
from sklearn.datasets import make_blobs

import pages
from slimsvm.cli import demo
from slimsvm.datasets import make_banana

matplotlib.use("Agg")

EXAMPLES = pages.ROOT / "examples"


def printed(name, capsys, *arguments, monkeypatch):
    """What a script prints."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / name), *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "demo.py", "reduce_an_svc.py", "classifier_in_few_bytes.py",
    }  # fmt: skip


def test_the_demonstration(tmp_path, capsys, monkeypatch):
    def problems():  # small ones: tests/test_demo.py looks at the figures
        yield demo.Problem.split("banana", make_banana(200, random_state=0), 80)
        yield demo.Problem.split("blobs", make_blobs(120, centers=3, random_state=0), 60)

    monkeypatch.setattr(demo, "problems", problems)
    monkeypatch.setattr(demo, "SECONDS_PER_TIMING", 0.001)
    monkeypatch.setattr("slimsvm.cli.demo_picture.SIZES", (1, 4))
    target = tmp_path / "picture.png"
    assert "CompactSVC" in printed("demo.py", capsys, "--output", str(target), monkeypatch=monkeypatch)
    assert target.exists()


def test_reducing_an_svc(capsys, monkeypatch):
    out = printed("reduce_an_svc.py", capsys, monkeypatch=monkeypatch)
    rows = [(int(n), float(score)) for n, score in re.findall(r"(\d+) vectors +([\d.]+)% accuracy", out)]
    sizes = [n for n, _ in rows]
    assert len(rows) == 5
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 5
    assert all(score > rows[0][1] - 3 for _, score in rows)


def test_a_classifier_in_few_bytes(capsys, monkeypatch):
    out = printed("classifier_in_few_bytes.py", capsys, monkeypatch=monkeypatch)
    rows = re.findall(r"at most +(\d+) bytes: +\d+ vectors, +([\d,]+) bytes, ([\d.]+)% accuracy", out)
    assert len(rows) == 3
    for limit, size, score in rows:
        assert int(size.replace(",", "")) <= int(limit)
        assert float(score) == pytest.approx(84, abs=4)
