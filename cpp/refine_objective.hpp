// What joint refinement minimises, with its gradient, in the namespace of the instruction set.
//
// The value is sum_o penalty_o/2 |f_o|^2 + sum_io weights_io loss(Y_io, f_o(x_i) + b_o) for the
// vectors, coefficients, intercept and widths of an RBF expansion. One pass over the rows gives the
// value and all gradients; nothing of size (n, m) is stored. Distances are sums of squared
// differences, so no centring is needed. Coefficients are those of a basis that is orthonormal in
// the feature space at the start; or, for the squared loss, the best ones for the present vectors
// and widths (variable projection): the gradient is then the one with them held fixed. Or the rows
// are the images of a map P that moves too, and decay |P|^2 is added.
#pragma once

#include "rows.hpp"
#include "simd.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

using Lane = Vec<double>;
constexpr Index width = lanes<double>;
constexpr Index row_block = 4;  // rows that share each load of a vector's entry

// What moves besides vectors, coefficients and intercept.
enum class Also { nothing, widths, map };

SLIMSVM_INLINE Index padded(Index count) {
  return (count + width - 1) / width * width;
}

SLIMSVM_INLINE double dot(const double* a, const double* b, Index count) {
  Lane total{};
  Index j = 0;
  for (; j + width <= count; j += width) total = load<double>(a + j) * load<double>(b + j) + total;
  double rest = sum<double>(total);
  for (; j < count; ++j) rest = a[j] * b[j] + rest;
  return rest;
}

SLIMSVM_INLINE void fill(double* to, Index count, double value) {
  for (Index j = 0; j < count; ++j) to[j] = value;
}

SLIMSVM_INLINE void copy(const double* from, Index count, double* to) {
  for (Index j = 0; j < count; ++j) to[j] = from[j];
}

