"""Whether a tag is that of a release: `python release/tag.py v0.1.0`.

It names the version of pyproject.toml, which is no development version, and the change log has a dated section for it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(tag: str, version: str, cited: str, changes: str) -> list[str]:
    """What speaks against a release, a sentence each.

    Parameters
    ----------
    tag : str
        Such as "v0.1.0".
    version, cited : str
        Those of pyproject.toml and CITATION.cff.
    changes : str
        The text of the change log.
    """
    found = []
    if tag != f"v{version}":
        found.append(f"the tag {tag} is not v{version}, the version of pyproject.toml")
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        found.append(f"{version} is not the version of a release")
    if cited != version:
        found.append(f"CITATION.cff has version {cited}, pyproject.toml {version}")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## [{version}] - year-month-day'")
    return found


def main() -> None:
    """Look at the files of this tree."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if found := problems(sys.argv[1], version, cited[1] if cited else "none", changes):
        sys.exit("no release: " + "; ".join(found))
    print(f"{sys.argv[1]} is ready")


if __name__ == "__main__":
    main()
