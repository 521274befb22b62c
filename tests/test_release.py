"""What a release says about itself is true, and the same everywhere."""

from __future__ import annotations

import ast
import platform
import re
import sys
import tomllib
from pathlib import Path

import pytest

import slimsvm
from slimsvm import _core

# at the end: no script may hide a module of the same name
sys.path.append(str(Path(__file__).parents[1] / "release"))

import tag

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "slimsvm"
WORKFLOWS = ROOT / ".github" / "workflows"


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(text("pyproject.toml"))["project"]
PYTHONS = [
    f"3.{n}" for n in re.findall(r"Python :: 3\.(\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
]


def cited(field):
    return re.search(rf"^{field}: (.*)$", text("CITATION.cff"), re.MULTILINE)[1].strip('"')


def test_the_versions_agree():
    assert PROJECT["version"] == cited("version") == slimsvm.__version__


def test_the_licence_is_one():
    assert PROJECT["license"] == cited("license") == "BSD-3-Clause"
    assert text("LICENSE").startswith("BSD 3-Clause License")
    # a licence expression takes the place of the classifier
    assert not [line for line in PROJECT["classifiers"] if line.startswith("License")]


def test_the_pythons_are_those_that_are_tested():
    oldest, newest = PYTHONS[0], PYTHONS[-1]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert f'python: ["{oldest}", "{newest}"]' in text(".github/workflows/tests.yml")
    assert f"Python {oldest} or newer" in text("README.md")
    assert f"find_package(Python {oldest} " in text("CMakeLists.txt")
    settings = tomllib.loads(text("pyproject.toml"))["tool"]
    assert settings["mypy"]["python_version"] == oldest
    # one wheel for each Python before the stable ABI, and one from it on
    stable = settings["scikit-build"]["wheel"]["py-api"]
    own = [f"cp{name.replace('.', '')}" for name in PYTHONS]
    assert settings["cibuildwheel"]["build"] == [f"{name}-*" for name in own[: own.index(stable) + 1]]


def test_the_readme_names_every_dependency():
    sentence = re.search(r"it depends on (.*?) only\.", text("README.md"), re.DOTALL)[1].lower()
    names = [re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]]
    assert sorted(names) == sorted(re.findall(r"numpy|scipy|scikit-learn|[a-z-]+$", sentence))
    least = re.search(r"scikit-learn>=([\d.]+)", " ".join(PROJECT["dependencies"]))[1]
    assert f"scikit-learn ({least} or newer)" in sentence


def test_the_page_on_security_names_every_environment_variable():
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    core = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "cpp").glob("*.cpp"))
    read = set(re.findall(r'(?:environ(?:\.get\(|\[)|getenv\()"(\w+)"', code + core))
    section = text("SECURITY.md").split("## Environment variables")[1]
    assert read == set(re.findall(r"`([A-Z_]+)`", section))


def test_text_is_read_and_written_as_utf8_whatever_the_system():
    forgotten = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or "encoding" in {word.arg for word in node.keywords}:
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            binary = any(isinstance(a, ast.Constant) and "b" in str(a.value) for a in node.args[1:])
            plain_open = isinstance(node.func, ast.Name) and name == "open" and not binary
            if plain_open or name in ("read_text", "write_text"):
                forgotten.append(f"{path.name}:{node.lineno}")
    assert not forgotten


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not Path("/proc/cpuinfo").exists(), reason="not x86-64 on Linux"
)
def test_the_instruction_sets_are_those_the_system_lists():
    flags = set(re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1].split())
    wanted = ["baseline"]
    if {"avx2", "fma"} <= flags:
        wanted.append("avx2")
        if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
            wanted.append("avx512")
    assert _core.instruction_sets() == wanted


def test_a_tag_is_one_of_a_release_only_if_everything_agrees():
    changes = "# Changelog\n\n## [0.1.0] - 2026-12-01\n"
    assert tag.problems("v0.1.0", "0.1.0", "0.1.0", changes) == []
    assert tag.problems("v0.1.0rc1", "0.1.0rc1", "0.1.0rc1", changes.replace("0]", "0rc1]")) == []
    wrong = {
        "the tag": ("v0.1.1", "0.1.0", "0.1.0", changes),
        "is not the version of a release": ("v0.1.0.dev0", *2 * ["0.1.0.dev0"], changes.replace("0]", "0.dev0]")),
        "CITATION": ("v0.1.0", "0.1.0", "0.1.0.dev0", changes),
        "CHANGELOG": ("v0.1.0", "0.1.0", "0.1.0", changes.replace("[0.1.0] - 2026-12-01", "[Unreleased]")),
    }  # fmt: skip
    for said, arguments in wrong.items():
        (problem,) = tag.problems(*arguments)
        assert said in problem


def test_only_a_tag_publishes_and_no_secret_is_needed():
    text_of = {path.name: path.read_text(encoding="utf-8") for path in WORKFLOWS.glob("*.yml")}
    assert all("secrets." not in content for content in text_of.values())
    publishing = text_of["release.yml"].split("  publish:")[1]
    assert "github.ref_type == 'tag'" in publishing
    assert "needs: [sdist, wheels]" in publishing
    assert [name for name, content in text_of.items() if "id-token: write" in content] == ["release.yml"]
    assert "id-token" not in text_of["release.yml"].split("  publish:")[0]
