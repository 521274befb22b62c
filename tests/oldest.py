"""The oldest versions that pyproject.toml promises to work with, one "name==version" a line: for `make test-oldest`.

"numpy>=2.0" is numpy 2.0.*: the newest fix of the oldest version, which is what an installer would take.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def oldest(requirements: list[str]) -> list[str]:
    """Each lower bound as a version to install; a constraint cannot name extras."""
    return [
        re.sub(r"(\[.*\])?>=\s*([\d.]+)[^;]*", r"==\2.*", requirement)
        for requirement in requirements
        if not requirement.startswith("slimsvm")
    ]


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    print("\n".join(oldest([*project["dependencies"], *project["optional-dependencies"]["test"]])))