template <class T>
SLIMSVM_INLINE void swap(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

SLIMSVM_INLINE double larger(double a, double b) {
  return a > b ? a : b;
}

// Loss and slope of one output.
SLIMSVM_INLINE double loss_of(const RefineJob& job, double y, double f, double& slope) {
  const double h = job.rounding;
  switch (job.loss) {
    case RefineLoss::rounded_hinge: {
      const double s = larger(0.0, 1.0 + h - y * f);
      slope = s < 2.0 * h ? -y * s / (2.0 * h) : -y;
      return s < 2.0 * h ? s * s / (4.0 * h) : s - h;
    }
    case RefineLoss::squared_hinge: {
      const double s = larger(0.0, 1.0 - y * f);
      slope = -y * s;
      return 0.5 * s * s;
    }
    case RefineLoss::insensitive: {
      const double r = f - y, size = r < 0.0 ? -r : r, sign = r < 0.0 ? -1.0 : 1.0;
      const double s = larger(0.0, size - job.epsilon + h);
      slope = s < 2.0 * h ? sign * s / (2.0 * h) : sign;
      return s < 2.0 * h ? s * s / (4.0 * h) : s - h;
    }
    case RefineLoss::squared: break;
  }
  slope = f - y;
  return 0.5 * slope * slope;
}

// Losses of all outputs of one row, slopes times weights into `slope`.
SLIMSVM_INLINE double row_loss(const RefineJob& job, Index row, const double* f, double* slope) {
  const double *y = job.Y + row * job.k, *w = job.weights + row * job.k;
  double value = 0.0;
  for (Index o = 0; o < job.k; ++o) {
    value += w[o] * loss_of(job, y[o], f[o], slope[o]);
    slope[o] *= w[o];
  }
  return value;
}

// Where the variables lie in the packed vector: coefficients (k, mp), intercept (k), vectors
// (d, mp) in units of length, logarithms of the widths (0, 1 or d), the map (d, pp) in units of its
// mean entry. mp and pp are m and p padded with zeros.
struct Layout {
  Index mp, pp, intercept, vectors, widths, map, size;
  explicit Layout(const RefineJob& job) {
    mp = padded(job.m);
    pp = padded(job.p);
    intercept = job.k * mp;
    vectors = padded(intercept + job.k);
    widths = vectors + job.d * mp;
    map = padded(widths + (job.widths == Widths::fixed ? 0
                           : job.widths == Widths::one ? 1
                                                       : job.d));
    size = map + job.d * pp;
  }
};

struct Workspace {
  double entry = 1.0;                      // of the map, the unit of its steps
  double *unit, *root, *start;             // (d)
  double *Xs, *Zs;                         // (n, d) rows, (d, mp) vectors, both times root
  double *P, *inputs, *in_rows;            // (d, pp), (n, pp), (row_block, d)
  double *B, *in_B;                        // (k, mp)
  double* b;                               // (k)
  double *normal, *factor;                 // (m, mp), where coefficients are solved for
  double* sums;                            // (mp), likewise
  double* in_Z;                            // (d, mp)
  double* in_widths;                       // (d, width)
  double* K;                               // (2 row_block, mp)
  double* rows;                            // (row_block, d)
  double *f, *slope;                       // (k), (2 row_block, k)
  double *x, *g, *trial, *trial_g, *step;  // (size)
  double *S, *D, *rho, *alpha;             // (memory, size), (memory)
};

// Lays the workspace out in `memory`; returns the number of elements, also for memory == nullptr.
Index lay_out(const RefineJob& job, double* memory, Workspace& to) {
  const Layout at(job);
  Index used = 0;
  const auto take = [&](Index count) {
    double* place = memory ? memory + used : nullptr;
    used += padded(count);
    return place;
  };
  to.unit = take(job.d);
  to.root = take(job.d);
  to.start = take(job.d);
  to.Xs = take(job.n * job.d);
  to.Zs = take(job.d * at.mp);
  to.P = take(job.d * at.pp);
  to.inputs = take(job.n * at.pp);
  to.in_rows = take(job.p ? row_block * job.d : 0);
  to.B = take(job.k * at.mp);
  to.in_B = take(job.k * at.mp);
  to.b = take(job.k);
  to.normal = take(job.eliminate ? job.m * at.mp : 0);
  to.factor = take(job.eliminate ? job.m * at.mp : 0);
  to.sums = take(job.eliminate ? at.mp : 0);
  to.in_Z = take(job.d * at.mp);
  to.in_widths = take(job.d * width);
  to.K = take(2 * row_block * at.mp);
  to.rows = take(row_block * job.d);
  to.f = take(job.k);
  to.slope = take(2 * row_block * job.k);
  to.x = take(at.size);
  to.g = take(at.size);
  to.trial = take(at.size);
  to.trial_g = take(at.size);
  to.step = take(at.size);
  to.S = take(job.memory * at.size);
  to.D = take(job.memory * at.size);
  to.rho = take(job.memory);
  to.alpha = take(job.memory);
  return used;
}

// A row in hand: its scaled inputs, its kernel values (mp) and its slopes (k).
struct Row {
  const double* x;
  double *K, *slope;
  Index number;
};

// Rows in hand: as many as are sent back together, and as many again that wait for that.
struct Rows {
  Row at[2 * row_block];
  Rows(const Workspace& work, Index mp, Index k) {
    for (Index r = 0; r < 2 * row_block; ++r)
      at[r] = {nullptr, work.K + r * mp, work.slope + r * k, 0};
  }
};

// Kernel values of four scaled rows against the vectors of `count` registers from j on.
template <Index count>
SLIMSVM_INLINE void kernel_lanes(const Workspace& work, Index d, Index mp, Index j,
                                 const Row* rows) {
  Lane total[row_block][count]{};
  for (Index c = 0; c < d; ++c) {
    Lane z[count];
#pragma GCC unroll 2
    for (Index l = 0; l < count; ++l) z[l] = load<double>(work.Zs + c * mp + j + l * width);
#pragma GCC unroll 4
    for (Index r = 0; r < row_block; ++r)
#pragma GCC unroll 2
      for (Index l = 0; l < count; ++l) {
        const Lane t = rows[r].x[c] - z[l];
        total[r][l] = t * t + total[r][l];
      }
  }
#pragma GCC unroll 4
  for (Index r = 0; r < row_block; ++r)
#pragma GCC unroll 2
    for (Index l = 0; l < count; ++l)
      store<double>(rows[r].K + j + l * width, exp_negative<double>(-total[r][l]));
}

// Kernel values of four scaled rows against all vectors: eight sums run side by side, because one
// waits for its last product longer than the processor takes to begin eight.
SLIMSVM_INLINE void kernel_rows(const Workspace& work, Index d, Index mp, const Row* rows) {
  Index j = 0;
  for (; j + 2 * width <= mp; j += 2 * width) kernel_lanes<2>(work, d, mp, j, rows);
  if (j < mp) kernel_lanes<1>(work, d, mp, j, rows);
}

// Images of all rows under the map.
SLIMSVM_INLINE void map_rows(const Workspace& work, Index n, Index d, Index pp) {
  for (Index first = 0; first < n; first += row_block) {
    const double* x[row_block];
    for (Index r = 0; r < row_block; ++r)
      x[r] = work.inputs + (first + r < n ? first + r : n - 1) * pp;
    for (Index c = 0; c < d; ++c) {
      Lane total[row_block]{};
      for (Index e = 0; e < pp; e += width) {
        const Lane p = load<double>(work.P + c * pp + e);
#pragma GCC unroll 4
        for (Index r = 0; r < row_block; ++r) total[r] = p * load<double>(x[r] + e) + total[r];
      }
      for (Index r = 0; r < row_block && first + r < n; ++r)
        work.Xs[(first + r) * d + c] = sum<double>(total[r]);
    }
  }
}

// Adds the gradients that four scaled rows send to vectors, widths or (with the other sign, and
// half) to themselves, given K and the slopes. K is then used up.
template <Also also>
SLIMSVM_INLINE void pull_back(const Workspace& work, Index d, Index mp, Index k, const Row* rows,
                              double share) {
  for (Index j = 0; j < mp; j += width) {
    Lane M[row_block];
#pragma GCC unroll 4
    for (Index r = 0; r < row_block; ++r) {
      Lane back{};
      for (Index o = 0; o < k; ++o)
        back = rows[r].slope[o] * load<double>(work.B + o * mp + j) + back;
      M[r] = back * load<double>(rows[r].K + j);
      if constexpr (also == Also::map) store<double>(rows[r].K + j, M[r]);
    }
    for (Index c = 0; c < d; ++c) {
      const Lane z = load<double>(work.Zs + c * mp + j);
      Lane in_z = load<double>(work.in_Z + c * mp + j), in_width{};
#pragma GCC unroll 4
      for (Index r = 0; r < row_block; ++r) {
        const Lane t = rows[r].x[c] - z, moved = M[r] * t;
        in_z = in_z + moved;
        if constexpr (also == Also::widths) in_width = moved * t + in_width;
      }
      store<double>(work.in_Z + c * mp + j, in_z);
      if constexpr (also == Also::widths)
        store<double>(work.in_widths + c * width,
                      share * in_width + load<double>(work.in_widths + c * width));
    }
  }
  if constexpr (also == Also::map) {
    for (Index c = 0; c < d; ++c) {
      Lane in_row[row_block]{};
      for (Index j = 0; j < mp; j += width) {
        const Lane z = load<double>(work.Zs + c * mp + j);
#pragma GCC unroll 4
        for (Index r = 0; r < row_block; ++r)
          in_row[r] = load<double>(rows[r].K + j) * (rows[r].x[c] - z) + in_row[r];
      }
      for (Index r = 0; r < row_block; ++r) work.in_rows[r * d + c] = sum<double>(in_row[r]);
    }
  }
}

// The vectors themselves as rows, four from `first` on; zeros after the last.
SLIMSVM_INLINE void vector_rows(const Workspace& work, Index d, Index m, Index mp, Index first,
                                Row* rows) {
  for (Index r = 0; r < row_block; ++r) {
    double* row = work.rows + r * d;
    for (Index c = 0; c < d; ++c) row[c] = first + r < m ? work.Zs[c * mp + first + r] : 0.0;
    rows[r].x = row;
  }
}

// Lower Cholesky factor of normal + jitter I; false if there is none.
bool factorise(const double* normal, double jitter, Index m, Index mp, double* L) {
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j <= i; ++j) {
      const double rest = normal[i * mp + j] - dot(L + i * mp, L + j * mp, j);
      if (j < i)
        L[i * mp + j] = rest / L[j * mp + j];
      else if (rest + jitter > 0.0)
        L[i * mp + i] = __builtin_sqrt(rest + jitter);
      else
        return false;
    }
  return true;
}

