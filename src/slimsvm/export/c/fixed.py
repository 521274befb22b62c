"""The outputs of an expansion in whole numbers: what is stored in 16, 8 or 4 bits is added up as it is.

Kernels of distances: a row (or its image) is brought to the grid of the vectors, refined by 2^F so that rounding it
costs nothing; squared or absolute differences are whole numbers, and one factor makes them the exponent. A number of a
row so far away that the kernel value is nothing is cut off, and no sum can overflow: by the size of its terms, or
because it ends where the value is nothing.

Products (with the matrix of a projection, or with vectors): a row is brought to whole numbers in units of a power of
two, as fine as 32 bits allow; rows with larger values than usual take 64.

Kernel values between -1 and 1 become whole numbers too and meet the coefficients as such.
"""

from __future__ import annotations

import numpy as np

from ...grid import Whole
from ...kernels import RBF, Laplacian, Sigmoid
from ...rounding import Rounded
from .floating import after_product
from .text import Code, dense_rows, indented
from .whole import image_limits, is_signed, largest_whole, product_limits, units_for, value_bits


def whole_type(whole: Whole) -> str:
    """The type of a table."""
    if whole.bits == 4:
        return "uint8_t"
    return ("int" if is_signed(whole) else "uint") + f"{whole.bits}_t"


def write_whole(code: Code, name: str, whole: Whole) -> None:
    """Add a table of whole numbers as they are packed."""
    if whole.bits == 4:
        code.table(name, np.frombuffer(whole.packed(), dtype=np.uint8), "uint8_t")
    else:
        code.table(name, dense_rows(whole.whole), whole_type(whole))


def entry_of(code: Code, name: str, whole: Whole, index: str) -> str:
    """An entry of a table of whole numbers as an int32_t."""
    ctype = whole_type(whole)
    if whole.bits > 4:
        return f"(int32_t){code.read(f'{name} + {index}', ctype)}"
    half = f"{code.name}_half({name}, {index})"
    return f"({half} ^ 8) - 8" if is_signed(whole) else half


def write_outputs(code: Code, small: Rounded, *, fine_outputs: bool = False) -> None:
    """Add the tables of a rounded expansion and `<name>_outputs(x, out)`.

    Kernel values stay numbers with a point where outputs must be fine.
    """
    f, vectors, coef = small.expansion, small.vectors, small.coef
    assert vectors is not None
    assert coef is not None
    if vectors.bits == 4:
        code.add(
            """
            static inline int32_t ${name}_half(const uint8_t *p, uint32_t at) { /* of two numbers in a byte */
                const uint8_t both = $both;
                return at & 1 ? both >> 4 : both & 15;
            }
            """,
            both=code.read("p + (at >> 1)", "uint8_t"),
        )
    write_whole(code, "vectors", vectors)
    write_whole(code, "coef", coef)
    code.table("coef_step", coef.step)
    code.table("intercept", f.intercept)
    bounded = isinstance(f.kernel, RBF | Laplacian | Sigmoid)
    if isinstance(f.kernel, RBF | Laplacian):
        before, value = _distances(code, small, vectors, fine_outputs=fine_outputs)
    else:
        before, value = _products(code, small, vectors)
    start, add, end = _sums(code, small, coef, in_whole=bounded and not fine_outputs)
    code.add(
        """
        static inline void ${name}_outputs(const float *x, float *out) {
            int f, j, o;
            uint32_t at = 0, c = 0;
        $start
        $before
            for (j = 0; j < $m; j++, at += $d) {
                float value;
        $value
        $add
            }
            for (o = 0; o < $k; o++) {
                out[o] = $end + $intercept;
            }
        }
        """,
        start=indented(start), before=indented(before), value=indented(value, 2), add=indented(add, 2), end=end,
        d=f.vectors.shape[1], k=f.n_outputs, m=f.n_vectors, intercept=code.entry("intercept", "o"),
    )  # fmt: skip


def _sums(code: Code, small: Rounded, coef: Whole, *, in_whole: bool) -> tuple[str, str, str]:
    """Lines that begin the sums over vectors, that add a kernel value to them, and what they are in the end."""
    k, name = small.expansion.n_outputs, code.name
    entry = entry_of(code, f"{name}_coef", coef, "c")
    step = code.entry("coef_step", "o")
    if not in_whole:
        start = f"for (o = 0; o < {k}; o++) {{\n    out[o] = 0;\n}}"
        add = f"for (o = 0; o < {k}; o++, c++) {{\n    out[o] = {name}_finite(out[o] + value * (float)({entry}));\n}}"
        return start, add, f"{name}_finite(out[o] * {step})"
    bits, total = value_bits(coef)
    code.buffer(k, "int32_t" if total == "int32_t" else "double")
    start = f"{total} sums[{max(1, k)}];\nfor (o = 0; o < {k}; o++) {{\n    sums[o] = 0;\n}}"
    add = code.fill(
        """
        {
            const int32_t weight = (int32_t)(value * $one + (value < 0 ? -0.5f : 0.5f));
            for (o = 0; o < $k; o++, c++) {
                sums[o] += ($total)weight * ($entry);
            }
        }
        """,
        one=code.number(2.0**bits), k=k, total=total, entry=entry,
    )  # fmt: skip
    return start, add, f"(float)sums[o] * ({step} * {code.number(2.0**-bits)})"


