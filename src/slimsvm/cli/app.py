"""The commands and their options; each command's work is in the module of its name, imported when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Number

from .options import (
    FILE,
    LIMIT,
    MODEL,
    RESULT,
    Columns,
    Format,
    Limits,
    NumberFormat,
    Positive,
    Saying,
    Several,
    Switch,
)
from .output import Output


def _version() -> str:
    from importlib.metadata import version

    return f"slimsvm {version('slimsvm')}"


app = App(
    name="slimsvm",
    help="""Kernel machines with very few support vectors: fit them, shrink the ones you have, ship them.

    Data are CSV, TSV, LIBSVM, NPY, NPZ or Parquet files, or - for standard input.

    Answers go to standard output, messages to standard error.

    Exit codes: 0 well, 1 failure, 2 wrong usage, 3 bad data, 4 bad model, 130 interrupted.
    """,
    version=_version,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)
app.register_install_completion_command(help="Install completion of commands and options for your shell.")

MethodName = Literal[
    "compact", "empirical", "full", "ls", "pruned-ls", "fixed-size", "greedy-ls", "two-stage", "zero-norm", "lp",
    "sparsity-controlled", "rvm", "probit", "pursuit", "gp",
]  # fmt: skip


def _no_option(kind: Any, paths: Sequence[str]) -> None:
    """Refuse a misspelt option, which stands where any number of files may."""
    for path in paths:
        if path.startswith("-") and path != "-" and not Path(path).exists():
            raise CycloptsError(msg=f"Unknown option: {path}, and no file has this name.")


# "-" is standard input
DataFile = Annotated[str, Parameter(allow_leading_hyphen=True)]
DataFiles = Annotated[
    tuple[DataFile, ...], Parameter(allow_leading_hyphen=True, negative="", validator=_no_option)
]
Method = Annotated[MethodName, Parameter(group=MODEL)]
Impute = Annotated[bool, Parameter(group=FILE, negative="", show_default=False)]
Seed = Annotated[int, Parameter(group=MODEL)]
Jobs = Annotated[int | None, Parameter(group=MODEL)]
Test = Annotated[str | None, Parameter(group=FILE)]
Out = Annotated[Path | None, Parameter(group=RESULT)]
AllowPickle = Annotated[bool, Parameter(group=MODEL, negative="", show_default=False)]


def _output(saying: Saying) -> Output:
    return Output(as_json=saying.json, quiet=saying.quiet)


@app.command
def fit(
    train: DataFiles,
    /,
    *,
    test: Annotated[Several, Parameter(group=FILE)] = (),
    method: Method = "compact",
    impute: Impute = False,
    ignore_unknown: Impute = False,
    out: Out = None,
    report: Out = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    dask: Annotated[str | None, Parameter(group=MODEL)] = None,
    cache: Annotated[Path | None, Parameter(group=FILE)] = None,
    columns: Columns = Columns(),  # noqa: B008
    format: Format = Format(),  # noqa: B008
    limits: Limits = Limits(),  # noqa: B008
    saying: Saying = Saying(),  # noqa: B008
) -> None:
    """Fit a model to data files and write it as a .slim file.

    Parameters
    ----------
    train
        Data files with the same columns, or directories of them; above 512 MB of numbers they are read in chunks.
    test
        Rows to test with: a file or a directory. May be repeated.
    method
        How to fit. compact needs no tuning; C and gamma of the others are found by cross-validation.
    impute
        Put medians and most frequent texts in the place of missing values, now and in every prediction.
    ignore_unknown
        In predictions, take texts that TRAIN does not have as none of those it has, instead of ending with an error.
    out
        Where the model goes; by default the name of the first of TRAIN with .slim, in the present directory.
    report
        Where a report goes: one page of HTML, with the model running in it. A searched SVC stands beside the model.
    seed
        Of the random numbers: the same seed, the same model.
    jobs
        Threads; -1 is all. The model does not depend on it.
    dask
        Address of a Dask scheduler, such as tcp://host:8786, whose workers read the files and do the work.
    cache
        A directory for a copy of the numbers, 8 bytes each, so that text read in chunks is not parsed in every pass.
    """
    from .fit import run

    if out is None:
        first = "" if train[0] == "-" else Path(train[0]).name
        out = Path(f"{first.split('.')[0] or 'model'}.slim")
    run(
        train, columns, format, _output(saying), test=test, method=method, limits=limits, impute=impute,
        ignore_unknown=ignore_unknown, out=out, report=report, seed=seed, jobs=jobs,
        dask=dask, cache=cache,
    )  # fmt: skip


@app.command
def predict(
    model: Path,
    data: DataFiles,
    /,
    *,
    proba: Annotated[Switch, Parameter(group=RESULT)] = False,
    scores: Annotated[Switch, Parameter(group=RESULT)] = False,
    out: Annotated[str, Parameter(group=RESULT)] = "-",
    allow_pickle: AllowPickle = False,
    format: Format = Format(),  # noqa: B008
    saying: Saying = Saying(),  # noqa: B008
) -> None:
    """Answer every row of data files, in their order: a line of CSV each, or with --json an object each.

    Parameters
    ----------
    model
        A .slim file or a LIBSVM model file.
    data
        Data files or directories of them, with the columns that the model was fitted to; others are not looked at.
    proba
        Also the probability of each class.
    scores
        Also the outputs of the model.
    out
        Where the answers go; - is standard output.
    allow_pickle
        Read pickled models too; a pickle can run any program.
    """
    from .predict import run

    run(model, data, format, _output(saying), proba=proba, scores=scores, out=out, allow_pickle=allow_pickle)


@app.command
def reduce(
    model: Path,
    /,
    *,
    data: Annotated[str | None, Parameter(group=FILE)] = None,
    max_vectors: Annotated[Positive, Parameter(group=LIMIT)] = None,
    max_bytes: Annotated[Positive, Parameter(group=LIMIT)] = None,
    min_score: Annotated[float | None, Parameter(group=LIMIT)] = None,
    method: Annotated[Literal["auto", "prune", "exact", "refine"], Parameter(group=MODEL)] = "auto",
    out: Out = None,
    allow_pickle: AllowPickle = False,
    jobs: Jobs = None,
    columns: Columns = Columns(),  # noqa: B008
    format: Format = Format(),  # noqa: B008
    saying: Saying = Saying(),  # noqa: B008
) -> None:
    """Make a model smaller: fewer vectors, nearly the same answers.

    Parameters
    ----------
    model
        A .slim file or a LIBSVM model file.
    data
        Rows to follow the model on, best those it was fitted to. Without them only its own vectors are known.
    max_vectors
        Reduce to so many vectors.
    max_bytes
        Reduce to as many vectors as fit.
    min_score
        The fewest vectors that keep this score on DATA.
    method
        How to reduce.
    out
        Where the smaller model goes; by default beside MODEL, with -small in its name.
    allow_pickle
        Read pickled models too; a pickle can run any program.
    jobs
        Threads; -1 is all.
    """
    from .reduce import run

    run(
        model, data, columns, format, _output(saying), max_vectors=max_vectors, max_bytes=max_bytes,
        min_score=min_score, method=method, out=out or model.with_name(f"{model.name.split('.')[0]}-small.slim"),
        allow_pickle=allow_pickle, jobs=jobs,
    )  # fmt: skip


@app.command
def path(
    train: DataFile,
    /,
    *,
    method: Method = "compact",
    size: Annotated[
        tuple[int, ...], Parameter(group=MODEL, negative="", show_default=False, validator=Number(gte=1))
    ] = (),
    picture: Out = None,
    impute: Impute = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    columns: Columns = Columns(),  # noqa: B008
    format: Format = Format(),  # noqa: B008
    saying: Saying = Saying(),  # noqa: B008
) -> None:
    """Show the score at each number of vectors, by five-fold cross-validation.

    Parameters
    ----------
    train
        The data file.
    method
        How to fit.
    size
        A number of vectors to try; by default 1, 2, 4 and so on. May be repeated.
    picture
        Where a picture goes: .png, .svg or .pdf.
    impute
        Put medians and most frequent texts in the place of missing values.
    seed
        Of the random numbers.
    jobs
        Processes; -1 is all.
    """
    from .path import run

    run(
        train, columns, format, _output(saying), method=method, sizes=size, impute=impute, picture=picture, seed=seed,
        jobs=jobs,
    )  # fmt: skip


@app.command
def inspect(model: Path, /, *, saying: Saying = Saying()) -> None:  # noqa: B008
    """Say what a model file holds, without loading it.

    Parameters
    ----------
    model
        A .slim file or a LIBSVM model file.
    """
    from .inspection import run

    run(model, _output(saying))


@app.command
def export(
    model: Path,
    /,
    *,
    to: Annotated[Literal["onnx", "c", "js", "libsvm"], Parameter(group=RESULT)],
    out: Out = None,
    number: Annotated[NumberFormat | None, Parameter(group=RESULT)] = None,
    name: Annotated[str, Parameter(group=RESULT)] = "model",
    progmem: Annotated[Switch, Parameter(group=RESULT)] = False,
    data: Annotated[str | None, Parameter(group=FILE)] = None,
    allow_pickle: AllowPickle = False,
    columns: Columns = Columns(),  # noqa: B008
    format: Format = Format(),  # noqa: B008
    saying: Saying = Saying(),  # noqa: B008
) -> None:
    """Write a model as an ONNX graph, a C header, a JavaScript module or a LIBSVM file.

    Parameters
    ----------
    model
        A .slim file or a LIBSVM model file.
    to
        What to write.
    out
        Where it goes; by default beside MODEL.
    number
        Format of the numbers; by default float32 for c and onnx, and what loses nothing for js.
    name
        What the names in C begin with.
    progmem
        C for AVR: the constants stay in flash.
    data
        For c: rows to test the header with, and to fit to again after rounding.
    allow_pickle
        Read pickled models too; a pickle can run any program.
    """
    from .export import run

    run(
        model, columns, format, _output(saying), to=to, out=out, number=number, name=name, data_path=data,
        progmem=progmem, allow_pickle=allow_pickle,
    )  # fmt: skip


@app.command
def compare(
    train: DataFile,
    /,
    *,
    test: Test = None,
    method: Annotated[tuple[MethodName, ...], Parameter(group=MODEL, negative="", show_default=False)] = (),
    max_vectors: Annotated[Positive, Parameter(group=LIMIT)] = None,
    picture: Annotated[Path, Parameter(group=RESULT)] = Path("slimsvm-compare.png"),
    impute: Impute = False,
    seed: Seed = 0,
    columns: Columns = Columns(),  # noqa: B008
    format: Format = Format(),  # noqa: B008
    saying: Saying = Saying(),  # noqa: B008
) -> None:
    """Fit every method, a searched SVC and LightGBM (if installed) to the same rows: one table, one picture.

    Parameters
    ----------
    train
        The data file.
    test
        Rows to test with; by default 30 % of TRAIN.
    method
        Only this one. May be repeated.
    max_vectors
        The most vectors, for the methods that take a limit.
    picture
        Where the picture goes.
    impute
        Put medians and most frequent texts in the place of missing values.
    seed
        Of the random numbers.
    """
    from .compare import run

    run(
        train, columns, format, _output(saying), test=test, methods=method, max_vectors=max_vectors, impute=impute,
        picture=picture, seed=seed,
    )  # fmt: skip


@app.command
def demo(*, out: Annotated[Path, Parameter(group=RESULT)] = Path()) -> None:
    """Show what the library does, on data that come with it: a table, a picture and a report, in less than a minute.

    Parameters
    ----------
    out
        The directory where picture and report go.
    """
    from .demo import run as run_demo

    run_demo(out)


def run(arguments: list[str] | None = None) -> Any:
    """Run a command with these arguments, or those of the process."""
    return app(arguments, exit_on_error=False, result_action="return_value")
