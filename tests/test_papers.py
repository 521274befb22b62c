"""The tables of the papers: what runs them, and that the pages are those of the journals and lack nothing."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

# at the end: no script may hide a module of the same name
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import run_papers
from papers import cells as engine
from papers import pages, workers

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


def cell(work=dict, seconds=1.0, table="Table I", waits=False, **parameters):
    return engine.Cell(table, work, parameters, seconds, waits=waits)


class Small(engine.Paper):
    """A paper whose cells are a list, or a function of its journal."""

    def __init__(self, folder, listed):
        super().__init__("small", engine.Journal.of("small", folder))
        self.listed = listed

    def cells(self, *, quick=False):
        return list(self.listed(self.journal) if callable(self.listed) else self.listed)


def test_a_journal_is_read_as_it_was_written(tmp_path):
    journal = engine.Journal.of("small", tmp_path)
    journal.add(cell(a=1), {"b": 2.5}, 3.0)
    journal.add(cell(a=2), None, 1200.0)
    again = engine.Journal.of("small", tmp_path)
    assert again.found(dict, a=1) == {"b": 2.5}
    assert again.found(dict, a=2) is None
    assert again.gave_up(dict, a=2)
    assert not again.gave_up(dict, a=3)
    assert again.finished(cell(a=1))
    assert not again.finished(cell(a=3))
    assert len(again.runs) == 1
    assert set(again.runs[0]) == {"code", "versions", "machine", "threads"}


def test_runs_of_one_state_share_a_line(tmp_path):
    for a in (1, 2):
        engine.Journal.of("small", tmp_path).add(cell(a=a), {}, 1.0)
    lines = [json.loads(line) for line in (tmp_path / "small.jsonl").read_text().splitlines()]
    assert [line.get("run") for line in lines] == [None, 0, 0]


def test_other_data_make_a_cell_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "checksum", lambda name: "first")
    one = engine.Cell("Table I", dict, {"a": 1}, 1.0, data=("usps",))
    journal = engine.Journal.of("small", tmp_path)
    journal.add(one, {}, 1.0)
    assert journal.finished(one)
    monkeypatch.setattr(engine, "checksum", lambda name: "second")
    assert not journal.finished(one)


def test_estimates_follow_what_the_table_took(tmp_path):
    journal = engine.Journal.of("small", tmp_path)
    all_cells = [cell(seconds=10.0, a=a) for a in range(4)] + [cell(table="Table II", seconds=10.0, a=9)]
    journal.add(all_cells[0], {}, 30.0)
    seconds = engine.estimates(journal, all_cells)
    assert [seconds[one.key] for one in all_cells] == pytest.approx([30, 30, 30, 30, 10])
    first, second = engine.plan(journal, all_cells)
    assert (first.n_finished, first.n_cells, first.spent, first.left) == (1, 4, 30.0, pytest.approx(90.0))
    assert (second.n_finished, second.left) == (0, 10.0)


def test_what_no_table_asks_for_leaves_the_journal(tmp_path):
    journal = engine.Journal.of("small", tmp_path)
    for a in (1, 2):
        journal.add(cell(a=a), {"a": a}, 1.0)
    assert journal.tidy([cell(a=2)]) == 1
    again = engine.Journal.of("small", tmp_path)
    assert again.found(dict, a=1) is None
    assert again.found(dict, a=2) == {"a": 2}


def test_cells_run_in_processes_and_others_follow_from_them(tmp_path, capfd):
    def listed(journal):
        yield cell(a=1)
        first = journal.found(dict, a=1)
        yield cell(b=1 if first is None else first["a"] + 1, waits=first is None)

    paper = Small(tmp_path, listed)
    seen = []
    done = workers.run([paper], n_jobs=2, after=seen.append)
    assert (done.finished, done.failed, done.given_up, done.not_begun) == (2, 0, 0, 0)
    assert paper.journal.found(dict, b=2) == {"b": 2}
    assert seen == [paper]
    # nothing finished is run twice
    assert workers.run([Small(tmp_path, listed)]).finished == 0


def test_a_cell_that_fails_is_told_and_the_others_run(tmp_path, capfd):
    paper = Small(tmp_path, [cell(json.loads, s="{"), cell(a=1)])
    done = workers.run([paper])
    assert (done.finished, done.failed) == (1, 1)
    assert "JSONDecodeError" in capfd.readouterr().err
    assert len(paper.journal.lines) == 1


def test_a_cell_beyond_its_deadline_is_given_up(tmp_path, capfd, monkeypatch):
    # one that works, and one that waits: it has used no time of the processor
    listed = [cell(pow, base=3, exp=3**20, mod=None), cell(subprocess.run, args=["sleep", "60"])]
    monkeypatch.setattr(workers, "HANGING", 4.0)
    paper = Small(tmp_path, listed)
    start = time.perf_counter()
    done = workers.run([paper], n_jobs=2, deadline=2.0)
    assert done.given_up == 2
    assert time.perf_counter() - start < 45
    assert paper.journal.gave_up(subprocess.run, args=["sleep", "60"])


def test_nothing_is_begun_that_would_not_end_in_time(tmp_path):
    paper = Small(tmp_path, [cell(a=1, seconds=7200.0)])
    done = workers.run([paper], hours=0.001)
    assert (done.finished, done.not_begun) == (0, 1)


def test_significance_is_that_of_the_samples():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal(30), rng.standard_normal(30) + 0.6
    from scipy import stats

    expected = stats.ttest_ind(first, second, equal_var=False).pvalue
    assert pages.welch(pages.summary(first), pages.summary(second), 30) == pytest.approx(expected)
    assert pages.welch((1.0, 0.0), (1.0, 0.0), 10) == 1.0
    assert pages.equal_deviations(1.0, 1.0, 50) == pytest.approx(1.0)
    assert pages.equal_deviations(1.0, 2.0, 50) < 0.001


@pytest.mark.skipif((ROOT / "PKG-INFO").exists(), reason="a source distribution has no journals")
@pytest.mark.parametrize("name", run_papers.PAPERS)
def test_the_page_is_that_of_the_journal(name):
    paper = engine.Paper.of(name)
    written = (RESULTS / f"{name}.md").read_text()
    assert written == "\n".join(paper.module("page").page(paper.journal)).rstrip("\n") + "\n"


@pytest.mark.parametrize("name", run_papers.PAPERS)
def test_every_table_and_figure_has_its_heading_and_every_picture_its_file(name):
    text = (RESULTS / f"{name}.md").read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    for wanted in importlib.import_module(f"papers.{name}.page").CONTENTS:
        assert any(re.match(rf"{wanted}\b", heading) for heading in headings), wanted
    for file in re.findall(r"\]\((pictures/[^)]*)\)", text):
        assert (RESULTS / file).exists(), file


@pytest.mark.parametrize("name", run_papers.PAPERS)
def test_a_page_can_be_written_before_anything_is_run(name, tmp_path):
    paper = engine.Paper.of(name, tmp_path)
    assert "not run yet" in "\n".join(paper.module("page").page(paper.journal))
