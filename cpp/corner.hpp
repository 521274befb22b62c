// A corner of the one-norm machine's polyhedron (one_norm.cpp): its active columns and its elbows,
// as many of one as of the other, and the inverse W of B at both, which follows them by rank-one
// updates. Like simd.hpp it lives in the namespace of the instruction set.
#pragma once

#include "rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

SLIMSVM_INLINE double size_of(double value) {
  return value < 0.0 ? -value : value;
}

class Corner {
 public:
  static Index scratch_size(Index n, Index most) {
    return (most + 1) * n + most * most + 3 * (most + 1);
  }
  static Index number_size(Index most) { return 3 * (most + 1); }

  Corner(Index n, Index most, double* scratch, Index* numbers) : n_(n), most_(most) {
    columns_ = scratch;
    W_ = columns_ + (most + 1) * n;
    share_ = W_ + most * most;
    row_ = share_ + most + 1;
    rest_ = row_ + most + 1;
    active = numbers;
    elbow = active + most + 1;
    places_ = elbow + most + 1;
  }

  Index size() const { return k_; }
  bool is_full() const { return k_ == most_; }
  // Column a of the active ones, all rows; that of number size() is free for an entering column.
  double* column(Index a) { return columns_ + a * n_; }
  // Row a of W.
  double* inverse(Index a) { return W_ + a * most_; }
  // By which multiple of the edge that was travelled the edge of elbow e changed last time.
  double share(Index e) const { return share_[e]; }

  // The first column, which is column(0) already, and its elbow.
  void begin(Index number, Index i) {
    active[0] = number;
    elbow[0] = i;
    inverse(0)[0] = 1.0 / column(0)[i];
    k_ = 1;
  }

  // So many columns, which are there already, and their elbows.
  void resume(Index size, const Index* columns, const Index* rows) {
    k_ = size;
    for (Index a = 0; a < size; ++a) {
      active[a] = columns[a];
      elbow[a] = rows[a];
    }
    invert();
  }

  // to += W' right
  void add_transposed(const double* right, double* to) {
    for (Index a = 0; a < k_; ++a) add_scaled(right[a], inverse(a), to, k_);
  }

  // to = W times the elbows' entries of a column.
  void image_of(const double* values, double* to) {
    for (Index e = 0; e < k_; ++e) row_[e] = values[elbow[e]];
    for (Index a = 0; a < k_; ++a) to[a] = dot(inverse(a), row_, k_);
  }

  // The values at the elbows for which every active column has the product `right`, with one
  // correction; `right` is used up. Returns how much there was to correct.
  double solve_transposed(double* right, double* to) {
    double largest = 0.0;
    for (Index e = 0; e < k_; ++e) to[e] = 0.0;
    add_transposed(right, to);
    for (Index a = 0; a < k_; ++a) {
      const double* here = column(a);
      for (Index e = 0; e < k_; ++e) right[a] -= here[elbow[e]] * to[e];
      largest = size_of(right[a]) > largest ? size_of(right[a]) : largest;
    }
    add_transposed(right, to);
    return largest;
  }

  // The coefficients with which the columns have these values at the elbows, with one correction.
  void solve(const double* target, double* to) {
    image_of(target, to);
    for (Index e = 0; e < k_; ++e) {
      rest_[e] = target[elbow[e]];
      for (Index a = 0; a < k_; ++a) rest_[e] -= column(a)[elbow[e]] * to[a];
    }
    for (Index a = 0; a < k_; ++a) to[a] += dot(inverse(a), rest_, k_);
  }

  // The entering column, whose image is given, becomes active and row i an elbow; the pivot.
  double grow(Index number, const double* image, Index i) {
    row_times_inverse(i);
    const double pivot = column(k_)[i] - dot(row_, image, k_);
    for (Index a = 0; a < k_; ++a) {
      share_[a] = rest_[a] / pivot;
      inverse(a)[k_] = -image[a] / pivot;
      inverse(k_)[a] = -share_[a];
    }
    for (Index a = 0; a < k_; ++a) add_scaled(image[a], share_, inverse(a), k_);
    inverse(k_)[k_] = 1.0 / pivot;
    active[k_] = number;
    elbow[k_] = i;
    ++k_;
    return pivot;
  }

