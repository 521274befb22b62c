"""Writes the files that are kept: `python tests/kept_files.py golden` once for each format version, never again.

golden/ has models as the first release of a format wrote them, with rows and what the models answered. attacks/ has
small files that must not become models; `python tests/kept_files.py attacks` writes those that code makes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

import everyone
import file_attacks
from slimsvm.persistence.container import FORMAT_VERSION
from slimsvm.persistence.files import estimator_from

HERE = Path(__file__).parent
LARGEST_ATTACK = 10_000


def write_golden(folder: Path) -> None:
    """Every sample whose rows are numbers, beside its answers."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.random.default_rng(7).standard_normal((20, 3))
    for name, content in file_attacks.contents().items():
        if name == "inputs":
            continue
        path = folder / f"{name.replace(' ', '-')}.slim"
        path.write_bytes(content)
        answers = everyone.answers(estimator_from(content, name), rows)
        np.savez(path.with_suffix(".npz"), rows=rows, **answers)


def write_attacks(folder: Path) -> None:
    """The bombs that are small, and one file for each way in which a description or an array can be wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    files = file_attacks.contents()
    for name, content, _ in [*file_attacks.bombs(files), *file_attacks.wrong(files)]:
        if len(content) < LARGEST_ATTACK:
            (folder / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.slim").write_bytes(content)
    for name, text in file_attacks.libsvm_bombs().items():
        if len(text) < LARGEST_ATTACK:
            (folder / f"{name}.model").write_text(text)


if __name__ == "__main__":
    if "golden" in sys.argv:
        write_golden(HERE / "golden" / f"format-{FORMAT_VERSION}")
    if "attacks" in sys.argv:
        write_attacks(HERE / "attacks")
