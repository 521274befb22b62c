"""Names in code become links: the first mention of a public name in each section leads to its reference."""

from __future__ import annotations

from typing import Any

from docutils import nodes

import slimsvm

NAMES = {name for name in slimsvm.__all__ if name != "datasets"}


def link_names(app: Any, doctree: nodes.document, page: str) -> None:
    """Put a link around the first mention of a name in each section, but in no heading and no other link."""
    if app.builder.format != "html":
        return
    linked: set[tuple[int, str]] = set()
    for literal in list(doctree.findall(nodes.literal)):
        name, above = literal.astext().removesuffix("()"), list(ancestors(literal))
        target = f"docs/api/slimsvm.{name}"
        if name not in NAMES or page in (target, "docs/api"):
            continue
        section = next((id(node) for node in above if isinstance(node, nodes.section)), 0)
        if (section, name) in linked or any(map(is_link_or_heading, above)):
            continue
        linked.add((section, name))
        link = nodes.reference("", "", refuri=app.builder.get_relative_uri(page, target), internal=True)
        literal.replace_self(link)
        link += literal


def is_link_or_heading(node: nodes.Node) -> bool:
    """Whether what lies in a node is a heading, or leads somewhere already."""
    card = isinstance(node, nodes.Element) and "sd-card" in node.get("classes", [])
    return card or isinstance(node, nodes.title | nodes.reference)


def ancestors(node: nodes.Node) -> Any:
    """Everything a node lies in, from the inside out."""
    while node.parent is not None:
        node = node.parent
        yield node
