"""`write_report`: everything about a model in one page."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import write_whole
from ..plotting import COLOURS
from ..words import count
from . import curves, made
from . import sizes as other_sizes
from .headline import Figures, cards, figures_of, figures_of_reference, name_of, written_score
from .live import Live, live_of
from .plane import plane_of
from .png import grey_png, shades
from .regions import Regions, along_one_input
from .subject import Subject
from .text import share
from .vectors import Pixels, entries, montage, pixels_of, sheet_columns

TEMPLATES = Path(__file__).parent / "templates"
# Features in the picture of relevance.
MOST_FEATURES = 20
# Relevances that differ by less than this share count as the same.
EQUAL = 0.01


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    reference: Any = None,
    title: str | None = None,
    sizes: Iterable[int] | str | None = "auto",
    image_shape: tuple[int, int] | None = None,
    estimator: Any = None,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write a page about a model: how good, how large and how fast it is, what it looks at, and the model itself.

    The page is one HTML file that needs no network and nothing else: it can be mailed. The model runs in it, where its
    kernel can be written as JavaScript: move the inputs, see the answer.

    Parameters
    ----------
    model : fitted estimator, Pipeline or Model
        An estimator of slimsvm, what `reduce` or `load` gives, a kernel machine of scikit-learn, or a pipeline with
        scalers, one-hot encoders and column transformers of these before one. Of a search, what it found.
    path : path
        The file; it is there whole or not at all.
    X : array-like, CSR or table of shape (n, n_features)
        The training rows, raw as the model takes them.
    y : array-like of shape (n,) or (n, n_targets), or None, default=None
        Their labels or targets; for outlier detectors and densities None will do.
    X_test, y_test : like X and y, or None, default=None
        Rows to judge the model by. Without them it is judged by the training rows, and the page says so.
    reference : fitted estimator or None, default=None
        A model to compare with, such as the full `SVC`.
    title : str or None, default=None
    sizes : iterable of int, "auto" or None, default="auto"
        Numbers of vectors to show the model at: smaller ones by `reduce` from the model, larger ones from the
        reference. "auto" is the powers of two, up to four times the model's own where there is a reference; None leaves
        this part out. No size is begun after 10 seconds.
    image_shape : (int, int) or None, default=None
        Height and width if rows are images; None finds out for square ones of at least 8 by 8.
    estimator : estimator or None, default=None
        Whose name and parameters are told; None means the model itself. For a `Model`, which knows neither.
    seconds : float or None, default=None
        How long the training took, where that is known.
    progress : callable or None, default=None
        Called with a few words about each thing that is done.

    Examples
    --------
    >>> from slimsvm import CompactSVC, write_report
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(300, random_state=0)
    >>> model = CompactSVC(random_state=0).fit(X[:200], y[:200])
    >>> write_report(model, "report.html", X=X[:200], y=y[:200], X_test=X[200:], y_test=y[200:])  # doctest: +SKIP
    """
    environment = page_environment()
    tell = progress or (lambda text: None)
    if isinstance(sizes, str) and sizes != "auto":
        raise ValueError(f'sizes must be "auto", whole numbers or None, got {sizes!r}.')
    subject = Subject.of(model, X, y, X_test, y_test, estimator)
    pixels = pixels_of(subject, image_shape)
    tell("scores and times")
    own, other = figures_of(subject), figures_of_reference(subject, reference)
    tell("pictures")
    plane = None if subject.kind == "features" else plane_of(subject, one_unit=pixels is not None)
    regions = None if plane is None else Regions(subject, plane)
    found, late = ([], []) if sizes is None else other_sizes.steps(subject, own, reference, sizes, tell)
    shown = _steps(subject, found, regions, pixels)
    drawn = bool(shown) and bool(shown[0]["drawn"])
    tell("the model for the page")
    live = live_of(subject, pixels)
    columns, vectors = entries(subject, pixels)
    changed, same = made.parameters(subject.trained)
    page = environment.get_template("report.html.jinja").render(
        title=title or f"{own.name} with {count(own.n_vectors or 0, 'vector')}",
        summary=_summary(subject, own),
        subject=subject,
        pixels=pixels,
        cards=cards(subject, own, other),
        other=other,
        score_name=other_sizes.size_score_name(subject),
        steps=shown,
        late=", ".join(f"{size:,}" for size in late),
        size_curve=other_sizes.curve(subject, found, other) if found else "",
        confusion=curves.confusion(subject),
        drawings=curves.drawings(subject),
        region="" if drawn else _region(subject, regions),
        region_says="" if plane is None else plane.says,
        columns=columns,
        vectors=vectors,
        relevance=_relevance(subject, pixels),
        live=live,
        facts=made.facts(subject, seconds),
        changed=changed,
        same=same,
        versions=made.versions(),
        snippets=made.snippets(subject),
        written=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        **_scripts(live),
    )
    write_whole(path, page.encode())


