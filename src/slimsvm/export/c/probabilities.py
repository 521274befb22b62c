"""Probabilities of classes, in C."""

from __future__ import annotations

import numpy as np

from ...probability import Probability
from ...readout import LabelReadout, VotesReadout
from .text import Code


def write_probabilities(
    code: Code, readout: LabelReadout, probability: Probability, k: int, *, predicts: bool
) -> None:
    """Add `<name>_probabilities`; their numbers count as the model's where its answers need them."""
    n = len(readout.classes)
    if isinstance(readout, VotesReadout):
        code.buffer(n if predicts else 0)
        # the winner is never behind: if it is, it goes just ahead
        before = code.fill(
            """
            $real f[$n];
            int i, most = 0;
            const int winner = ${name}_winner(out);
            ${name}_by_class(out, f);
            for (i = 1; i < $n; i++) {
                most = f[i] > f[most] ? i : most;
            }
            if (f[winner] < f[most]) {
                f[winner] = f[most] * (1 + $eps);
            }
            """,
            n=n,
            eps="FLT_EPSILON" if code.real == "float" else "DBL_EPSILON",
        )
        outputs, inputs = n, "f"
    else:
        before, outputs, inputs = f"const int winner = {code.name}_winner(out);", k, "out"
    if probability.link == "softmax":
        _write_softmax(code, probability, outputs, n, counted=predicts)
        call = f"{code.name}_softmax({inputs}, winner, p);"
    else:
        _write_distribution(code, probability.link, outputs)
        call = f"(void)winner;\n{code.name}_distribution({inputs}, p);"
    code.add(
        """
        static inline void ${name}_from_outputs(const $real *out, $real *p) {
        $before
        $call
        }

        /* ${NAME}_N_CLASSES probabilities; the largest is that of the class that wins. */
        static inline void ${name}_probabilities(const $real *x, $real *p) {
            $real out[$k];
            ${name}_outputs(x, out);
            ${name}_from_outputs(out, p);
        }
        """,
        before="\n".join("    " + line for line in before.splitlines()),
        call="\n".join("    " + line for line in call.splitlines()),
        k=k,
    )


def _write_distribution(code: Code, link: str, k: int) -> None:
    if link == "logistic":
        code.add(
            """
            static inline $real ${name}_share($real t) {
                const $real e = ${name}_exp(t < 0 ? -t : t);
                return t < 0 ? e / (1 + e) : 1 / (1 + e);
            }
            """
        )
    else:
        # the normal distribution: a series near zero, a continued fraction in the tails
        code.add(
            """
            static inline $real ${name}_share($real t) {
                const $real size = t < 0 ? -t : t, density = $root * ${name}_exp($half * size * size);
                $real value = 0, term = size;
                int n;
                if (size < 3) {
                    for (n = 3; n < 121; n += 2) {
                        value += term;
                        term *= size * size / n;
                    }
                    value = $half - density * value;
                } else {
                    for (n = 60; n > 0; n--) {
                        value = n / (size + value);
                    }
                    value = density / (size + value);
                }
                return t < 0 ? value : 1 - value;
            }
            """,
            root=code.number(1 / np.sqrt(2 * np.pi)),
            half=code.number(0.5),
        )
    if k == 1:
        code.add(
            """
            static inline void ${name}_distribution(const $real *f, $real *p) {
                p[0] = ${name}_share(-f[0]);
                p[1] = ${name}_share(f[0]);
            }
            """
        )
        return
    code.add(
        """
        static inline void ${name}_distribution(const $real *f, $real *p) {
            $real sum = 0;
            int c;
            for (c = 0; c < $k; c++) {
                p[c] = ${name}_share(f[c]);
                p[c] = p[c] > $tiny ? p[c] : $tiny;
                sum += p[c];
            }
            for (c = 0; c < $k; c++) {
                p[c] /= sum;
            }
        }
        """,
        k=k,
        tiny="FLT_MIN" if code.real == "float" else "DBL_MIN",
    )


def _write_softmax(code: Code, probability: Probability, k: int, n: int, *, counted: bool) -> None:
    offset = probability.offset
    offset = offset if len(offset) != 1 else (0.0, *offset)
    code.table("probability", [probability.factor, *offset], counted=counted)
    place = code.entry("probability", "c + 1")
    code.add(
        """
        static inline void ${name}_softmax(const $real *f, int winner, $real *p) {
            $real largest = $first, sum = 0, level;
            int c, j;
            for (c = 0; c < $k; c++) {
                largest = f[c] > largest ? f[c] : largest;
            }
            for (c = 0; c < $n; c++) {
                p[c] = ${name}_finite(${name}_finite($output - largest) * $factor)$offset;
            }
            for (largest = p[0], c = 1; c < $n; c++) {
                largest = p[c] > largest ? p[c] : largest;
            }
            for (c = 0; c < $n; c++) {
                p[c] = ${name}_exp(largest - p[c]);
                sum += p[c];
            }
            for (c = 0; c < $n; c++) {
                p[c] /= sum;
            }
            /* the winner and those ahead of it share what they have equally, as few as suffice */
            for (level = p[winner], j = 0; j < $n; j++) {
                int sharing = 1;
                for (sum = p[winner], c = 0; c < $n; c++) {
                    if (c != winner && p[c] > level) {
                        sum += p[c];
                        sharing++;
                    }
                }
                level = sum / sharing;
            }
            for (c = 0, j = 0; c < $n; c++) {
                if (c != winner && p[c] >= level) {
                    p[c] = level;
                    j = 1;
                }
            }
            p[winner] = j ? level * (1 + $eps) : p[winner];
        }
        """,
        first="f[0]" if k > 1 else "0", k=k, n=n, output="f[c]" if k > 1 else "(c ? f[0] : 0)",
        factor=code.entry("probability"), offset=f" + {place}" if offset else "",
        eps="FLT_EPSILON" if code.real == "float" else "DBL_EPSILON",
    )  # fmt: skip
