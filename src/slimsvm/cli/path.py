"""`slimsvm path`: the score at several numbers of vectors, by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..errors import BudgetError
from ..evaluation import size_parameter, vector_path
from .data import encoded, learning_data
from .methods import estimator_for
from .options import Columns, Format, Limits
from .output import Output


def run(
    train: str,
    options: Columns,
    format: Format,
    say: Output,
    *,
    method: str,
    sizes: Sequence[int],
    impute: bool,
    picture: Path | None,
    seed: int | None,
    jobs: int | None,
) -> None:
    """Cross-validate, and show the table and the picture."""
    with say.working(f"reading {train}"):
        data = learning_data(train, options, format)
        _, X = encoded(data, impute=impute, ignore_unknown=False, say=say)
    say.say(f"{data}.")
    estimator = estimator_for(method, classify=data.classify, limits=Limits(), seed=seed, jobs=None)
    try:
        size_parameter(estimator)
    except ValueError:
        raise BudgetError(f"the method {method} has no number of vectors to vary.") from None
    if method == "compact":
        estimator.set_params(on_interrupt="raise")
    elif not sparse.issparse(X):
        estimator = make_pipeline(StandardScaler(), estimator)
    with say.warnings_as_messages(), say.working("fitting every size in five folds"):
        path = vector_path(estimator, X, data.y, sizes=sizes or None, random_state=seed, n_jobs=jobs)
    lines = [str(path)]
    if picture is not None:
        from ..plotting import SizeScoreDisplay

        display = SizeScoreDisplay.from_path({method: path})
        display.figure_.savefig(picture, dpi=150)
        lines.append(f"The picture is {picture}")
    say.result(
        {
            "method": method, "sizes": path.sizes, "vectors": path.n_vectors, "scores": path.scores,
            "errors": path.errors, "bytes": path.bytes, "latency_us": path.latency_us,
            "chosen": path.chosen_size, "score": path.score_name,
        },
        "\n".join(lines),
    )  # fmt: skip
