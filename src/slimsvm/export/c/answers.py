"""What the readout makes of the outputs, in C: classes, scores, probabilities, values, inliers, densities."""

from __future__ import annotations

import numpy as np

from ...readout import (
    DensityReadout,
    FeaturesReadout,
    InlierReadout,
    LabelReadout,
    LargestReadout,
    Readout,
    SignReadout,
    ValueReadout,
    VotesReadout,
)
from .probabilities import write_probabilities
from .text import Code, literal, quoted

LABELS = (SignReadout, LargestReadout, VotesReadout)


def n_scores(readout: Readout, n_outputs: int) -> int:
    """How many numbers `<name>_scores` gives."""
    by_class = isinstance(readout, VotesReadout) and not readout.one_for_each_pair
    return len(readout.classes) if by_class else n_outputs  # type: ignore[union-attr]


def write_answers(code: Code, readout: Readout, n_outputs: int, threshold: float | None) -> None:
    """Add `<name>_scores`, `<name>_predict` and, where there are some, `<name>_probabilities`."""
    code.buffer(n_outputs)
    if isinstance(readout, LABELS):
        _write_labels(code, readout, n_outputs, threshold)
        return
    _write_plain_scores(code)
    if isinstance(readout, DensityReadout):
        _write_density(code, readout.log_unit)
    elif isinstance(readout, FeaturesReadout) or (
        isinstance(readout, ValueReadout) and not readout.one_target
    ):
        code.add(
            """
            /* The $n values of a row. */
            static inline void ${name}_predict(const $real *x, $real *out) {
                ${name}_outputs(x, out);
            }
            """,
            n=n_outputs,
        )
    else:
        inlier = isinstance(readout, InlierReadout)
        code.add(
            """
            /* $says */
            static inline $type ${name}_predict(const $real *x) {
                $real out[$k];
                ${name}_outputs(x, out);
                return out[0]$test;
            }
            """,
            says="1 for an inlier, -1 for an outlier." if inlier else "The value of a row.",
            type="int" if inlier else code.real,
            k=n_outputs,
            test=" > 0 ? 1 : -1" if inlier else "",
        )


def _write_plain_scores(code: Code) -> None:
    code.add(
        """
        /* ${NAME}_N_SCORES numbers. */
        static inline void ${name}_scores(const $real *x, $real *out) {
            ${name}_outputs(x, out);
        }
        """
    )


def _write_density(code: Code, log_unit: float) -> None:
    # log t = 2 artanh((t - 1) / (t + 1)) + n log 2, t between 0.7 and 1.4
    odd = [1 / power for power in range(1, 21, 2)]
    series = code.number(odd[-1])
    for factor in odd[-2::-1]:
        series = f"({code.number(factor)} + s * s * {series})"
    code.add(
        """
        static inline $real ${name}_log($real t) {
            $real s;
            int n = 0;
            if (!(t > 0)) {
                return -($real)INFINITY;
            }
            for (; t > $high; n++) {
                t *= $half;
            }
            for (; t < $low; n--) {
                t *= 2;
            }
            s = (t - 1) / (t + 1);
            return 2 * s * $series + n * $two;
        }

        /* The logarithm of the density; ${name}_scores gives the density itself$unit. */
        static inline $real ${name}_predict(const $real *x) {
            $real out[1];
            ${name}_outputs(x, out);
            return ${name}_log(out[0])$plus;
        }
        """,
        unit=f", in units of exp({log_unit:.6g})" if log_unit else "",
        plus=f" + ({code.number(log_unit)})" if log_unit else "",
        series=series, high=code.number(1.4), low=code.number(0.7), half=code.number(0.5), two=code.number(np.log(2)),
    )  # fmt: skip


def write_class_names(code: Code, classes: np.ndarray) -> None:
    """Add what the classes are called; it takes room only in a program that uses it."""
    place = f" {code.name.upper()}_FLASH" if code.progmem else ""
    values = classes.tolist()
    if all(isinstance(value, bool | int) and abs(int(value)) < 2**31 for value in values):
        kind, body = "int32_t", ", ".join(str(int(value)) for value in values)
        array = f"{code.name}_labels[{len(values)}]"
    elif all(isinstance(value, bool | int | float) for value in values):
        kind, body = "double", ", ".join(literal(value, "double") for value in values)
        array = f"{code.name}_labels[{len(values)}]"
    else:
        texts = [str(value) for value in values]
        longest = max(len(text.encode()) for text in texts) + 1
        kind, body = "char", ", ".join(map(quoted, texts))
        array = f"{code.name}_class_names[{len(values)}][{longest}]"
    code.tables.append(
        f"/* What the classes are called; in a program that does not use it, it takes no room. */\n"
        f"static const {kind} {array}{place} = {{\n    {body}\n}};"
    )


