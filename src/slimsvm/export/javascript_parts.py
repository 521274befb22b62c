"""The pieces of JavaScript a module is put together from."""

from __future__ import annotations

FLOATS = """\
const { abs, exp, max, min } = Math, Single = Float32Array;
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const numbers = (text, Kind) => new Kind(bytes(text).buffer);
"""

# The values that whole numbers stand for, to the last bit as in `slimsvm.grid`: the next float32 at or below.
WHOLE = """\
const below = (t) => {
  const f = Math.fround(t);
  return f > t + 2 ** -48 * abs(t) ? Math.fround(f - 6e-8 * abs(f)) : f;
};
const values = (whole, width, step, base, root, rows) =>
  Array.from(whole, (q, i) => {
    const j = i % width, sign = q < 0 ? -1 : 1;
    const part = sign * q * (step[rows ? (i - j) / width : j] ?? step[0]);
    return sign * below((base[j] ?? 0) + (part && part / (root[j] ?? 1)));
  });
"""

NIBBLES = """\
const nibbles = (text, count, sign) =>
  [...bytes(text)].flatMap((b) => [b & 15, b >> 4]).slice(0, count).map((q) => (q ^ sign) - sign);
"""

READ = """\
const fail = (text) => {
  throw new Error(`${name}: ${text}.`);
};
const called = (j) => `feature ${featureNames ? featureNames[j] : j}`;
const number = (u, j) => (Number.isFinite(u) ? u : fail(`${called(j)} must be a finite number, got ${u}`));
const listed = (row) => {
  const list = row?.[Symbol.iterator]
    ? [...row]
    : (featureNames ?? fail("a row must be an array")).map((key) => row?.[key]);
  return list.length === n ? list : fail(`a row must have ${n} features, got ${list.length}`);
};
"""

PLAIN_ROW = """\
const read = (row) => listed(row).map(number);
"""

COLUMNS_ROW = """\
const read = (row) => {
  row = listed(row);
%s  return columns.map(([j, shift, scale, category]) => {
    const u = category == null ? number(row[j], j) : +(row[j] === category);
    return (u - shift) * scale;
  });
};
"""

FILL = """\
  row = row.map((u, j) => ((u == null || u !== u) && fill.has(j) ? fill.get(j) : u));
"""

ALLOWED = """\
  for (const [j, known] of allowed)
    if (!known.includes(row[j])) fail(`${called(j)} has ${row[j]}, none of its categories`);
"""

CLAMP = """\
const clamp = (t, most) => (t > most ? most : t < -most ? -most : t);
"""

PROJECTED = """\
const huge = Number.MAX_VALUE;
const image = (x) =>
  Array.from(origin, (o, i) => {
    let sum = -o;
    for (let j = 0; j < x.length; j++) sum += matrix[i * x.length + j] * x[j];
    return isNaN(sum) ? huge : clamp(sum, huge);
  });
"""

DISTANCES = """\
const kernel = (x, i) => {
  let sum = 0;
  for (let j = 0; j < d; j++) {
    const t = abs(x[j] - vectors[i * d + j]);
    sum += %s;
  }
  return exp(-sum);
};
"""

PRODUCTS = """\
const kernel = (x, i) => {
  let sum = 0;
  for (let j = 0; j < d; j++) sum += clamp(x[j], %(most)s) * vectors[i * d + j];
  return %(value)s;
};
"""

EXPANSION = """\
const outputs = (row) => {
  const x = %s, out = [...intercept], k = out.length;
  for (let i = 0; i < coef.length / k; i++) {
    const value = kernel(x, i);
    for (let o = 0; o < k; o++) out[o] += coef[i * k + o] * value;
  }
  return out;
};
"""

LINEAR = """\
const outputs = (row) => {
  const x = read(row);
  return Array.from(intercept, (b, o) => {
    let sum = b;
    for (let j = 0; j < x.length; j++) sum += weights[o * x.length + j] * clamp(x[j], %s);
    return sum;
  });
};
"""

LARGEST = """\
const largest = (list) => list.indexOf(max(...list));
"""

SIGN_WINNER = "const winner = (out) => +(out[0] %s 0);\n"
LARGEST_WINNER = "const winner = largest;\n"
HALF_DIGITS_WINNER = """\
const winner = (out) => {
  const top = max(...out);
  return out.findIndex((value) => value >= top - 2 ** -26 * max(1, abs(top)));
};
"""

VOTES = """\
const votes = (out, zero) => {
  const count = classes.map(() => 0), sums = [...count];
  let p = 0;
  for (let i = 0; i < count.length; i++)
    for (let j = i; ++j < count.length; ) {
      const t = out[p++];
      count[t > 0 || (zero && !t) ? i : j]++;
      sums[i] += t;
      sums[j] -= t;
    }
  return zero ? count.map((v, c) => v + sums[c] / (3 * abs(sums[c]) + 3)) : count;
};
const winner = (out) => largest(votes(out, %s));
"""

CLASSES = """\
export const predict = (row) => classes[winner(outputs(row))];
export const scores = (row) => %s;
"""

AHEAD = """\
const ahead = (p, w) => {
  const rest = p.filter((_, c) => c !== w).sort((a, b) => b - a);
  if (rest[0] < p[w]) return p;
  let n = 1, sum = p[w] + rest[0];
  while (sum / (n + 1) < rest[n]) sum += rest[n++];
  sum /= n + 1;
  return p.map((q, c) => (c === w ? sum * up : min(q, sum)));
};
"""

SOFTMAX_PROBABILITIES = """\
export const probabilities = (row) => {
  const out = outputs(row), w = winner(out), each = %s;
  const logits = each.map((f, c) => factor * (f - max(...each)) + (offset[c] ?? 0));
  return ahead(shares(logits.map((t) => exp(t - max(...logits)))), w);
};
"""

CLASS_SCORES = """\
const ranked = (out, w) => votes(out, 1).map((v, c, all) => (c === w ? max(...all) * up : v));
"""

SHARES = """\
const up = 1 + 2 ** -52;
const shares = (parts) => {
  const sum = parts.reduce((a, b) => a + b);
  return parts.map((part) => part / sum);
};
"""

LOGISTIC = """\
const distribution = (z) => (z < 0 ? exp(z) / (1 + exp(z)) : 1 / (1 + exp(-z)));
"""

NORMAL = """\
const distribution = (z) => {
  const a = abs(z) * Math.SQRT1_2, t = (a - middle) / (a + middle);
  const tail = (exp(-a * a) * series.reduceRight((sum, c) => sum * t + c, 0)) / (2 + 4 * a);
  return z < 0 ? tail : 1 - tail;
};
"""

TWO_PROBABILITIES = """\
export const probabilities = (row) => {
  const z = outputs(row)[0];
  return [distribution(-z), distribution(z)];
};
"""

SCALED_PROBABILITIES = """\
export const probabilities = (row) => {
  const out = outputs(row), w = winner(out);
  return shares(%s.map((z) => max(distribution(z), 2 ** -1022)));
};
"""

INLIER = """\
export const predict = (row) => (outputs(row)[0] > 0 ? 1 : -1);
export const scores = (row) => outputs(row)[0];
"""
DENSITY = "export const predict = (row) => Math.log(max(outputs(row)[0], 0))%s;\n"
ONE_VALUE = "export const predict = (row) => outputs(row)[0];\n"
ALL_VALUES = "export const predict = (row) => outputs(row);\n"
