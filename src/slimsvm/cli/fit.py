"""`slimsvm fit`: from data files to a model file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..adapters.slim import slim
from ..budget import stored_bytes
from ..errors import BudgetError
from ..inputs import Inputs
from ..persistence.files import save
from ..reading import FileChunks, Table, UnnamedRows
from ..report.write import page_environment, write_report
from ..words import count, size_in_words
from .cluster import cluster_at
from .data import Data, encoded, held_out_data, learning_files, rows_for
from .large import Done, Tested, fit_chunks
from .methods import Fitted, estimator_for, fit, full_machine, score_in_words, score_of
from .options import Columns, Format, Limits
from .output import Clock, Interrupted, Output


def run(
    train: Sequence[str],
    options: Columns,
    format: Format,
    say: Output,
    *,
    test: Sequence[str],
    method: str,
    limits: Limits,
    impute: bool,
    ignore_unknown: bool,
    out: Path,
    report: Path | None,
    seed: int | None,
    jobs: int | None,
    dask: str | None = None,
    cache: Path | None = None,
) -> None:
    """Fit, test, write, and say what came of it."""
    clock = Clock()
    if report is not None:
        page_environment()  # what is missing is said before the work
    if dask is not None and cache is not None:
        raise BudgetError("--cache is of no use with --dask: the workers read the files themselves.")
    with cluster_at(dask) as cluster:
        with say.working(f"reading {', '.join(train[:3])}{', ...' if train[3:] else ''}"):
            found: Data | FileChunks
            if cluster is not None:
                found = cluster.read(
                    train, options, format, say, impute=impute, ignore_unknown=ignore_unknown
                )
            else:
                found = learning_files(
                    train, options, format, say, impute=impute, ignore_unknown=ignore_unknown
                )
        estimator = estimator_for(method, classify=found.classify, limits=limits, seed=seed, jobs=jobs)
        if isinstance(found, FileChunks):
            done = fit_chunks(
                found, estimator, method, options, format, say, test=test, report=report, jobs=jobs, cluster=cluster,
                cache=cache,
            )  # fmt: skip
        else:
            done = fit_whole(
                found, estimator, options, format, say, test=test, report=report, impute=impute,
                ignore_unknown=ignore_unknown,
            )  # fmt: skip
    result, lines = described(done)
    save(slim(done.fitted.model), out)
    size = out.stat().st_size
    lines.append(f"{'written':10} {out} ({size_in_words(size)})")
    if report is not None:
        assert done.write_report is not None
        done.write_report(report)
        lines.append(f"{'report':10} {report} ({size_in_words(report.stat().st_size)})")
    result |= {"out": str(out), "file_bytes": size, "report": None if report is None else str(report)}
    result |= {"interrupted": done.interrupted, "seconds": round(clock(), 3)}
    say.result(result, "\n".join(lines))
    if done.interrupted:
        say.say("The fit was interrupted: what was written is the best model so far.")
        raise Interrupted


def fit_whole(
    data: Data,
    estimator: Any,
    options: Columns,
    format: Format,
    say: Output,
    *,
    test: Sequence[str],
    report: Path | None,
    impute: bool,
    ignore_unknown: bool,
) -> Done:
    """Fit to rows that are in memory."""
    with say.working(f"reading {data.rows.source}"):
        inputs, X = encoded(data, impute=impute, ignore_unknown=ignore_unknown, say=say)
        held_out = held_out_data(test, options, format, data) if test else None
    say.say(f"{data}.")
    with say.warnings_as_messages() as noted, say.working(f"fitting {type(estimator).__name__}"):
        fitted = fit(estimator, inputs, X, data.y)
    model, classify = fitted.model, data.classify
    tested = None
    if held_out is not None:
        score = score_of(model, rows_for(model.inputs, held_out.rows), held_out.y, classify=classify)
        tested = Tested(score, len(held_out.y), held_out.rows.source)
    return Done(
        fitted, data.target, classify, Tested(score_of(model, rows_for(model.inputs, data.rows), data.y,
        classify=classify), len(data.y), data.rows.source), tested, any("interrupted" in text for text in noted),
        lambda path: reported(fitted, data, held_out, inputs, X, path, say),
    )  # fmt: skip


def described(done: Done) -> tuple[dict[str, Any], list[str]]:
    """What a model is and does, for machines and for people."""
    fitted, classify, here, there = done.fitted, done.classify, done.here, done.there
    model, name = fitted.model, type(fitted.estimator).__name__
    f = model.expansion
    result = {
        "estimator": name, "task": "classification" if classify else "regression", "target": done.target,
        "rows": here.n_rows, "columns": model.inputs.n_features, "vectors": f.n_vectors, "bytes": stored_bytes(f),
        "train_score": here.score, "test_score": None if there is None else there.score,
        "fit_seconds": round(fitted.seconds, 3), **fitted.searched,
    }  # fmt: skip
    words = "accuracy" if classify else "score"
    projected = "" if f.projection is None else f" in {f.projection.rank} dimensions"
    lines = [
        f"{'model':10} {name}, {count(f.n_vectors, 'vector')}{projected}, {stored_bytes(f):,} bytes of numbers",
        f"{words:10} {score_in_words(here.score, classify=classify)} on the {here.n_rows:,} rows it was fitted to",
    ]
    if there is None:
        lines.append(f"{'':10} (--test FILE tells what it does on rows it has not seen)")
    else:
        lines.append(
            f"{'':10} {score_in_words(there.score, classify=classify)} on the {there.n_rows:,} rows of "
            f"{there.source}, which it has not seen"
        )
    if fitted.searched:
        chosen = ", ".join(f"{key} = {value:.4g}" for key, value in fitted.searched.items())
        lines.append(f"{'chosen':10} {chosen}, by cross-validation")
    lines.append(f"{'fitted in':10} {fitted.seconds:.1f} s")
    return result, lines


def reported(
    fitted: Fitted, data: Data, held_out: Data | None, inputs: Inputs | None, X: Any, path: Path, say: Output
) -> None:
    """Write the report of a fit, with the machine that scikit-learn would have given beside it."""
    tested: dict[str, Any] = {}
    if held_out is not None:
        tested = {"X_test": _raw(held_out.rows), "y_test": held_out.y}
    with say.warnings_as_messages(), say.working("searching an SVM to stand beside it"):
        reference = full_machine(inputs, X, data.y, classify=data.classify)
    with say.warnings_as_messages(), say.working("writing the report"):
        write_report(
            fitted.model, path, X=_raw(data.rows), y=data.y, reference=reference, estimator=fitted.estimator,
            seconds=fitted.seconds, title=f"{type(fitted.estimator).__name__} on {data.rows.source}", **tested,
        )  # fmt: skip


def _raw(rows: Table | UnnamedRows) -> Any:
    return rows if isinstance(rows, Table) else rows.X
