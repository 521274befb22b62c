// The leading part of Z Z' as few features, in the namespace of the instruction set: F and a
// diagonal with F'F + diag(ridge) near Z Z', by a partial Cholesky factorisation with pivots drawn
// in proportion to the diagonal that is left (Chen, Epperly, Tropp and Webber).
#pragma once

#include "rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

class LeadingFeatures {
 public:
  static constexpr Index most = 128;

  static Index scratch_size(Index n) { return n * (2 + most + block); }

  LeadingFeatures(const double* Z, Index stride, const double* squares, Index n, double* scratch)
      : Z_(Z), squares_(squares), n_(n), stride_(stride) {
    F = scratch;
    ridge = F + n * most;
    part_ = ridge + n;
    columns_ = part_ + n;
    for (Index i = 0; i < n; ++i) rest_ += ridge[i] = squares[i];
    trace_ = rest_;
  }

  // Takes the first k columns of Z themselves.
  bool take(Index k) {
    for (Index i = 0; i < n_; ++i) {
      ridge[i] = 0.0;
      for (Index j = 0; j < k; ++j) F[j * n_ + i] = row(i)[j];
    }
    const bool more = k > rank;
    rank = k;
    rest_ = 0.0;
    return more;
  }

  // Goes on to `wanted` features, or to fewer where they are all; false if there are no more.
  bool grow(Index wanted, Poll poll) {
    const Index before = rank;
    while (rank < wanted && !complete() && !poll(n_ * block * stride_)) add();
    return rank > before;
  }

  // Whether the features are all there is.
  bool complete() const { return !(rest_ > negligible * trace_); }

  double *F, *ridge;  // (rank, n), (n)
  Index rank = 0;

 private:
  static constexpr Index block = 8;            // columns taken at a time
  static constexpr double negligible = 1e-10;  // share of the trace that may be left
  static constexpr double rounding = 1e-13;    // pivots below this, relative to their diagonal

  const double* row(Index i) const { return Z_ + i * stride_; }

  // One block of columns more.
  void add() {
    rest_ = 0.0;
    for (Index i = 0; i < n_; ++i) part_[i] = rest_ += ridge[i];
    const double* rows[block];
    Index pivots[block];
    for (Index c = 0; c < block; ++c) {
      const double unit = static_cast<double>(next_random(random_) >> 11) / 9007199254740992.0;
      Index low = 0, high = n_ - 1;
      while (low < high) {
        const Index middle = (low + high) / 2;
        if (part_[middle] > rest_ * unit)
          high = middle;
        else
          low = middle + 1;
      }
      pivots[c] = low;
      rows[c] = row(low);
    }
    for (Index i = 0; i < n_; i += 2) {
      const Index next = i + 1 < n_ ? i + 1 : i;
      for (Index half = 0; half < block; half += block / 2) {
        double here[block];
        dots_of_two<block / 2>(row(i), row(next), rows + half, stride_, here);
        for (Index c = 0; c < block / 2; ++c) {
          columns_[(half + c) * n_ + i] = here[c];
          columns_[(half + c) * n_ + next] = here[block / 2 + c];
        }
      }
    }
    const Index before = rank;
    for (Index c = 0; c < block && rank < most; ++c) {
      double* own = columns_ + c * n_;
      for (Index j = 0; j < rank; ++j) add_scaled(-F[j * n_ + pivots[c]], F + j * n_, own, n_);
      const double pivot = own[pivots[c]];
      if (!(pivot > rounding * squares_[pivots[c]])) continue;
      const double inverse = 1.0 / __builtin_sqrt(pivot);
      double* to = F + rank * n_;
      for (Index i = 0; i < n_; ++i) {
        to[i] = own[i] * inverse;
        const double left = ridge[i] - to[i] * to[i];
        ridge[i] = left > 0.0 ? left : 0.0;
      }
      ++rank;
    }
    rest_ = 0.0;
    for (Index i = 0; i < n_; ++i) rest_ += ridge[i];
    if (rank == before) rest_ = 0.0;  // what is left is rounding
  }

  const double *Z_, *squares_;
  Index n_, stride_;
  double *part_, *columns_;
  double trace_ = 0.0, rest_ = 0.0;
  std::uint64_t random_ = 0;
};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
