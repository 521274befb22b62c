// The linear hinge machine without intercept for one instruction set (SLIMSVM_ISA); built once per
// set.
//
// Minimises 1/2 |w|^2 + sum_i upper_i max(0, target_i - Z_i w), Z = diag(sign) B[:, columns]
// diag(scale), by the dual box problem 1/2 |Z'x|^2 - target'x, 0 <= x <= upper. Few entries of x
// are between their bounds at the end. An interior point on few features, which are Z itself or the
// leading part of Z Z', finds out which; then Newton steps for these alone, with the rows that
// break their conditions let in and those that meet a bound let go, solve the problem itself. The
// latter only ever go down; the duality gap certifies.
#include "free_rows.hpp"
#include "leading_features.hpp"
#include "thin_interior.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

// Features of the interior point at the first try; each other try has twice as many.
constexpr Index few_features = 32;
// A start with a larger gap is no better than none, unless trying costs next to nothing.
constexpr double near = 0.5;
// Gaps of the interior point in a try. After each the entries between their bounds are counted;
// when they are few enough to be cheap, or no longer fewer than before, cycles follow: at the first
// try for so many at most, at the second for twice.
constexpr double first_gap = 1e-2, gap_fall = 0.1, last_gap = 1e-5, no_longer_fewer = 0.8;
constexpr Index few_inside = 96;
constexpr Index cheap = 4;  // iterations of the interior point
// Cycles after a try, and from the start that was given.
constexpr Index few_cycles = 12, warm_cycles = 16;
// Share of the tolerance that the interior point reaches where it is to solve the problem itself.
constexpr double safely = 0.3;
constexpr Index max_interior = 80;
// Rows let in at a time: a share of those between their bounds, and at least so many.
constexpr Index least_entering = 8;
constexpr double tiny = 1e-300;

constexpr Index round_up(Index count) {
  return (count + lanes<double> - 1) / lanes<double> * lanes<double>;
}

class ScaledHinge {
 public:
  static Index scratch_size(const HingeJob& job) {
    const Index n = job.n, stride = round_up(job.k);
    return n * stride + stride + 3 * n + LeadingFeatures::scratch_size(n) +
           FreeRows::scratch_size(n) + ThinInterior::scratch_size(n, LeadingFeatures::most);
  }

  static Index number_size(const HingeJob& job) { return FreeRows::number_size(job.n); }

  ScaledHinge(HingeJob& job, Poll poll)
      : job_(job),
        poll_(poll),
        n_(job.n),
        stride_(round_up(job.k)),
        Z_(job.scratch),
        w_(Z_ + n_ * stride_),
        squares_(w_ + stride_),
        gradient_(squares_ + n_),
        wish_(gradient_ + n_),
        rest_(wish_ + n_),
        free_(Z_, stride_, job.upper, job.x, n_, rest_, job.numbers) {
    rest_ += FreeRows::scratch_size(n_);
  }

  void run() {
    if (!take_columns()) return;
    sum_rows();
    measure();
    const bool thin = job_.k <= few_features;
    allow(few_inside, few_features);
    if ((job_.gap <= near || thin) && polish(warm_cycles)) return;
    LeadingFeatures features(Z_, stride_, squares_, n_, rest_);
    ThinInterior point(job_.target, job_.upper, n_, rest_ + LeadingFeatures::scratch_size(n_));
    Index inside = few_inside;
    for (Index wanted = few_features; wanted <= LeadingFeatures::most; wanted *= 2, inside *= 2) {
      if (!(thin ? features.take(job_.k) : features.grow(wanted, poll_))) break;
      point.start(features.F, features.ridge, features.rank);
      Index before = n_;
      for (double gap = first_gap; gap > 0.9 * last_gap && !stopped_; gap *= gap_fall) {
        point.run(gap, max_interior, poll_);
        const Index count = settle(point);
        // where the features are all, no more than these can be between their bounds
        allow(features.complete() ? smaller_of(inside, features.rank + least_entering) : inside,
              wanted);
        const bool last = gap < 1.1 * last_gap;
        const bool stays =
            static_cast<double>(count) >= no_longer_fewer * static_cast<double>(before);
        before = count;
        if (count > most_inside_ || !(stays || last || is_cheap(count, features.rank))) continue;
        sum_rows();
        measure();
        if (polish(few_cycles)) return;
      }
    }
    if (features.rank == 0 || stopped_) return;
    point.run(safely * job_.tol, max_interior, poll_);
    if (take(point)) return;
    settle(point);
    sum_rows();
    measure();
    allow(FreeRows::most(n_), n_);
    polish(job_.max_cycles);
  }

  void write() const {
    for (Index j = 0; j < job_.k; ++j) job_.w[j] = w_[j];
  }

 private:
  const double* row(Index i) const { return Z_ + i * stride_; }

  // False if it was stopped: a large copy into new memory takes a second.
  bool take_columns() {
    for (Index j = 0; j < stride_; ++j) w_[j] = 0.0;
    for (Index i = 0; i < n_; ++i) {
      if (poll_(stride_)) return false;
      const double* from = job_.B + i * job_.m;
      double* to = Z_ + i * stride_;
      const double sign = job_.sign[i];
      for (Index j = 0; j < job_.k; ++j) {
        const Index column = job_.columns[j];
        to[j] = sign * (column < job_.m ? from[column] * job_.scale[j] : job_.scale[j]);
      }
      for (Index j = job_.k; j < stride_; ++j) to[j] = 0.0;
      squares_[i] = dot(to, to, stride_);
      job_.x[i] = clipped(job_.x[i], job_.upper[i]);
    }
    return true;
  }

