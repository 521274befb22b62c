"""`make fuzz`: each harness for some minutes, and a page with what was tried and found.

The core's harnesses need Clang with libFuzzer (Debian: clang and libclang-rt-dev) and are built in build/fuzz; the
readers' need Atheris, which is installed there too. Inputs that reached something new are kept in build/fuzz/corpus, so
that the next run begins where this one ended; inputs that broke a promise in build/fuzz/found.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "fuzz"
PAGE = ROOT / "benchmarks" / "results" / "fuzz.md"
CORE = {
    "kernels": "expansion, finite_expansion, gram",
    "solvers": "box_cd, pair_cd, active_set, scaled_hinge, one_norm",
    "refinement": "refine, refine_map",
}
READERS = {
    "models": "load, inspect",
    "libsvm": "from_libsvm, LIBSVM data files",
    "tables": "CSV and other delimited text",
}
# Seeds beside those in seeds/: files that the tests keep anyway.
MORE_SEEDS = {
    "models": ("golden/format-1/*.slim", "attacks/*.slim"),
    "libsvm": ("attacks/*.model",),
}
# An input that takes longer on a machine with other work is a hang.
HANG_SECONDS = 120
# No fuzzer is called for less: reading what was kept takes about as long.
SHORTEST = 5
HEADER = "| harness | what is called | seconds | of the processor | inputs tried | coverage | kept inputs | found |"


@dataclass(frozen=True)
class Run:
    """What one harness did."""

    name: str
    seconds: float
    processor: float
    tried: int
    coverage: int
    kept: int
    found: tuple[Path, ...]

    def row(self) -> str:
        """Its line in the table."""
        what = {**CORE, **READERS}[self.name]
        return (
            f"| {self.name} | {what} | {self.seconds:.0f} | {self.processor:.0f} | {self.tried:,} | {self.coverage:,} "
            f"| {self.kept:,} | {len(self.found)} |"
        )


def run(command: list[str]) -> None:
    """A step of the preparations."""
    subprocess.run(command, check=True, cwd=ROOT)


def built_core() -> str | None:
    """Build the harnesses of the core; why not, if that is impossible."""
    compiler = os.environ.get("FUZZ_CXX") or shutil.which("clang++")
    if compiler is None:
        return "there is no clang++ (Debian: apt-get install clang libclang-rt-dev)"
    tools = Path(sys.executable).parent
    folder = BUILD / "core"
    try:
        if not (folder / "build.ninja").exists():
            run(
                [str(tools / "cmake"), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", "-S", str(HERE),
                 "-B", str(folder), f"-DCMAKE_CXX_COMPILER={compiler}"]
            )  # fmt: skip
        run([str(tools / "ninja"), "-C", str(folder)])
    except (OSError, subprocess.CalledProcessError) as error:
        return f"the harnesses cannot be built ({error}); libFuzzer comes with Debian's libclang-rt-dev"
    return None


def installed_atheris() -> str | None:
    """Install Atheris into a folder of its own; why not, if that is impossible."""
    folder = BUILD / "atheris"
    if (folder / "atheris").exists():
        return None
    uv = shutil.which("uv")
    pip = (
        [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    )
    try:
        run([*pip, "--quiet", "--target", str(folder), "atheris>=3"])
    except (OSError, subprocess.CalledProcessError):
        return "Atheris cannot be installed: it has wheels for Linux and some versions of Python only"
    return None


def seeds(name: str) -> Iterator[Path]:
    """The kept inputs of a harness."""
    yield from sorted((HERE / "seeds" / name).glob("*"))
    for pattern in MORE_SEEDS.get(name, ()):
        yield from sorted(HERE.parent.glob(pattern))


def fuzz(name: str, seconds: int) -> Run:
    """Run one harness."""
    corpus, found = BUILD / "corpus" / name, BUILD / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds(name):
        shutil.copy(seed, corpus / f"seed-{seed.name}")
    known = set(found.iterdir())
    options = [
        f"-timeout={HANG_SECONDS}", f"-report_slow_units={HANG_SECONDS}", "-rss_limit_mb=4096", "-max_len=4096",
        "-print_final_stats=1", f"-artifact_prefix={found}/", str(corpus),
    ]  # fmt: skip
    if name in CORE:
        command = [str(BUILD / "core" / name), *options]
    else:
        command = [sys.executable, str(HERE / "fuzz_reader.py"), name, *options]
    print(f"{name}: {seconds} seconds of the processor", flush=True)
    start, before = time.perf_counter(), _processor()
    log, text, tried, coverage, status = BUILD / f"{name}.log", "", 0, 0, 0
    new: tuple[Path, ...] = ()
    # the fuzzer counts seconds on the clock: where other work runs beside it, it is called again for what is left
    while not new and status == 0 and (left := seconds - _processor() + before) >= SHORTEST:
        with log.open("w", encoding="utf-8") as file:
            status = subprocess.run(
                [command[0], *_limited(command[1:], math.ceil(left))],
                env=_environment(), stdout=file, stderr=subprocess.STDOUT, cwd=BUILD, check=False,
            ).returncode  # fmt: skip
        text = log.read_text(encoding="utf-8", errors="replace")
        counts = [int(n) for n in re.findall(r"^stat::number_of_executed_units: *(\d+)", text, re.M)]
        counts += [int(n) for n in re.findall(r"^#(\d+)\t", text, re.M)][-1:]
        tried += max(counts, default=0)
        coverage = max([coverage, *(int(n) for n in re.findall(r" cov: (\d+)", text))])
        new = tuple(sorted(set(found.iterdir()) - known))
    if status != 0 and not new:  # it ended before its time, and left nothing but what it said
        new = (log,)
    if new:
        print(text[-6000:])
    done = Run(
        name, time.perf_counter() - start, _processor() - before, tried, coverage,
        sum(1 for _ in corpus.iterdir()), new,
    )  # fmt: skip
    print(f"  {done.tried:,} inputs, coverage {done.coverage:,}, {len(new)} found", *new, flush=True)
    return done


def _processor() -> float:
    """Seconds of the processor that programs called from here have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _limited(options: list[str], seconds: int) -> list[str]:
    """Options of a harness with a limit on its seconds, before the folder, which comes last."""
    return [*options[:-1], f"-max_total_time={seconds}", options[-1]]


