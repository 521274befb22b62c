"""Headers compiled, many of them into one program, and asked for what they answer."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slimsvm.export.c import CHeader
from slimsvm.readout import DensityReadout, FeaturesReadout, InlierReadout, ValueReadout

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
C99 = ["gcc", "-std=c99", *STRICT]
CPP = ["g++", "-x", "c++", *STRICT]
AARCH64 = ["aarch64-linux-gnu-gcc", "-static", "-std=c99", *STRICT]
# What runs the programs of a compiler for another processor.
EMULATORS = {"aarch64-linux-gnu-gcc": ["qemu-aarch64"]}
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def tool(name: str) -> str:
    """A tool, or the end of the test."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


@dataclass(frozen=True)
class Answers:
    """What a header says about some rows."""

    scores: Any
    predicted: Any
    probabilities: Any | None
    selftest: int


def several(header: CHeader) -> bool:
    """Whether `predict` gives several numbers."""
    readout = header.model.readout
    return isinstance(readout, FeaturesReadout) or (
        isinstance(readout, ValueReadout) and not readout.one_target
    )


def n_scores(header: CHeader) -> int:
    return int(header.source.split("_N_SCORES ")[1].split()[0])


def n_predicted(header: CHeader) -> int:
    return n_scores(header) if several(header) else 1


def n_classes(header: CHeader) -> int:
    return len(header.model.readout.classes) if f"{header.name}_probabilities(" in header.source else 0


def function(header: CHeader) -> str:
    """A C function that answers one row of doubles after the other."""
    name, real = header.name, "double" if header.number == "float64" else "float"
    d, s, c = header.model.inputs.n_features, n_scores(header), n_classes(header)
    ask = (
        f"{name}_predict(x, out); put(out, {s});"
        if several(header)
        else f"out[0] = ({real}){name}_predict(x); put(out, 1);"
    )
    put = "for (i = 0; i < n; i++) { double value = (double)values[i]; fwrite(&value, sizeof value, 1, stdout); }"
    return f"""
static void put_{name}(const {real} *values, int n) {{ int i; {put} }}
static void run_{name}(void) {{
    {real} x[{d}], out[{max(s, c, 1)}];
    double row[{d}];
    int32_t n;
    int i;
    double failed = {name}_selftest();
    if (fread(&n, sizeof n, 1, stdin) != 1) exit(1);
    while (n-- > 0) {{
        if (fread(row, sizeof(double), {d}, stdin) != {d}) exit(2);
        for (i = 0; i < {d}; i++) x[i] = ({real})row[i];
        {name}_scores(x, out); put_{name}(out, {s});
        {ask.replace("put(", f"put_{name}(")}
        {f"{name}_probabilities(x, out); put_{name}(out, {c});" if c else ""}
    }}
    fwrite(&failed, sizeof failed, 1, stdout);
}}
"""


def run(headers: list[CHeader], rows: list[Any], folder: Path, command: list[str]) -> list[Answers]:
    """Compile headers into one program and give each its rows."""
    emulator = EMULATORS.get(command[0], [])
    for name in (command[0], *emulator):
        tool(name)
    defines = "".join(f"#define {header.name.upper()}_SELFTEST\n" for header in headers)
    includes = "".join(f'#include "{header.name}.h"\n' for header in headers)
    for header in headers:
        (folder / f"{header.name}.h").write_text(header.source)
    calls = "".join(f"    run_{header.name}();\n" for header in headers)
    text = f"{defines}#include <stdio.h>\n#include <stdlib.h>\n{includes}"
    text += "".join(map(function, headers)) + f"int main(void) {{\n{calls}    return 0;\n}}\n"
    (folder / "program.c").write_text(text)
    program = folder / "program"
    subprocess.run([*command, str(folder / "program.c"), "-o", str(program), "-lm"], check=True, timeout=300)
    sent = b"".join(
        np.int32(len(each)).tobytes() + np.ascontiguousarray(each, dtype=np.float64).tobytes()
        for each in rows
    )
    done = subprocess.run([*emulator, str(program)], input=sent, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[:3000]
    return list(parsed(headers, rows, np.frombuffer(done.stdout)))


def parsed(headers: list[CHeader], rows: list[Any], numbers: Any) -> Any:
    at = 0
    for header, each in zip(headers, rows, strict=True):
        s, p, c = n_scores(header), n_predicted(header), n_classes(header)
        size = len(each) * (s + p + c)
        block = numbers[at : at + size].reshape(len(each), s + p + c)
        yield Answers(
            block[:, :s], block[:, s : s + p], block[:, s + p :] if c else None, int(numbers[at + size])
        )
        at += size + 1
    assert at == len(numbers)


def kind_of_answer(header: CHeader) -> str:
    readout = header.model.readout
    if isinstance(readout, ValueReadout | FeaturesReadout):
        return "values"
    if isinstance(readout, InlierReadout):
        return "inlier"
    return "density" if isinstance(readout, DensityReadout) else "classes"