  // w = Z'x
  void sum_rows() {
    for (Index j = 0; j < stride_; ++j) w_[j] = 0.0;
    for (Index i = 0; i < n_; ++i)
      if (job_.x[i] != 0.0) add_scaled(job_.x[i], row(i), w_, stride_);
  }

  // The gradient Zw - target and the gap.
  void measure() {
    Index i = 0;
    for (; i + 4 <= n_; i += 4) {
      const double* rows[] = {row(i), row(i + 1), row(i + 2), row(i + 3)};
      dots<4>(w_, rows, stride_, gradient_ + i);
    }
    for (; i < n_; ++i) gradient_[i] = dot(row(i), w_, stride_);
    double loss = 0.0, linear = 0.0;
    for (i = 0; i < n_; ++i) {
      gradient_[i] -= job_.target[i];
      if (gradient_[i] < 0.0) loss -= job_.upper[i] * gradient_[i];
      linear += job_.target[i] * job_.x[i];
    }
    const double norm = dot(w_, w_, stride_), primal = 0.5 * norm + loss;
    const double gap = (primal - linear + 0.5 * norm) / larger(primal, tiny);
    job_.gap = gap < 0.0 ? 0.0 : gap;
    stopped_ = poll_(n_ * stride_) || stopped_;
  }

  // Whether the gap is reached by w computed afresh: sums of steps drift.
  bool solved() {
    if (!(job_.gap <= job_.tol)) return false;
    sum_rows();
    measure();
    return job_.gap <= job_.tol;
  }

  // Limits of the next cycles: entries between their bounds, and the work of a try.
  void allow(Index inside, Index features) {
    most_inside_ = smaller_of(smaller_of(inside, FreeRows::most(n_)), job_.k);
    const Index width = smaller_of(features, job_.k);
    free_.work = -2.0 * static_cast<double>(n_ * width) * static_cast<double>(stride_ + 6 * width);
  }

  // Exact steps on the rows between their bounds until the gap is reached.
  bool polish(Index limit) {
    for (Index cycle = 0; !solved(); ++cycle, ++job_.cycles) {
      if (cycle >= limit || free_.work > 0.0 || stopped_) return false;
      free_.work += static_cast<double>(n_ * stride_);
      const Index count = choose();
      if (count == 0 || !free_.minimise(count, gradient_, w_)) return false;
      stopped_ = poll_(count * count * (stride_ + count) / 2) || stopped_;
      measure();
    }
    return true;
  }

  // In `free_.rows`: the rows between their bounds, and those at a bound that gain most by leaving
  // it. None if there are too many of the first.
  Index choose() {
    Index count = 0;
    for (Index i = 0; i < n_; ++i) {
      const bool low = free_.at_lower(i), high = free_.at_upper(i), inside = !low && !high;
      const bool wants = (low && gradient_[i] < 0.0) || (high && gradient_[i] > 0.0);
      wish_[i] = wants && !(low && high) ? gradient_[i] * gradient_[i] / (squares_[i] + tiny) : 0.0;
      if (!inside) continue;
      if (count == most_inside_) return 0;
      free_.rows[count++] = i;
    }
    const Index entering = larger_of(least_entering, count / 2);
    for (Index taken = 0; taken < entering && count < FreeRows::most(n_); ++taken) {
      Index best = 0;
      for (Index i = 1; i < n_; ++i)
        if (wish_[i] > wish_[best]) best = i;
      if (!(wish_[best] > 0.0)) break;
      wish_[best] = 0.0;
      free_.rows[count++] = best;
    }
    return count;
  }

  static Index larger_of(Index a, Index b) { return a > b ? a : b; }
  static Index smaller_of(Index a, Index b) { return a < b ? a : b; }

  // The coefficients of the interior point; true if they solve the problem.
  bool take(const ThinInterior& point) {
    for (Index i = 0; i < n_; ++i) job_.x[i] = clipped(point.x[i], job_.upper[i]);
    sum_rows();
    measure();
    return job_.gap <= job_.tol;
  }

  // The same with each entry at the bound it was on the way to. Returns how many were on the way to
  // none.
  Index settle(const ThinInterior& point) {
    Index inside = 0;
    for (Index i = 0; i < n_; ++i) {
      const double upper = job_.upper[i];
      job_.x[i] = point.x[i] < upper * point.s[i]      ? 0.0
                  : point.room[i] < upper * point.t[i] ? upper
                                                       : clipped(point.x[i], upper);
      inside += !free_.at_lower(i) && !free_.at_upper(i);
    }
    return inside;
  }

  // Whether a cycle with so many entries costs no more than a few iterations of the interior point.
  bool is_cheap(Index inside, Index rank) const {
    return inside * inside * (stride_ / 2 + inside) <= cheap * n_ * rank * (rank / 2 + 6);
  }

  HingeJob& job_;
  Poll poll_;
  Index n_, stride_, most_inside_ = 0;
  bool stopped_ = false;
  double *Z_, *w_, *squares_, *gradient_, *wish_, *rest_;
  FreeRows free_;
};

void scaled_hinge(HingeJob& job, Poll poll) {
  ScaledHinge solver(job, poll);
  solver.run();
  solver.write();
}

}  // namespace

const HingeSolver hinge_solver = {ScaledHinge::scratch_size, ScaledHinge::number_size,
                                  scaled_hinge};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