def _distances(code: Code, small: Rounded, vectors: Whole, *, fine_outputs: bool) -> tuple[str, str]:
    f = small.expansion
    grid, units = units_for(small, fine_outputs=fine_outputs)
    d, r = f.n_features, f.vectors.shape[1]
    code.table("units", units)
    code.table("scale", [grid.scale])
    unit = code.entry("units", "f" if units.size > 1 else 0)
    high = (largest_whole(vectors) << grid.bits) + grid.reach
    low = -high if is_signed(vectors) else -grid.reach
    code.buffer(r, grid.row)
    cut = code.fill(
        """
        t = t < $high ? t : $high;
        t = t > $low ? t : $low;
        q[f] = ($row)(t + (t < 0 ? -0.5f : 0.5f));
        """,
        row=grid.row, high=code.number(high), low=code.number(low),
    )  # fmt: skip
    if f.projection is None:
        code.table("base", vectors.base)
        before = f"{grid.row} q[{r}];\nfor (f = 0; f < {r}; f++) {{\n"
        before += f"    float t = ({code.name}_number(x, f) - {code.entry('base', 'f')}) * {unit};\n"
        before += indented(cut) + "\n}"
    else:
        assert small.matrix is not None
        write_whole(code, "matrix", small.matrix)
        code.table("matrix_step", small.matrix.step)
        code.table("shift", f.projection.shift)
        roots = units.astype(np.float64) * grid.step / 2.0**grid.bits
        if isinstance(f.kernel.gamma, float):  # type: ignore[attr-defined]
            gamma = f.kernel.gamma  # type: ignore[attr-defined]
            roots = roots * (np.sqrt(gamma) if isinstance(f.kernel, RBF) else gamma)
        usual, bits = image_limits(small.matrix, roots)
        before = f"{grid.row} q[{r}];\n" + _whole_row(code, d, "number(x, f)", usual, bits)
        before += "\n" + code.fill(
            """
            for (f = 0; f < $r; f++) {
                float t = $dot * ($step * unit) - $shift;
                t *= $unit;
            $cut
            }
            """,
            r=r, dot=_dot(code, "matrix", small.matrix, d, "f"), step=code.entry("matrix_step", "f"),
            shift=code.entry("shift", "f"), unit=unit, cut=indented(cut),
        )  # fmt: skip
    add = "sum += t * t;" if isinstance(f.kernel, RBF) else "sum += t < 0 ? -t : t;"
    value = code.fill(
        """
        $total sum = 0;
        for (f = 0; f < $r$unless; f++) {
            const $total t = ($total)q[f] - ($entry) * $fine;
            $add
        }
        value = $nothing${name}_exp((float)sum * $scale);
        """,
        total=grid.sum, r=r, add=add, unless=f" && sum < {grid.limit}" if grid.ends else "",
        nothing=f"sum >= {grid.limit} ? 0.0f : " if grid.ends else "", fine=2**grid.bits, scale=code.entry("scale"),
        entry=entry_of(code, f"{code.name}_vectors", vectors, "at + (uint32_t)f"),
    )  # fmt: skip
    return before, value


def _products(code: Code, small: Rounded, vectors: Whole) -> tuple[str, str]:
    f, d = small.expansion, small.expansion.n_features
    code.table("step", vectors.step)
    usual, bits = product_limits(vectors)
    step = code.entry("step", "f")
    before = _whole_row(code, d, f"number(x, f) * {step}", usual, bits)
    value = f"float sum = {_dot(code, 'vectors', vectors, d, 'j')} * unit;\n{after_product(code, f)}"
    return before, value


def _whole_row(code: Code, d: int, number: str, usual: float, bits: int) -> str:
    """Lines that make a row whole numbers `w` of a `unit`, a power of two."""
    code.buffer(d, "int32_t")
    code.add(
        """
        static inline float ${name}_power(int e) { /* 2^e */
            const uint32_t bits = (uint32_t)(e + 127) << 23;
            float power;
            memcpy(&power, &bits, sizeof power);
            return power;
        }
        """
    )
    return code.fill(
        """
        int32_t w[$d];
        float unit, largest = 0;
        uint32_t bits;
        int e, narrow;
        for (f = 0; f < $d; f++) {
            const float t = ${name}_finite(${name}_$number);
            largest = t > largest ? t : -t > largest ? -t : largest;
        }
        narrow = largest <= $usual;
        memcpy(&bits, &largest, sizeof bits);
        e = (int)(bits >> 23) - 126; /* largest < 2^e */
        e = (e > -90 ? e : -90) - (narrow ? $bits : 30);
        unit = ${name}_power(-e);
        for (f = 0; f < $d; f++) {
            const float t = ${name}_finite(${name}_$number) * unit;
            w[f] = (int32_t)(t + (t < 0 ? -0.5f : 0.5f));
        }
        unit = ${name}_power(e);
        """,
        d=d, number=number, usual=code.number(usual), bits=bits,
    )  # fmt: skip


def _dot(code: Code, table: str, whole: Whole, d: int, row: str) -> str:
    """Add a function for the products of `w` with a row of a table, and call it."""
    entry = entry_of(code, "p", whole, "at")
    code.add(
        """
        static inline float ${name}_dot(const int32_t *w, int row, int narrow) {
            const $type *p = ${name}_$table;
            uint32_t at = (uint32_t)row * $d;
            int f;
            if (narrow) {
                int32_t sum = 0;
                for (f = 0; f < $d; f++, at++) {
                    sum += w[f] * ($entry);
                }
                return (float)sum;
            } else {
                int64_t sum = 0;
                for (f = 0; f < $d; f++, at++) {
                    sum += (int64_t)w[f] * ($entry);
                }
                return (float)sum;
            }
        }
        """,
        type=whole_type(whole), table=table, d=d, entry=entry,
    )  # fmt: skip
    return f"{code.name}_dot(w, {row}, narrow)"