def _write_labels(code: Code, readout: LabelReadout, k: int, threshold: float | None) -> None:
    write_class_names(code, readout.classes)
    n_classes = len(readout.classes)
    if isinstance(readout, SignReadout):
        winner = f"return out[0] {'>=' if readout.zero else '>'} 0;"
    elif isinstance(readout, LargestReadout):
        winner = _largest(code, readout, k)
    else:
        winner = _votes(code, readout, n_classes)
    code.add(
        """
        static inline int ${name}_winner(const $real *out) {
        $winner
        }
        """,
        winner="\n".join("    " + line for line in winner.splitlines()),
    )
    if isinstance(readout, VotesReadout) and not readout.one_for_each_pair:
        code.add(
            """
            /* ${NAME}_N_SCORES numbers, one for each class: votes, and what the outputs add to them. */
            static inline void ${name}_scores(const $real *x, $real *scores) {
                $real out[$k];
                ${name}_outputs(x, out);
                ${name}_by_class(out, scores);
            }
            """,
            k=k,
        )
    else:
        _write_plain_scores(code)
    if readout.probability is not None:
        write_probabilities(code, readout, readout.probability, k, predicts=threshold is not None)
    _write_predict(code, readout, k, threshold)


def _write_predict(code: Code, readout: LabelReadout, k: int, threshold: float | None) -> None:
    n_classes = len(readout.classes)
    if threshold is None:
        code.add(
            """
            /* The number of the class, 0 .. $last. */
            static inline int ${name}_predict(const $real *x) {
                $real out[$k];
                ${name}_outputs(x, out);
                return ${name}_winner(out);
            }
            """,
            k=k,
            last=n_classes - 1,
        )
        return
    if readout.probability is not None:
        what, sure, n = "probability", "sure = p[winner];", n_classes
        sure = f"{code.name}_from_outputs(out, p);\n    {sure}"
        code.buffer(n)
    elif isinstance(readout, SignReadout):
        what, sure, n = "score, without its sign,", "sure = out[0] < 0 ? -out[0] : out[0];", 0
    elif isinstance(readout, VotesReadout):
        what, n = "score", n_classes
        sure = f"{code.name}_by_class(out, p);\n    sure = p[winner];"
        code.buffer(n)
    else:
        what, sure, n = "score", "sure = out[winner];", 0
    code.add(
        """
        /* The number of the class, 0 .. $last; -1, none, where its $what is below $threshold. */
        static inline int ${name}_predict(const $real *x) {
            $real out[$k]$more, sure;
            int winner;
            ${name}_outputs(x, out);
            winner = ${name}_winner(out);
            $sure
            return sure < $threshold ? -1 : winner;
        }
        """,
        k=k, last=n_classes - 1, what=what, threshold=code.number(threshold), sure=sure, more=f", p[{n}]" if n else "",
    )  # fmt: skip


def _largest(code: Code, readout: LargestReadout, k: int) -> str:
    level = ""
    find = "for (c = 1; c < $k; c++) {\n    winner = out[c] > out[winner] ? c : winner;\n}"
    if readout.half_digits:
        digits = code.number(float(np.sqrt(np.finfo("f4" if code.real == "float" else "f8").eps)))
        level = "\n" + code.fill(
            """
            level = out[winner] < 0 ? -out[winner] : out[winner];
            level = out[winner] - $digits * (level > 1 ? level : 1);
            for (winner = 0; out[winner] < level; winner++) {
            }
            """,
            digits=digits,
        )
        find = f"{code.real} level;\n{find}"
    return "int c, winner = 0;\n" + find.replace("$k", str(k)) + level + "\nreturn winner;"


def _votes(code: Code, readout: VotesReadout, n_classes: int) -> str:
    code.add(
        """
        /* Votes of the pairs, and the sum of the outputs, squeezed to less than half a vote. */
        static inline void ${name}_by_class(const $real *out, $real *scores) {
            int i, j, pair = 0;
            $real sums[$n];
            for (i = 0; i < $n; i++) {
                scores[i] = sums[i] = 0;
            }
            for (i = 0; i < $n; i++) {
                for (j = i + 1; j < $n; j++, pair++) {
                    scores[out[pair] >= 0 ? i : j] += 1;
                    sums[i] = ${name}_finite(sums[i] + out[pair]);
                    sums[j] = ${name}_finite(sums[j] - out[pair]);
                }
            }
            for (i = 0; i < $n; i++) {
                const $real size = sums[i] < 0 ? -sums[i] : sums[i];
                scores[i] += sums[i] / (size + 1) / 3;
            }
        }
        """,
        n=n_classes,
    )
    if readout.break_ties and not readout.one_for_each_pair:
        # sums as they are: squeezed, large ones would be equal
        code.buffer(n_classes)
        code.buffer(n_classes, "int32_t")
        return code.fill(
            """
            int i, j, pair = 0, votes[$n] = {0};
            $real sums[$n] = {0};
            for (i = 0; i < $n; i++) {
                for (j = i + 1; j < $n; j++, pair++) {
                    votes[out[pair] >= 0 ? i : j]++;
                    sums[i] = ${name}_finite(sums[i] + out[pair]);
                    sums[j] = ${name}_finite(sums[j] - out[pair]);
                }
            }
            for (i = 0, j = 1; j < $n; j++) {
                i = votes[j] > votes[i] || (votes[j] == votes[i] && sums[j] > sums[i]) ? j : i;
            }
            return i;
            """,
            n=n_classes,
        )
    code.buffer(n_classes, "int32_t")
    return code.fill(
        """
        int i, j, pair = 0, votes[$n] = {0};
        for (i = 0; i < $n; i++) {
            for (j = i + 1; j < $n; j++, pair++) {
                votes[out[pair] > 0 ? i : j]++;
            }
        }
        for (i = 0, j = 1; j < $n; j++) {
            i = votes[j] > votes[i] ? j : i;
        }
        return i;
        """,
        n=n_classes,
    )
