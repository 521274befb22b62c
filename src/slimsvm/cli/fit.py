"""`slimsvm fit`: from a data file to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..adapters.slim import slim
from ..budget import stored_bytes
from ..inputs import Inputs
from ..persistence.files import save
from ..reading import Table, UnnamedRows
from ..report.write import page_environment, write_report
from ..words import count, size_in_words
from .data import Data, encoded, held_out_data, learning_data, rows_for
from .methods import Fitted, estimator_for, fit, full_machine, score_in_words, score_of
from .options import Columns, Format, Limits
from .output import Clock, Interrupted, Output


def run(
    train: str,
    options: Columns,
    format: Format,
    say: Output,
    *,
    test: str | None,
    method: str,
    limits: Limits,
    impute: bool,
    ignore_unknown: bool,
    out: Path,
    report: Path | None,
    seed: int | None,
    jobs: int | None,
) -> None:
    """Fit, test, write, and say what came of it."""
    clock = Clock()
    if report is not None:
        page_environment()  # what is missing is said before the work
    with say.working(f"reading {train}"):
        data = learning_data(train, options, format)
        inputs, X = encoded(data, impute=impute, ignore_unknown=ignore_unknown, say=say)
        held_out = None if test is None else held_out_data(test, options, format, data)
    say.say(f"{data}.")
    estimator = estimator_for(method, classify=data.classify, limits=limits, seed=seed, jobs=jobs)
    with say.warnings_as_messages() as noted, say.working(f"fitting {type(estimator).__name__}"):
        fitted = fit(estimator, inputs, X, data.y)
    interrupted = any("interrupted" in text for text in noted)
    result, lines = described(fitted, data, held_out)
    save(slim(fitted.model), out)
    size = out.stat().st_size
    lines.append(f"{'written':10} {out} ({size_in_words(size)})")
    if report is not None:
        reported(fitted, data, held_out, inputs, X, report, say)
        lines.append(f"{'report':10} {report} ({size_in_words(report.stat().st_size)})")
    result |= {"out": str(out), "file_bytes": size, "report": None if report is None else str(report)}
    result |= {"interrupted": interrupted, "seconds": round(clock(), 3)}
    say.result(result, "\n".join(lines))
    if interrupted:
        say.say("The fit was interrupted: what was written is the best model so far.")
        raise Interrupted


def described(fitted: Fitted, data: Data, held_out: Data | None) -> tuple[dict[str, Any], list[str]]:
    """What a model is and does, for machines and for people."""
    model, name = fitted.model, type(fitted.estimator).__name__
    f = model.expansion
    here = score_of(model, rows_for(model.inputs, data.rows), data.y, classify=data.classify)
    there = None
    if held_out is not None:
        there = score_of(model, rows_for(model.inputs, held_out.rows), held_out.y, classify=data.classify)
    result = {
        "estimator": name, "task": "classification" if data.classify else "regression", "target": data.target,
        "rows": len(data.y), "columns": model.inputs.n_features, "vectors": f.n_vectors, "bytes": stored_bytes(f),
        "train_score": here, "test_score": there, "fit_seconds": round(fitted.seconds, 3), **fitted.searched,
    }  # fmt: skip
    words = "accuracy" if data.classify else "score"
    projected = "" if f.projection is None else f" in {f.projection.rank} dimensions"
    lines = [
        f"{'model':10} {name}, {count(f.n_vectors, 'vector')}{projected}, {stored_bytes(f):,} bytes of numbers",
        f"{words:10} {score_in_words(here, classify=data.classify)} on the {len(data.y):,} rows it was fitted to",
    ]
    if there is None:
        lines.append(f"{'':10} (--test FILE tells what it does on rows it has not seen)")
    else:
        assert held_out is not None
        lines.append(
            f"{'':10} {score_in_words(there, classify=data.classify)} on the {len(held_out.y):,} rows of "
            f"{held_out.rows.source}, which it has not seen"
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
