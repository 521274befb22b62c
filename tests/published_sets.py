"""Published sets for tests, where their files are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sklearn.utils import Bunch

from slimsvm.datasets import CATALOGUE, load


def published(name: str) -> Bunch:
    """Load a published set, or skip the test where its file is not at hand."""
    directory = os.environ.get("SLIMSVM_DATA")
    if not directory or not Path(directory, CATALOGUE[name].file_name).is_file():
        pytest.skip(f"SLIMSVM_DATA has no {CATALOGUE[name].file_name}")
    return load(name)