def _environment() -> dict[str, str]:
    return {
        **os.environ, "PYTHONPATH": str(BUILD / "atheris"), "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def write(runs: list[Run]) -> None:
    """The page: the lines of these runs, and those of harnesses that did not run now."""
    rows = {}
    if PAGE.exists():
        for line in PAGE.read_text(encoding="utf-8").splitlines():
            if line.startswith("|") and (name := line.split("|")[1].strip()) in {**CORE, **READERS}:
                rows[name] = line
    rows |= {done.name: done.row() for done in runs}
    lines = [
        "# Fuzzing",
        "",
        "`make fuzz` wrote this page; `tests/fuzz/README.md` says what each harness promises. The core runs under",
        "the address and undefined-behaviour sanitizers; its coverage counts edges of the machine code, that of the",
        "readers branches of the Python code. The seconds asked for are those of the processor; those on the clock are",
        "more where other work ran on the machine.",
        "",
        HEADER,
        "|" + "---|" * (HEADER.count("|") - 1),
        *(rows[name] for name in {**CORE, **READERS} if name in rows),
        "",
        f"Last run: {date.today().isoformat()}.",
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")


def main() -> int:
    """Prepare, run, write."""
    parser = argparse.ArgumentParser(description="Fuzz the core and the readers.")
    parser.add_argument("harness", nargs="*", help=f"some of {', '.join([*CORE, *READERS])}; all without")
    parser.add_argument("--seconds", type=int, default=600, help="of the processor, for each harness")
    arguments = parser.parse_args()
    wanted = arguments.harness or [*CORE, *READERS]
    unknown = [name for name in wanted if name not in {**CORE, **READERS}]
    if unknown:
        parser.error(f"there is no harness {unknown[0]!r}")
    BUILD.mkdir(parents=True, exist_ok=True)
    why = {
        **dict.fromkeys(CORE, built_core() if set(wanted) & set(CORE) else None),
        **dict.fromkeys(READERS, installed_atheris() if set(wanted) & set(READERS) else None),
    }
    runs = []
    for name in wanted:
        if why[name] is None:
            runs.append(fuzz(name, arguments.seconds))
        else:
            print(f"{name} is left out: {why[name]}.")
    if runs:
        write(runs)
    found = [path for done in runs for path in done.found]
    for path in found:
        print(f"broke a promise: {path.relative_to(ROOT)}")
    return 1 if found or len(runs) < len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