  // The entering column takes the place of an active one.
  void exchange_column(Index number, const double* image, Index a) {
    double* own = inverse(a);
    for (Index e = 0; e < k_; ++e) own[e] = share_[e] = own[e] / image[a];
    for (Index other = 0; other < k_; ++other)
      if (other != a) add_scaled(-image[other], own, inverse(other), k_);
    active[a] = number;
    copy_column(k_, a);
  }

  // Row i takes the place of elbow e; the pivot.
  double exchange_elbow(Index e, Index i) {
    row_times_inverse(i);
    const double pivot = rest_[e];
    for (Index f = 0; f < k_; ++f) share_[f] = rest_[f] / pivot;
    for (Index a = 0; a < k_; ++a) {
      const double own = inverse(a)[e];
      add_scaled(-own, share_, inverse(a), k_);
      inverse(a)[e] = own / pivot;
    }
    elbow[e] = i;
    return pivot;
  }

  // Elbow e and active column a go; the last of each takes their place.
  void shrink(Index e, Index a) {
    const double* own = inverse(a);
    for (Index f = 0; f < k_; ++f) share_[f] = own[f] / own[e];
    for (Index other = 0; other < k_; ++other)
      if (other != a) add_scaled(-inverse(other)[e], share_, inverse(other), k_);
    --k_;
    if (a != k_) {
      for (Index f = 0; f <= k_; ++f) inverse(a)[f] = inverse(k_)[f];
      copy_column(k_, a);
      active[a] = active[k_];
    }
    for (Index other = 0; other < k_; ++other) inverse(other)[e] = inverse(other)[k_];
    elbow[e] = elbow[k_];
  }

  // W anew, by elimination in place with the largest pivot of each column.
  void invert() {
    for (Index e = 0; e < k_; ++e)
      for (Index a = 0; a < k_; ++a) inverse(e)[a] = column(a)[elbow[e]];
    for (Index p = 0; p < k_; ++p) {
      Index from = p;
      for (Index e = p + 1; e < k_; ++e)
        if (size_of(inverse(e)[p]) > size_of(inverse(from)[p])) from = e;
      places_[p] = from;
      for (Index a = 0; from != p && a < k_; ++a) exchange(inverse(from)[a], inverse(p)[a]);
      const double pivot = inverse(p)[p];
      if (pivot == 0.0) return;  // the gap will tell
      inverse(p)[p] = 1.0;
      for (Index a = 0; a < k_; ++a) inverse(p)[a] /= pivot;
      for (Index e = 0; e < k_; ++e) {
        if (e == p) continue;
        const double factor = inverse(e)[p];
        inverse(e)[p] = 0.0;
        add_scaled(-factor, inverse(p), inverse(e), k_);
      }
    }
    for (Index p = k_; p-- > 0;)
      for (Index a = 0; places_[p] != p && a < k_; ++a)
        exchange(inverse(a)[p], inverse(a)[places_[p]]);
  }

  Index *active, *elbow;  // numbers of the active columns, and of the rows

 private:
  static void exchange(double& one, double& other) {
    const double kept = one;
    one = other;
    other = kept;
  }

  void copy_column(Index from, Index to) {
    const double* source = column(from);
    double* target = column(to);
    for (Index i = 0; i < n_; ++i) target[i] = source[i];
  }

  // row = row i of the active columns; rest = row' W.
  void row_times_inverse(Index i) {
    for (Index a = 0; a < k_; ++a) {
      row_[a] = column(a)[i];
      rest_[a] = 0.0;
    }
    add_transposed(row_, rest_);
  }

  Index n_, most_, k_ = 0;
  double *columns_, *W_;          // n apart; rows of W, `most` apart
  double *share_, *row_, *rest_;  // (most + 1)
  Index* places_;                 // (most + 1)
};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
