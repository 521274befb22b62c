"""Formulas as MathML, which browsers draw themselves: no script, no font from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError


def converted(formula: str, *, as_block: bool) -> str:
    """A formula in TeX as MathML."""
    try:
        return tex2mathml(formula.replace(r"\dots", r"\ldots"), as_block=as_block)
    except MathError as error:
        raise ExtensionError(f"the formula {formula!r} cannot be converted: {error}") from error


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(converted(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    writer.body.append(f'<div class="math">{converted(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode
