"""The outputs of an expansion in float or double: loops over vectors as they are."""

from __future__ import annotations

import numpy as np

from ...expansion import KernelExpansion
from ...kernels import RBF, Laplacian, Polynomial, Sigmoid
from ...projection import Projection
from .text import Code, dense_rows, indented

# A width outside these leaves squared differences that do not fit: the differences are scaled before they are squared.
PLAIN_WIDTHS = {"float": (1e-16, 1e16), "double": (1e-140, 1e140)}
# An image this far from zero before the shift is taken off, in units of the kernel, is added up in double.
FAR_IMAGE = 8.0


def write_exp(code: Code, *, table: bool) -> None:
    """Add `<name>_exp(t)`: exp(-t) for t of 0 or more."""
    if not table:
        call = "expf" if code.real == "float" else "exp"
        code.add(
            """
            static inline $real ${name}_exp($real t) { /* exp(-t) */
                return $call(-t);
            }
            """,
            call=call,
        )
        return
    # exp(-t) = 2^-(n / 16) exp(-rest), the rest at most ln 2 / 32: three terms leave 2e-6
    code.table("powers", 2.0 ** (-np.arange(16) / 16))
    code.add(
        """
        static inline float ${name}_exp(float t) { /* exp(-t), t >= 0, to 2e-6 of it */
            uint32_t bits;
            int32_t n;
            float power;
            t *= 23.083121f; /* sixteenths of a power of two */
            if (!(t < 2000.0f)) {
                return 0.0f;
            }
            n = (int32_t)(t + 0.5f);
            t = (t - (float)n) * 0.043321699f;
            bits = (uint32_t)(127 - n / 16) << 23;
            memcpy(&power, &bits, sizeof power);
            return $entry * power * (1.0f - t + 0.5f * t * t);
        }
        """,
        entry=code.entry("powers", "n % 16"),
    )


def write_outputs(code: Code, f: KernelExpansion) -> None:
    """Add the tables of an expansion and `<name>_outputs(x, out)`."""
    vectors = dense_rows(f.vectors)
    code.table("vectors", vectors)
    code.table("coef", f.coef)
    code.table("intercept", f.intercept)
    before = "" if f.projection is None else _image(code, f, f.projection)
    row = f"{code.name}_number(x, f)"
    if f.projection is not None:
        row = "z[f]"
    elif f.n_vectors > 1:
        # numbers are made once for all vectors
        code.buffer(f.n_features)
        before = f"{code.real} z[{f.n_features}];\nfor (f = 0; f < {f.n_features}; f++) {{\n"
        before += f"    z[f] = {row};\n}}"
        row = "z[f]"
    value = _distance(code, f, row) if isinstance(f.kernel, RBF | Laplacian) else _product(code, f, row)
    bounded = isinstance(f.kernel, RBF | Laplacian | Sigmoid)
    term = f"value * {code.read('c')}"
    code.add(
        """
        static inline void ${name}_outputs(const $real *x, $real *out) {
            const $real *v = ${name}_vectors, *c = ${name}_coef;
            int f, j, o;
        $before
            for (o = 0; o < $k; o++) {
                out[o] = $intercept;
            }
            for (j = 0; j < $m; j++) {
                $real sum = 0, value;
        $value
                for (o = 0; o < $k; o++, c++) {
                    out[o] $add;
                }
            }
        }
        """,
        before=indented(before),
        value=indented(value, 2),
        k=f.n_outputs,
        m=f.n_vectors,
        intercept=code.entry("intercept", "o"),
        add=f"+= {term}" if bounded else f"= {code.name}_finite(out[o] + {term})",
    )


def _image(code: Code, f: KernelExpansion, projection: Projection) -> str:
    """Lines that make the image of a row under a projection, in `z`."""
    code.table("matrix", projection.matrix)
    code.table("shift", projection.shift)
    widths = np.sqrt(np.max(f.kernel.gamma)) if isinstance(f.kernel, RBF) else np.max(f.kernel.gamma)  # type: ignore[attr-defined]
    far = float(np.abs(projection.shift).max(initial=0.0) * widths) > FAR_IMAGE
    wide = "double" if far else code.real
    code.buffer(projection.rank + projection.n_features)
    return code.fill(
        """
        const $real *p = ${name}_matrix;
        $real u[$d], z[$r];
        for (f = 0; f < $d; f++) {
            u[f] = ${name}_number(x, f);
        }
        for (j = 0; j < $r; j++) {
            $wide sum = 0;
            for (f = 0; f < $d; f++, p++) {
                sum += ($wide)u[f] * $entry;
            }
            sum -= $shift;
            /* so far away that no kernel value but 0 is possible: any large number will do */
            z[j] = sum > -$max && sum < $max ? ($real)sum : $max;
        }
        """,
        d=projection.n_features,
        r=projection.rank,
        wide=wide,
        entry=code.read("p"),
        shift=code.entry("shift", "j"),
    )


def _distance(code: Code, f: KernelExpansion, row: str) -> str:
    """Lines for kernels of distances: the sum over the features, and the value."""
    assert isinstance(f.kernel, RBF | Laplacian)
    squares, gamma, d = isinstance(f.kernel, RBF), f.kernel.gamma, f.vectors.shape[1]
    low, high = PLAIN_WIDTHS[code.real]
    scaled, skip, last = "", "", "sum"
    if isinstance(gamma, float) and low <= gamma <= high:
        code.table("gamma", [gamma])
        last = f"{code.entry('gamma')} * sum"
    else:
        widths = np.atleast_1d(np.asarray(gamma, dtype=np.float64))
        code.table("widths", np.sqrt(widths) if squares else widths)
        width = code.entry("widths", "f" if widths.size > 1 else 0)
        scaled = f" * {width}"
        if (widths == 0).any():  # nothing times infinity is not a number
            skip = f"\n    if (!({width} > 0)) {{\n        continue;\n    }}"
    add = "sum += t * t;" if squares else "sum += t < 0 ? -t : t;"
    return code.fill(
        """
        for (f = 0; f < $d; f++, v++) {
            $real t;$skip
            t = ($row - $entry)$scaled;
            $add
        }
        value = ${name}_exp($last);
        """,
        d=d, skip=skip, row=row, entry=code.read("v"), scaled=scaled, add=add, last=last,
    )  # fmt: skip


def _product(code: Code, f: KernelExpansion, row: str) -> str:
    """Lines for kernels of products; a sum that does not fit is added up again in small units."""
    lines = code.fill(
        """
        for (f = 0; f < $d; f++) {
            sum += $row * $entry;
        }
        if (!(sum - sum == 0)) {
            sum = 0;
            for (f = 0; f < $d; f++) {
                sum += ${name}_finite($row) * $small * ($entry * $small);
            }
            sum = ${name}_finite(sum / $small / $small);
        }
        v += $d;
        """,
        d=f.n_features,
        row=row,
        entry=code.read("v + f"),
        small=code.number(2.0**-66 if code.real == "float" else 2.0**-514),
    )
    return lines + "\n" + after_product(code, f)


def write_finite(code: Code) -> None:
    """Add `<name>_finite(t)`: the nearest finite number."""
    code.add(
        """
        static inline $real ${name}_finite($real t) {
            t = t < $max ? t : $max;
            return t > -$max ? t : -$max;
        }
        """
    )


def after_product(code: Code, f: KernelExpansion) -> str:
    """Lines from the product `sum` to the kernel's `value`."""
    kernel = f.kernel
    if not isinstance(kernel, Polynomial | Sigmoid):
        return "value = sum;"
    code.table("kernel", [kernel.gamma, kernel.coef0])
    inner = f"sum = {code.entry('kernel', 0)} * sum + {code.entry('kernel', 1)};"
    if isinstance(kernel, Sigmoid):
        write_tanh(code)
        return f"{inner}\nvalue = {code.name}_tanh(sum);"
    return code.fill(
        """
        $inner
        value = 1;
        for (f = 0; f < $degree; f++) {
            value *= sum;
        }
        value = ${name}_finite(value);
        """,
        inner=inner,
        degree=kernel.degree,
    )


def write_tanh(code: Code) -> None:
    """Add `<name>_tanh(t)`; near zero a series, because 1 - exp(-2 t) loses digits there."""
    terms = (1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835)
    code.add(
        """
        static inline $real ${name}_tanh($real t) {
            $real size = t < 0 ? -t : t, value, s = t * t;
            if (size < $near) {
                return t * ($a + s * ($b + s * ($c + s * ($d + s * $e))));
            }
            value = ${name}_exp(2 * size);
            value = (1 - value) / (1 + value);
            return t < 0 ? -value : value;
        }
        """,
        near=code.number(0.05),
        **{letter: code.number(term) for letter, term in zip("abcde", terms, strict=True)},
    )