def page_environment() -> Any:
    """Jinja2 as the page needs it; an ImportError says if it is missing."""
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(
            "write_report writes its page with Jinja2, which is not installed: pip install 'slimsvm[report]'."
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    # Only for what `svg.tag` has escaped, and the page's own scripts.
    environment.filters["drawn"] = Markup
    return environment


def _scripts(live: Live | None) -> dict[str, Any]:
    """Style, script and data of the page, and the policy that allows these and nothing else."""
    palette = "".join(f"--c{k}:{colour};" for k, colour in enumerate(COLOURS))
    style = f":root{{{palette}}}\n{(TEMPLATES / 'style.css').read_text(encoding='utf-8')}"
    code = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    script = f'"use strict";\nconst model = {live.script if live else "null"};\n{code}'
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    data = json.dumps(live.data if live else None, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":  # no text can end the element it stands in
        data = data.replace(letter, f"\\u{ord(letter):04x}")
    return {"style": style, "script": script, "policy": policy, "data": data}


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _summary(subject: Subject, own: Figures) -> str:
    """The model in a sentence."""
    vectors, inputs = count(own.n_vectors or 0, "vector"), count(subject.model.inputs.n_features, "input")
    what = {
        "classes": f"tells {len(subject.classes)} classes apart",
        "values": "predicts a value",
        "inliers": "tells what is usual from what is not",
        "density": "estimates a density",
        "features": "makes new features",
    }[subject.kind]
    machine = name_of(subject.trained)
    judged = ""
    if subject.kind == "classes" and own.score is not None:
        judged = f" and is right on {share(own.score)} of {subject.seen_words}"
    elif subject.kind == "values" and own.score is not None:
        judged = f"; it explains {share(own.score)} of the variance in {subject.seen_words}"
        if own.score < 0:
            judged = f"; on {subject.seen_words} it is worse than their mean"
    return f"{machine} {what} from {inputs} with {vectors}{judged}."


def _steps(
    subject: Subject, found: list[other_sizes.Step], regions: Regions | None, pixels: Pixels | None
) -> list[dict[str, Any]]:
    """What the slider shows at each size."""
    out = []
    name = other_sizes.size_score_name(subject)
    for step in found:
        says = f"{count(step.n_vectors, 'vector')}: {name} {written_score(subject, step.score)}"
        image = montage(subject, step.model, pixels) if pixels else ""
        drawn = ""
        if not image and regions is not None:
            drawn = regions.draw(step.model, says)
        out.append(
            {
                "n_vectors": f"{step.n_vectors:,}",
                "score": written_score(subject, step.score),
                "bytes": f"{step.n_bytes:,}",
                "microseconds": "" if step.microseconds is None else f"{step.microseconds:.2f}",
                "origin": step.origin,
                "own": step.own,
                "says": says,
                "drawn": drawn,
                "image": image,
                "columns": sheet_columns(step.n_vectors),
            }
        )
    return out


def _region(subject: Subject, regions: Regions | None) -> str:
    if regions is not None:
        return regions.draw(
            subject.model, f"Answers of the model in a plane: {subject.classes or subject.kind}"
        )
    one = subject.model.inputs.n_numbers == 1 and subject.kind != "features"
    return along_one_input(subject) if one and not subject.model.inputs.has_categories else ""


def _relevance(subject: Subject, pixels: Pixels | None) -> dict[str, Any] | None:
    """Bars of the most relevant features, or an image of the relevance of all pixels."""
    shares = subject.relevance
    if shares is None:
        return None
    top = subject.by_relevance[:MOST_FEATURES].tolist()
    most = float(shares.max()) or 1.0
    bars = [
        {"name": subject.names[j], "share": share(float(shares[j])), "width": f"{100 * shares[j] / most:.1f}"}
        for j in top
    ]
    image = ""
    if pixels is not None:
        image = grey_png(shades(shares.reshape(pixels.shape), 0.0, most))
    left = len(shares) - len(top)
    rest = float(shares.sum() - shares[top].sum())
    equal = len(shares) > 1 and bool(np.ptp(shares) < EQUAL * most)
    return {"bars": bars, "image": image, "left": left, "rest": share(rest), "equal": equal}
