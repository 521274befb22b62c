"""Settings of the whole suite."""

import os
from pathlib import Path

# scikit-learn skips its array-API check unless this is set before SciPy is imported.
os.environ["SCIPY_ARRAY_API"] = "1"
# The matrices are small and the tests themselves run side by side: threads of BLAS would only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("contracts", "reference")

settings.register_profile(
    "slimsvm",
    deadline=None,
    derandomize=True,
    max_examples=25,
    # the laws in contracts.py are inherited by one class per implementation
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)
settings.load_profile("slimsvm")

# Run by `make fuzz` in an environment that has Atheris.
collect_ignore = ["fuzz/fuzz_reader.py"]


def pytest_runtest_setup(item):
    """Tests marked "published" need the published data, which are not part of the project."""
    directory = os.environ.get("SLIMSVM_DATA", "")
    if item.get_closest_marker("published") and not Path(directory or "/nonexistent").is_dir():
        pytest.skip("SLIMSVM_DATA names no directory with the published data sets")