// The best coefficients and intercept for the scaled rows and vectors: with kernel matrix K of the
// rows, weights w and sums s = K'w, W = 1'w, the normal equations without the intercept are
// (K' diag(w) K - s s'/W + penalty Kzz) B = K'(w y) - s (w'y)/W. Returns false when stopped.
bool solve_coefficients(const RefineJob& job, const Workspace& work, Index mp, Poll poll) {
  const Index n = job.n, d = job.d, m = job.m, k = job.k;
  Rows in_hand(work, mp, k);
  Row* rows = in_hand.at;
  double total = 0.0;
  fill(work.normal, m * mp, 0.0);
  fill(work.sums, mp, 0.0);
  fill(work.B, k * mp, 0.0);
  fill(work.b, k, 0.0);
  for (Index first = 0; first < m; first += row_block) {
    vector_rows(work, d, m, mp, first, rows);
    kernel_rows(work, d, mp, rows);
    for (Index r = 0; r < row_block && first + r < m; ++r)
      add_scaled(job.penalty[0], rows[r].K, work.normal + (first + r) * mp, mp);
  }
  for (Index first = 0; first < n; first += row_block) {
    double w[row_block];
    for (Index r = 0; r < row_block; ++r) {
      rows[r].x = work.Xs + (first + r < n ? first + r : n - 1) * d;
      w[r] = first + r < n ? job.weights[(first + r) * k] : 0.0;
      total += w[r];
    }
    kernel_rows(work, d, mp, rows);
    for (Index r = 0; r < row_block; ++r) {
      const double* K = rows[r].K;
      const double* y = job.Y + (first + r < n ? first + r : n - 1) * k;
      add_scaled(w[r], K, work.sums, mp);
      for (Index o = 0; o < k; ++o) {
        add_scaled(w[r] * y[o], K, work.B + o * mp, mp);
        work.b[o] += w[r] * y[o];
      }
    }
    for (Index i = 0; i < m; ++i) {
      double a[row_block];
      for (Index r = 0; r < row_block; ++r) a[r] = w[r] * rows[r].K[i];
      for (Index j = 0; j <= i; j += width) {
        Lane in = load<double>(work.normal + i * mp + j);
#pragma GCC unroll 4
        for (Index r = 0; r < row_block; ++r) in = a[r] * load<double>(rows[r].K + j) + in;
        store<double>(work.normal + i * mp + j, in);
      }
    }
    if (poll(row_block * mp * (2 * d + m / 2 + k + 10))) return false;
  }
  if (!(total > 0.0)) total = 1.0;   // no row counts: all sums are 0, and so is the answer
  double mean = 0.0, size = 1e-300;  // size: before what the rows have in common is taken off
  for (Index i = 0; i < m; ++i) {
    size += work.normal[i * mp + i] / static_cast<double>(m);
    add_scaled(-work.sums[i] / total, work.sums, work.normal + i * mp, i + 1);
    mean += work.normal[i * mp + i] / static_cast<double>(m);
  }
  for (double jitter = 1e-12 * mean;
       !factorise(work.normal, jitter, m, mp, work.factor) && jitter < size;)
    jitter = larger(10.0 * jitter, 1e-16 * size);
  const double* L = work.factor;
  for (Index o = 0; o < k; ++o) {
    double* B = work.B + o * mp;
    add_scaled(-work.b[o] / total, work.sums, B, m);
    for (Index j = m; j < mp; ++j) B[j] = 0.0;
    for (Index i = 0; i < m; ++i) B[i] = (B[i] - dot(L + i * mp, B, i)) / L[i * mp + i];
    for (Index i = m - 1; i >= 0; --i) {
      B[i] /= L[i * mp + i];
      add_scaled(-B[i], L + i * mp, B, i);
    }
    work.b[o] = (work.b[o] - dot(work.sums, B, m)) / total;
  }
  return true;
}

