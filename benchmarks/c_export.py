"""What becomes of models in C: accuracy in so many bytes, instructions and microseconds of a prediction.

    python benchmarks/c_export.py                    digits and one row: about two minutes
    python benchmarks/c_export.py --only mnist       MNIST (SLIMSVM_DATA), two fits of minutes each

Writes results/c_export.md; the sections that are not run again stay as they are in results/c_export.jsonl. Labels are
those of the compiled header, bytes of constant data and code those of arm-none-eabi-gcc -Os for a Cortex-M3 (what the C
library adds, expf above all, is not in them), instructions those of qemu's Cortex-M3.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import c_metal
from harness import RESULTS, Journal, command, need_data, published, table, timed, versions, write_page
from slimsvm import CompactSVC, FixedSizeLSSVC, to_c
from slimsvm.budget import stored_bytes
from slimsvm.datasets import make_waveform

SEEDS = range(5)
# Bytes, and the share of right answers that is asked for.
DIGITS = {2048: 0.97, 4096: 0.98}
MNIST = {("int8", 20 * 1024): 0.973, ("int4", 12 * 1024): 0.973}
THREADS = 2


def measured(model, number: str, X_test, y_test) -> dict:
    """A header of a fitted model, seen by compilers."""
    header, seconds = timed(lambda: to_c(model, name="digits", number=number))
    made = c_metal.sections(header.source, "digits", c_metal.CORTEX_M3)
    labels = model.classes_[c_metal.labels_on_host(header.source, "digits", X_test)]
    expected = model.predict(X_test)
    return {
        "number": number, "vectors": model.n_vectors_, "stored": stored_bytes(model.expansion_, number),
        "flash": header.flash_bytes, "constants": made.constants, "code": made.code, "ram": header.ram_bytes,
        "right": float(np.mean(labels == y_test)), "python": float(np.mean(expected == y_test)),
        "differ": int(np.sum(labels != expected)), "rank": getattr(model.expansion_.projection, "rank", 0),
        "generation": seconds, "source": header.source,
    }  # fmt: skip


def digits(journal: Journal) -> None:
    X, y = load_digits(return_X_y=True)
    for limit in DIGITS:
        for seed in SEEDS:
            A, T, a, t = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
            model, seconds = timed(
                lambda: CompactSVC(max_bytes=limit, number="int8", random_state=seed).fit(A, a)
            )
            line = measured(model, "int8", T, t)
            tabled = to_c(model, name="digits", number="int8", exp="table").source
            for exp, source in (("libm", line.pop("source")), ("table", tabled)):
                found, line[f"m3 {exp}"] = c_metal.on_cortex_m3(source, "digits", T)
                line["differ"] += int(np.sum(found != model.predict(T)))
                line[f"host {exp}"] = c_metal.on_host(source, "digits", T[0])
            avr = to_c(model, name="digits", number="int8", exp="table", progmem=True).source
            line["avr"], line["avr ram"] = c_metal.program_size(avr, "digits", c_metal.ATMEGA)
            journal.add({"section": "digits", "limit": limit, "seed": seed, "seconds": seconds, **line})
            print(
                f"digits, {limit} bytes, seed {seed}: {line['right']:.4f}, {line['constants']} bytes",
                flush=True,
            )


def mnist(journal: Journal) -> None:
    need_data("c_export.py --only mnist")
    X, X_test, y, y_test = published("mnist")
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    for number, limit in MNIST:
        model, seconds = timed(
            lambda: CompactSVC(max_bytes=limit, number=number, random_state=0, n_jobs=THREADS).fit(X, y)
        )
        line = measured(model, number, X_test, y_test)
        line.pop("source")
        journal.add({"section": "mnist", "limit": limit, "seed": 0, "seconds": seconds, **line})
        print(f"MNIST, {number}: {line['right']:.4f}, {line['constants']} bytes, {seconds:.0f} s", flush=True)


def one_row(journal: Journal) -> None:
    X, y = make_waveform(300, random_state=0)
    X = X[:, :20]
    model = FixedSizeLSSVC(n_vectors=10, random_state=0).fit(X, y)
    for number in ("float32", "float64", "int16", "int8", "int4"):
        header, seconds = timed(lambda: to_c(model, X=X, y=y, name="waves", number=number))
        line = {"us": c_metal.microseconds(header.source, "waves", X[0]), "flash": header.flash_bytes}
        line["instructions"] = c_metal.on_host(header.source, "waves", X[0])
        journal.add(
            {"section": "row", "limit": 0, "seed": 0, "number": number, "generation": seconds, **line}
        )
        print(f"one row, {number}: {line['us']:.3f} microseconds", flush=True)


SECTIONS = {"digits": digits, "row": one_row, "mnist": mnist}


def page(journal: Journal) -> list[str]:
    lines = [
        "# Models in C", "",
        f"`python benchmarks/c_export.py` and `--only mnist`; {versions()}; arm-none-eabi-gcc and gcc of Debian 12, "
        "qemu 7.2. Constant data and code as arm-none-eabi-gcc -Os gives them for a Cortex-M3, without the C library; "
        "answers of the compiled header on all test rows; instructions of one prediction, rows in float.", "",
    ]  # fmt: skip
    records = list(journal.lines.values())
    chosen = [line for line in records if line["section"] == "digits"]
    if chosen:
        by_limit = {limit: [line for line in chosen if line["limit"] == limit] for limit in DIGITS}
        lines += ["## Digits", ""]
        lines += ['Stratified halves, five seeds, `CompactSVC(max_bytes=..., number="int8")`.', ""]
        columns = ["limit", "asked for", "mean right", "each seed", "constant data", "budget counts", "code"]
        columns += ["arrays on the stack", "labels unlike Python's", "fit, s", "`to_c`, s"]
        lines += table(columns, [digits_row(limit, found) for limit, found in by_limit.items()])
        lines += ["Instructions of one prediction, and a whole program for an ATmega328P that predicts", ""]
        lines[-2] += ' (`exp="table"`, `progmem=True`):'
        columns = [
            "limit",
            "Cortex-M3",
            'Cortex-M3, exp="table"',
            "x86-64 (callgrind)",
            "ATmega328P flash",
            "static RAM",
        ]
        lines += table(columns, [metal_row(limit, found) for limit, found in by_limit.items()])
    chosen = [line for line in records if line["section"] == "mnist"]
    if chosen:
        lines += ["## MNIST", "", "60,000 rows to train, 10,000 to test; one fit each, two threads.", ""]
        columns = [
            "number",
            "limit",
            "asked for",
            "right",
            "Python",
            "vectors",
            "dimensions",
            "constant data",
        ]
        columns += ["budget counts", "code", "labels unlike Python's", "fit, s", "`to_c`, s"]
        lines += table(columns, [mnist_row(line) for line in chosen])
    chosen = [line for line in records if line["section"] == "row"]
    if chosen:
        lines += [
            "## One row",
            "",
            "10 vectors, 20 inputs, two classes; gcc -O2 on this computer, each call waiting",
        ]
        lines[-1] += " for the one before; least of 20 rounds. Instructions by callgrind."
        columns = ["number", "microseconds", "instructions", "constant data", "`to_c` with rows, s"]
        lines += ["", *table(columns, [row_row(line) for line in chosen])]
    return lines


def row_row(line: dict) -> list[str]:
    return [
        line["number"], f"{line['us']:.3f}", f"{line['instructions']:,.0f}", f"{line['flash']:,d}",
        f"{line['generation']:.3f}",
    ]  # fmt: skip


def digits_row(limit: int, lines: list[dict]) -> list[str]:
    def mean(key: str) -> float:
        return float(np.mean([line[key] for line in lines]))

    return [
        f"{limit:,d}", f"{DIGITS[limit]:.0%}", f"{mean('right'):.2%}",
        ", ".join(f"{line['right']:.1%}" for line in lines), f"at most {max(line['constants'] for line in lines):,d}",
        f"at most {max(line['stored'] for line in lines):,d}", f"{mean('code'):,.0f}", f"{mean('ram'):,.0f}",
        str(sum(line["differ"] for line in lines)), f"{mean('seconds'):.1f}",
        f"{max(line['generation'] for line in lines):.3f}",
    ]  # fmt: skip


def metal_row(limit: int, lines: list[dict]) -> list[str]:
    keys = ("m3 libm", "m3 table", "host libm", "avr", "avr ram")
    return [f"{limit:,d}", *(f"{np.mean([line[key] for line in lines]):,.0f}" for key in keys)]


def mnist_row(line: dict) -> list[str]:
    return [
        line["number"], f"{line['limit']:,d}", f"{MNIST[line['number'], line['limit']]:.1%}", f"{line['right']:.2%}",
        f"{line['python']:.2%}", str(line["vectors"]), str(line["rank"] or "all"), f"{line['constants']:,d}",
        f"{line['stored']:,d}", f"{line['code']:,d}", str(line["differ"]), f"{line['seconds']:.0f}",
        f"{line['generation']:.3f}",
    ]  # fmt: skip


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=["digits", "row"])
    arguments = parser.parse_args()
    journal = Journal(
        RESULTS / "c_export.jsonl",
        lambda line: (line["section"], line["number"], line["limit"], line["seed"]),
    )
    for name in arguments.only:
        SECTIONS[name](journal)
        write_page(RESULTS / "c_export.md", page(journal))
    print("\n".join(page(journal)))


if __name__ == "__main__":
    main()
