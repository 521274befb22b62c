"""The entry of the command line."""

from __future__ import annotations

import sys

from .output import USAGE, ends_well


def main(arguments: list[str] | None = None) -> int:
    """Run the command `slimsvm`.

    Parameters
    ----------
    arguments : list of str or None, default=None
        None means those of the process.

    Returns
    -------
    int
        The exit code.
    """
    try:
        from cyclopts import CycloptsError

        from .app import run
    except ImportError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        sys.stderr.write(
            f"The command line needs the package {error.name}, which is not installed: pip install 'slimsvm[cli]'\n"
        )
        return 1
    try:
        return ends_well(lambda: run(arguments))
    except CycloptsError:  # said already
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
