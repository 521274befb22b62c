// Newton steps in a box for few rows, in the namespace of the instruction set: the minimum of
// 1/2 |Z'x|^2 - target'x, 0 <= x <= upper, over some entries of x, the others held.
#pragma once

#include "rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

SLIMSVM_INLINE double clipped(double x, double upper) {
  return x < 0.0 ? 0.0 : x > upper ? upper : x;
}

class FreeRows {
 public:
  static Index most(Index n) { return n < most_at_all ? n : most_at_all; }
  static Index scratch_size(Index n) { return most(n) * (3 * most(n) + 5); }
  static Index number_size(Index n) { return n + 3 * most(n); }

  FreeRows(const double* Z, Index stride, const double* upper, double* x, Index n, double* scratch,
           Index* numbers)
      : Z_(Z), upper_(upper), x_(x), stride_(stride) {
    const Index f = most(n);
    double** places[] = {&g_, &before_, &d_, &bent_, &product_};
    for (double** place : places) {
      *place = scratch;
      scratch += f;
    }
    Q_ = scratch;
    Q_before_ = Q_ + f * f;
    L_ = Q_before_ + f * f;
    rows = numbers;
    left_ = rows + f;
    listed_ = left_ + f;
    place_ = listed_ + f;
    for (Index i = 0; i < n; ++i) place_[i] = -1;
  }

  bool at_lower(Index i) const { return x_[i] <= 0.0; }
  bool at_upper(Index i) const { return x_[i] >= upper_[i]; }

  // Moves the first `count` of `rows` to their minimum, those that meet a bound staying there, and
  // w with them. False if nothing moved.
  bool minimise(Index count, const double* gradient, double* w) {
    set_products(count);
    for (Index a = 0; a < count; ++a) {
      g_[a] = gradient[rows[a]];
      before_[a] = x_[rows[a]];
      left_[a] = a;
    }
    Index size = count;
    for (Index factors = 0; size > 0 && factors < max_factors; ++factors) {
      factorise(size, count);
      work += static_cast<double>(size * size * size) / 6.0;
      solve(size, count);
      const Index kept = without_outward(size);
      if (kept < size) {
        size = kept;
        continue;
      }
      double step = 1.0;  // as far as the box allows
      for (Index a = 0; a < size; ++a) {
        const Index i = rows[left_[a]];
        const double room = d_[a] < 0.0 ? x_[i] : upper_[i] - x_[i];
        const double length = d_[a] < 0.0 ? -d_[a] : d_[a];
        if (step * length > room) step = room / length;
        bent_[a] = clipped(x_[i] + d_[a], upper_[i]) - x_[i];
      }
      if (step < 1.0) {  // straight to the first bound, or the whole way bent along the box
        const double far = change(size, count, bent_);
        for (Index a = 0; a < size; ++a) d_[a] *= step;
        if (!(far < change(size, count, d_))) {
          for (Index a = 0; a < size; ++a) bent_[a] = d_[a];
        } else {
          change(size, count, bent_);
        }
      }
      for (Index a = 0; a < size; ++a) {
        const Index i = rows[left_[a]];
        const double upper = upper_[i], moved = clipped(x_[i] + bent_[a], upper);
        x_[i] = moved <= hair * upper ? 0.0 : moved >= (1.0 - hair) * upper ? upper : moved;
      }
      if (!(step < 1.0)) break;
      Index inside = 0;
      for (Index a = 0; a < size; ++a) {
        const Index i = rows[left_[a]];
        g_[left_[a]] += product_[a];
        if (!at_lower(i) && !at_upper(i)) left_[inside++] = left_[a];
      }
      if (inside == size) break;
      size = inside;
    }
    bool moved = false;
    for (Index a = 0; a < count; ++a) {
      const Index i = rows[a];
      if (x_[i] == before_[a]) continue;
      add_scaled(x_[i] - before_[a], row(i), w, stride_);
      moved = true;
    }
    return moved;
  }

  Index* rows;        // the numbers of the entries that may move
  double work = 0.0;  // multiply-adds so far