// Value at the packed variables p; their gradient into g. Returns NaN when stopped.
template <Also also>
double evaluate(const RefineJob& job, const Layout& at, const Workspace& work, const double* p,
                double* g, Poll poll) {
  const Index n = job.n, d = job.d, m = job.m, k = job.k, mp = at.mp;
  double value = 0.0;
  if constexpr (also == Also::map) {
    for (Index e = 0; e < d * at.pp; ++e) work.P[e] = work.entry * p[at.map + e];
    map_rows(work, n, d, at.pp);
    if (poll(n * d * at.pp)) return __builtin_nan("");
  }
  if constexpr (also == Also::widths) {
    for (Index c = 0; c < d; ++c) {
      const double log_width =
          p[at.widths + (job.widths == Widths::one ? 0 : c)] +
          (job.widths == Widths::one ? job.log_widths[c] - work.start[0] : 0.0);
      work.root[c] = __builtin_exp(0.5 * log_width);
    }
    for (Index i = 0; i < n; ++i)
      for (Index c = 0; c < d; ++c) work.Xs[i * d + c] = job.X[i * d + c] * work.root[c];
    fill(work.in_widths, d * width, 0.0);
  }
  for (Index c = 0; c < d; ++c)
    for (Index j = 0; j < mp; ++j)
      work.Zs[c * mp + j] = p[at.vectors + c * mp + j] * (work.unit[c] * work.root[c]);
  if (job.eliminate) {
    if (!solve_coefficients(job, work, mp, poll)) return __builtin_nan("");
  } else {
    for (Index o = 0; o < k; ++o) {  // B = L^-T T
      double* B = work.B + o * mp;
      for (Index j = m; j < mp; ++j) B[j] = 0.0;
      copy(p + o * mp, m, B);
      for (Index j = m - 1; j >= 0; --j) {
        B[j] /= job.factor[j * m + j];
        add_scaled(-B[j], job.factor + j * m, B, j);
      }
    }
    copy(p + at.intercept, k, work.b);
  }
  fill(work.in_B, k * mp, 0.0);
  fill(work.in_Z, d * mp, 0.0);
  fill(g, at.size, 0.0);

  Rows in_hand(work, mp, k);
  Row* rows = in_hand.at;
  const auto send = [&](double share) SLIMSVM_LAMBDA {
    for (Index o = 0; o < k; ++o)
      for (Index j = 0; j < mp; j += width) {
        Lane in = load<double>(work.in_B + o * mp + j);
#pragma GCC unroll 4
        for (Index r = 0; r < row_block; ++r)
          in = rows[r].slope[o] * load<double>(rows[r].K + j) + in;
        store<double>(work.in_B + o * mp + j, in);
      }
    pull_back<also>(work, d, mp, k, rows, share);
  };

  // the squared norm: rows are the vectors themselves; half of it belongs to each argument
  for (Index first = 0; first < m; first += row_block) {
    vector_rows(work, d, m, mp, first, rows);
    kernel_rows(work, d, mp, rows);
    for (Index r = 0; r < row_block; ++r)
      for (Index o = 0; o < k; ++o) {
        const double b = first + r < m ? work.B[o * mp + first + r] : 0.0;
        rows[r].slope[o] = job.penalty[o] * b;
        value += 0.5 * job.penalty[o] * b * dot(rows[r].K, work.B + o * mp, mp);
      }
    send(0.5);
  }

  // Rows without a slope move nothing: the others wait until there are four of them.
  Index waiting = 0;
  const auto send_waiting = [&]() SLIMSVM_LAMBDA {
    send(1.0);
    if constexpr (also == Also::map) {
      for (Index r = 0; r < row_block && r < waiting; ++r)
        for (Index c = 0; c < d; ++c) {
          add_scaled(-2.0 * work.entry * work.in_rows[r * d + c],
                     work.inputs + rows[r].number * at.pp, g + at.map + c * at.pp, at.pp);
        }
    }
  };
  for (Index first = 0; first < n; first += row_block) {
    Row* now = rows + waiting;
    for (Index r = 0; r < row_block; ++r) {
      now[r].number = first + r < n ? first + r : n - 1;
      now[r].x = work.Xs + now[r].number * d;
    }
    kernel_rows(work, d, mp, now);
    for (Index r = 0; r < row_block && first + r < n; ++r) {
      Row& row = now[r];
      for (Index o = 0; o < k; ++o) work.f[o] = dot(row.K, work.B + o * mp, mp) + work.b[o];
      value += row_loss(job, row.number, work.f, row.slope);
      bool moves = false;
      for (Index o = 0; o < k; ++o) moves = moves || row.slope[o] != 0.0;
      if (!moves) continue;
      add_scaled(1.0, row.slope, g + at.intercept, k);
      swap(row, rows[waiting++]);
    }
    if (waiting >= row_block) {
      send_waiting();
      waiting -= row_block;
      for (Index r = 0; r < waiting; ++r) swap(rows[r], rows[row_block + r]);
    }
    if (poll(row_block * (mp * (4 * d + 2 * k + 10) + d * at.pp))) return __builtin_nan("");
  }
  if (waiting) {
    for (Index r = waiting; r < row_block; ++r) fill(rows[r].slope, k, 0.0);
    send_waiting();
  }

  if (job.eliminate) fill(g, at.vectors, 0.0);       // at the best coefficients, but for rounding
  for (Index o = 0; o < k && !job.eliminate; ++o) {  // gradient in T = L^-1 gradient in B
    double* out = g + o * mp;
    for (Index j = 0; j < m; ++j)
      out[j] = (work.in_B[o * mp + j] - dot(job.factor + j * m, out, j)) / job.factor[j * m + j];
  }
  for (Index c = 0; c < d; ++c) {
    const double factor = 2.0 * work.root[c] * work.unit[c];
    for (Index j = 0; j < m; ++j) g[at.vectors + c * mp + j] = factor * work.in_Z[c * mp + j];
  }
  if constexpr (also == Also::map) {
    value += job.decay * dot(work.P, work.P, d * at.pp);
    add_scaled(2.0 * job.decay * work.entry, work.P, g + at.map, d * at.pp);
  }
  if constexpr (also == Also::widths) {
    for (Index c = 0; c < d; ++c)
      g[at.widths + (job.widths == Widths::one ? 0 : c)] -=
          sum<double>(load<double>(work.in_widths + c * width));
  }
  return value;
}

}  // namespace
}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
