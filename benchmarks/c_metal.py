"""A header on a microcontroller that is not there: compiled for a Cortex-M3 and run in qemu, compiled for an AVR.

`sections` says what a compiler makes of a header, `on_cortex_m3` what the emulated processor answers and how many
instructions it takes, `on_host` how many the host takes (callgrind).
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CORTEX_M3 = [
    "arm-none-eabi-gcc",
    "-mcpu=cortex-m3",
    "-mthumb",
    "-std=c99",
    "-Os",
    "-Wall",
    "-Wextra",
    "-Werror",
]
ATMEGA = ["avr-gcc", "-mmcu=atmega328p", "-std=c99", "-Os", "-Wall", "-Wextra", "-Werror"]
HOST = ["gcc", "-std=c99", "-Os"]
SIZE = {"arm-none-eabi-gcc": "arm-none-eabi-size", "avr-gcc": "avr-size", "gcc": "size"}

# Flash and RAM of the Stellaris LM3S6965, whose evaluation board qemu emulates.
LINKER = """
MEMORY { flash (rx) : ORIGIN = 0, LENGTH = 256K  ram (rwx) : ORIGIN = 0x20000000, LENGTH = 64K }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.ARM.ex*) } > flash
  .data : { *(.data*) } > ram
  .bss : { *(.bss*) *(COMMON) } > ram
}
"""
# A program without an operating system: it writes through semihosting, and SysTick counts virtual time, of which an
# instruction takes a fixed share under -icount. A loop of a known number of instructions says how much.
BARE = """
static void start(void);
__attribute__((section(".vectors"), used)) static void *const vectors[] = {(void *)0x20010000, (void *)start};
#define TICK ((volatile uint32_t *)0xE000E010)
static int call(int what, const void *with) {
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
static void put(uint32_t n) {
    char text[12];
    int at = 11;
    text[11] = 0;
    text[--at] = ' ';
    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    call(4, text + at);
}
static uint32_t passed(uint32_t since) {
    return (since - TICK[2]) & 0xFFFFFF;
}
static float row[FEATURES];
static void start(void) {
    uint32_t begin, known, taken = 0, n = 100000;
    TICK[1] = 0xFFFFFF;
    TICK[0] = 5;
    begin = TICK[2];
    __asm__ volatile("1: subs %0, #1\\n bne 1b" : "+r"(n));
    known = passed(begin);
    for (int i = 0; i < ROWS; i++) {
        int answer;
        for (int f = 0; f < FEATURES; f++) {
            row[f] = UNIT * (float)rows[i][f];
        }
        begin = TICK[2];
        answer = NAME(row);
        taken += passed(begin);
        put((uint32_t)answer);
    }
    call(4, "\\n");
    put(known);
    put(taken);
    call(4, "\\n");
    call(0x18, (void *)0x20026);
    for (;;) {
    }
}
"""
KNOWN_INSTRUCTIONS = 200_000


@dataclass(frozen=True)
class Sections:
    """What a compiler makes of a header: bytes of code and of constant data."""

    code: int
    constants: int


def real_of(source: str) -> str:
    """The type of rows."""
    return "double" if "_predict(const double *" in source else "float"


def sections(source: str, name: str, command: list[str], predict: str = "int") -> Sections:
    """Code and constant data of a file that only predicts; what the C library adds is not in it."""
    real = real_of(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.h").write_text(source)
        head = f"{predict} run(const {real} *x)"
        body = f"{head};\n{head} {{\n    return {name}_predict(x);\n}}\n"
        (path / "run.c").write_text(f'#include "model.h"\n{body}')
        subprocess.run([*command, "-c", str(path / "run.c"), "-o", str(path / "run.o")], check=True)
        listed = subprocess.run(
            [SIZE[command[0]], "-A", str(path / "run.o")], check=True, capture_output=True, text=True
        )
    sizes = [(part, int(size)) for part, size in re.findall(r"^(\.\S+)\s+(\d+)", listed.stdout, re.MULTILINE)]
    constants = sum(size for part, size in sizes if part.startswith((".rodata", ".progmem", ".data")))
    return Sections(sum(size for part, size in sizes if part.startswith(".text")), constants)


def stack_bytes(source: str, name: str, command: list[str]) -> int:
    """Bytes of the stack of one prediction, registers included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.h").write_text(source)
        (path / "run.c").write_text(
            f'#include "model.h"\nint run(const float *x);\nint run(const float *x) {{ return {name}_predict(x); }}\n'
        )
        subprocess.run(
            [*command, "-O2", "-fstack-usage", "-c", str(path / "run.c"), "-o", str(path / "run.o")],
            check=True,
        )
        lines = (path / "run.su").read_text().splitlines()
    return sum(int(line.split("\t")[1]) for line in lines)


def program_size(source: str, name: str, command: list[str]) -> tuple[int, int]:
    """Flash and static RAM of a whole program for an AVR that predicts, with what it needs of the C library."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.h").write_text(source)
        d = int(re.findall(r"_N_FEATURES (\d+)", source)[0])
        (path / "main.c").write_text(
            f'#include "model.h"\nfloat x[{d}];\nvolatile int answer;\n'
            f"int main(void) {{ answer = {name}_predict(x); return 0; }}\n"
        )
        subprocess.run([*command, str(path / "main.c"), "-o", str(path / "main"), "-lm"], check=True)
        listed = subprocess.run(
            [SIZE[command[0]], str(path / "main")], check=True, capture_output=True, text=True
        )
    text, data, bss = map(int, listed.stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def on_cortex_m3(source: str, name: str, rows: Any, unit: float = 1.0) -> tuple[np.ndarray, float]:
    """Answers of an emulated Cortex-M3 for rows of small whole numbers times a unit, and instructions for each."""
    rows = np.asarray(rows)
    if not (rows == rows.astype(np.uint8)).all():
        raise ValueError("rows must be whole numbers from 0 to 255.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.h").write_text(source)
        (path / "flash.ld").write_text(LINKER)
        table = ",\n".join("{" + ",".join(map(str, row.tolist())) + "}" for row in rows.astype(int))
        words = {
            "FEATURES": rows.shape[1],
            "ROWS": len(rows),
            "NAME": f"{name}_predict",
            "UNIT": f"{float(unit)!r}f",
        }
        defines = "".join(f"#define {key} {value}\n" for key, value in words.items())
        text = f'#include "model.h"\n{defines}static const uint8_t rows[ROWS][FEATURES] = {{\n{table}\n}};\n{BARE}'
        (path / "main.c").write_text(text)
        subprocess.run(
            [*CORTEX_M3, "-nostartfiles", "-Wl,--build-id=none", "-T", str(path / "flash.ld"), str(path / "main.c"),
             "-o", str(path / "main.elf"), "-lm", "-lc", "-lgcc"],
            check=True,
        )  # fmt: skip
        done = subprocess.run(
            ["qemu-system-arm", "-M", "lm3s6965evb", "-nographic", "-monitor", "none", "-serial", "none", "-icount",
             "shift=0", "-semihosting-config", "enable=on,target=native", "-kernel", str(path / "main.elf")],
            check=True, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    answers, ticks = (done.stdout + done.stderr).strip().split("\n")[-2:]
    known, taken = map(int, ticks.split())
    return np.array(answers.split(), dtype=int), KNOWN_INSTRUCTIONS / known * taken / len(rows)


def on_host(source: str, name: str, row: Any, n: int = 200) -> float:
    """Instructions of one prediction on this computer, counted by callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.h").write_text(source)
        real = real_of(source)
        values = ", ".join(repr(float(value)) for value in row)
        (path / "main.c").write_text(
            f'#include "model.h"\n#include <stdlib.h>\nstatic {real} x[] = {{{values}}};\n'
            f"__attribute__((noinline)) int run(void);\n"
            f"int run(void) {{ return {name}_predict(x); }}\n"
            "int main(int c, char **v) { volatile int a = 0; int n = atoi(v[c - 1]); while (n-- > 0) a += run(); "
            "return 0; }\n"
        )
        subprocess.run([*HOST, "-O2", str(path / "main.c"), "-o", str(path / "main"), "-lm"], check=True)
        counted = []
        for times in (0, n):
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={path / 'out'}"]
            done = subprocess.run(
                [*command, str(path / "main"), str(times)], check=True, capture_output=True, text=True
            )
            counted.append(int(re.findall(r"Collected : (\d+)", done.stderr)[0]))
    return (counted[1] - counted[0]) / n


def labels_on_host(source: str, name: str, rows: Any) -> np.ndarray:
    """Answers of the header compiled for this computer."""
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    answers = np.empty(len(rows), dtype=np.int32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.h").write_text(source)
        (path / "run.c").write_text(
            f'#include "model.h"\nvoid run(const float *x, int n, int32_t *out);\n'
            "void run(const float *x, int n, int32_t *out) {\n"
            f"    for (int i = 0; i < n; i++) out[i] = {name}_predict(x + (size_t)i * {rows.shape[1]});\n}}\n"
        )
        library = path / "run.so"
        subprocess.run(
            [*HOST, "-O2", "-shared", "-fPIC", str(path / "run.c"), "-o", str(library), "-lm"], check=True
        )
        run = ctypes.CDLL(str(library)).run
        run(rows.ctypes.data_as(ctypes.c_void_p), len(rows), answers.ctypes.data_as(ctypes.c_void_p))
    return answers


def microseconds(source: str, name: str, row: Any) -> float:
    """Time of one prediction on this computer, the least of a few rounds; each waits for the one before."""
    real = real_of(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.h").write_text(source)
        values = ", ".join(repr(float(value)) for value in row)
        (path / "main.c").write_text(
            '#define _POSIX_C_SOURCE 199309L\n#include <stdio.h>\n#include <time.h>\n#include "model.h"\n'
            f"static {real} x[] = {{{values}}};\n"
            "int main(void) {\n"
            "    double least = 1e9;\n"
            "    for (int round = 0; round < 20; round++) {\n"
            "        struct timespec a, b;\n"
            "        clock_gettime(CLOCK_MONOTONIC, &a);\n"
            f"        for (int i = 0; i < 20000; i++) x[0] += ({real})1e-9 * ({real}){name}_predict(x);\n"
            "        clock_gettime(CLOCK_MONOTONIC, &b);\n"
            "        double t = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 20000;\n"
            "        least = t < least ? t : least;\n"
            "    }\n"
            '    printf("%.6f\\n", least / 1000);\n'
            "    return x[0] > 1e30;\n"
            "}\n"
        )
        subprocess.run(
            ["gcc", "-std=c99", "-O2", str(path / "main.c"), "-o", str(path / "main"), "-lm"], check=True
        )
        done = subprocess.run([str(path / "main")], check=True, capture_output=True, text=True)
    return float(done.stdout)