 private:
  // Entries at most.
  static constexpr Index most_at_all = 400;
  // Added to the diagonal of the matrix, relative to its trace: what rounding leaves of it.
  static constexpr double relative_ridge = 1e-13;
  // An entry this near to a bound, relative to upper, is there.
  static constexpr double hair = 1e-14;
  // Matrices factorised at most.
  static constexpr Index max_factors = 12;

  const double* row(Index i) const { return Z_ + i * stride_; }

  // Q = Z_f Z_f' for the free rows; what the cycle before had already is copied.
  void set_products(Index count) {
    double* known = Q_;
    Q_ = Q_before_;
    Q_before_ = known;
    for (Index a = 0; a < count; ++a) {
      const Index place = place_[rows[a]];
      const double* own = row(rows[a]);
      double* to = Q_ + a * count;
      const double* others[4];
      Index waiting[4], many = 0;
      for (Index b = 0; b <= a; ++b) {
        const Index other = place_[rows[b]];
        if (place >= 0 && other >= 0) {
          to[b] = known[place * count_before_ + other];
          continue;
        }
        others[many] = row(rows[b]);
        waiting[many++] = b;
        if (many < 4) continue;
        double products[4];
        dots<4>(own, others, stride_, products);
        for (many = 0; many < 4; ++many) to[waiting[many]] = products[many];
        work += static_cast<double>(4 * stride_);
        many = 0;
      }
      for (Index c = 0; c < many; ++c) to[waiting[c]] = dot(own, others[c], stride_);
      for (Index b = 0; b < a; ++b) Q_[b * count + a] = to[b];
    }
    for (Index a = 0; a < count_before_; ++a) place_[listed_[a]] = -1;
    for (Index a = 0; a < count; ++a) {
      listed_[a] = rows[a];
      place_[rows[a]] = a;
    }
    count_before_ = count;
  }

  // L L' = Q + ridge over the entries `left`; the diagonal of L is stored inverted.
  void factorise(Index size, Index count) {
    double ridge = 0.0;
    for (Index a = 0; a < size; ++a) ridge += relative_ridge * Q_[left_[a] * (count + 1)];
    for (Index a = 0; a < size; ++a) {
      double* here = L_ + a * count;
      const double* from = Q_ + left_[a] * count;
      for (Index b = 0; b < a; ++b) {
        const double* other = L_ + b * count;
        here[b] = (from[left_[b]] - dot(here, other, b)) * other[b];
      }
      const double pivot = from[left_[a]] + ridge - dot(here, here, a);
      here[a] = pivot > 0.0 ? 1.0 / __builtin_sqrt(pivot) : 0.0;
    }
  }

  // d = -(L L')^-1 g
  void solve(Index size, Index count) {
    for (Index a = 0; a < size; ++a) {
      const double* here = L_ + a * count;
      d_[a] = (-g_[left_[a]] - dot(here, d_, a)) * here[a];
    }
    for (Index a = size - 1; a >= 0; --a) {
      const double* here = L_ + a * count;
      d_[a] *= here[a];
      add_scaled(-d_[a], here, d_, a);
    }
  }

  // The change of the objective by the step d of the entries `left`; Qd goes to `product`.
  double change(Index size, Index count, const double* d) {
    double total = 0.0;
    for (Index a = 0; a < size; ++a) {
      const double* from = Q_ + left_[a] * count;
      double here = 0.0;
      for (Index b = 0; b < size; ++b) here += from[left_[b]] * d[b];
      product_[a] = here;
      total += d[a] * (g_[left_[a]] + 0.5 * here);
    }
    return total;
  }

  // Entries at a bound that the step d would push out of the box stay where they are.
  Index without_outward(Index size) {
    Index kept = 0;
    for (Index a = 0; a < size; ++a) {
      const Index i = rows[left_[a]];
      if ((at_lower(i) && d_[a] <= 0.0) || (at_upper(i) && d_[a] >= 0.0)) continue;
      left_[kept++] = left_[a];
    }
    return kept;
  }

  const double *Z_, *upper_;
  double* x_;
  Index stride_, count_before_ = 0;
  double *g_, *before_, *d_, *bent_, *product_, *Q_, *Q_before_, *L_;
  Index *left_, *listed_, *place_;
};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
