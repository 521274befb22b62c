"""An installed slimsvm does what it is for: fits, saves, loads, exports, answers at the command line.

Run it with the Python of an environment that has `slimsvm[cli]` and nothing else of ours. It says what it found, and
fails loudly. The wheels of every platform are tested by it.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import slimsvm
from slimsvm import _core
from slimsvm.datasets import make_banana

SOURCE = Path(__file__).resolve().parents[1]
LEAST_ACCURACY = 0.8  # of 0.88 and more


def check_installation() -> None:
    """What is imported is what was installed, whole."""
    place = Path(slimsvm.__file__).resolve()
    assert SOURCE / "src" not in place.parents, f"{place} is the source tree, not an installation"
    assert Path(_core.__file__).resolve().parent == place.parent
    assert slimsvm.__version__ == version("slimsvm")
    assert (place.parent / "py.typed").exists()
    for name in slimsvm.__all__:
        assert getattr(slimsvm, name) is not None, name


def check_models(folder: Path) -> None:
    """Two models: fitted, reduced, saved, loaded, exported."""
    from sklearn.svm import SVC

    X, y = make_banana(400, random_state=0)
    compact = slimsvm.CompactSVC(max_vectors=8, random_state=0).fit(X, y)
    reduced = slimsvm.reduce(SVC(C=10).fit(X, y), X, y)
    for name, model in (("compact", compact), ("reduced", reduced)):
        assert model.score(X, y) > LEAST_ACCURACY, name
        path = folder / f"{name}.slim"
        slimsvm.save(model, path)
        loaded = slimsvm.load(path)
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        slimsvm.to_c(model, folder / f"{name}.h")
        slimsvm.to_js(model, folder / f"{name}.js")
        assert (folder / f"{name}.h").stat().st_size > 0
        assert (folder / f"{name}.js").stat().st_size > 0


def check_command_line(folder: Path) -> None:
    """The command that was installed, and the module."""
    X, y = make_banana(200, random_state=1)
    table = np.column_stack([X, y])
    np.savetxt(folder / "rows.csv", table, delimiter=",", header="first,second,label", comments="")
    command = str(Path(sysconfig.get_path("scripts")) / "slimsvm")

    def run(*words: str) -> str:
        # what a command writes to a pipe has the encoding of the system
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=600
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    assert slimsvm.__version__ in run(command, "--version")
    run(command, "fit", "rows.csv", "--target", "label")
    run(command, "predict", "rows.slim", "rows.csv")
    run(command, "export", "rows.slim", "--to", "c")
    assert "fit" in run(sys.executable, "-m", "slimsvm", "--help")


def main() -> None:
    """Run every check."""
    check_installation()
    with tempfile.TemporaryDirectory() as name:
        check_models(Path(name))
        check_command_line(Path(name))
    print(
        f"slimsvm {slimsvm.__version__} works: Python {sys.version.split()[0]} on {sysconfig.get_platform()}, "
        f"{Path(_core.__file__).name}, sets {', '.join(_core.instruction_sets())}"
    )


if __name__ == "__main__":
    main()
