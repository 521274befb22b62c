// The linear hinge machine without intercept for one instruction set (SLIMSVM_ISA); built once per
// set.
//
// Minimises 1/2 |w|^2 + sum_i upper_i max(0, target_i - Z_i w), Z = diag(sign) B[:, columns]
// diag(scale), by the dual box problem 1/2 |Z'x|^2 - target'x, 0 <= x <= upper. Few entries of x
// are between their bounds at the end. An interior point on few features, which are Z itself or the
// leading part of Z Z', finds out which; then Newton steps for these alone, with the rows that
// break their conditions let in and those that meet a bound let go, solve the problem itself. The
// latter only ever go down; the duality gap certifies.
#include "thin_interior.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

// Features of the interior point: at the first try, and at most after doubling; columns of Z Z'
// taken at a time for them; and the share of the trace they may leave.
constexpr Index few_features = 32, most_features = 128, block = 8;
constexpr double negligible = 1e-10;
// Entries of x between their bounds at most.
constexpr Index most_free_at_all = 400;
// Added to the diagonal of the Newton matrix, relative to its trace: what rounding leaves of it.
constexpr double relative_ridge = 1e-13;
// An entry this near to a bound, relative to upper, is there.
constexpr double hair = 1e-14;
// A start with a larger gap is no better than none, unless trying costs next to nothing.
constexpr double near = 0.5;
// Gaps of the interior point in a try, each followed by cycles unless too many entries are still
// between their bounds: so many at the first try, twice at the second.
constexpr double first_gap = 1e-2, gap_fall = 0.1, last_gap = 1e-5;
constexpr Index few_inside = 96, few_cycles = 8;
// Cycles from the start that was given.
constexpr Index warm_cycles = 16;
// Share of the tolerance that the interior point reaches where it is to solve the problem itself.
constexpr double safely = 0.3;
constexpr Index max_interior = 80;
// Matrices factorised in a cycle at most.
constexpr Index max_factors = 12;
// Rows let in at a time: a share of those between their bounds, and at least so many.
constexpr Index least_entering = 8;
// Pivots below this, relative to their diagonal, are rounding.
constexpr double rounding = 1e-13;
constexpr double tiny = 1e-300;

SLIMSVM_INLINE double clipped(double x, double upper) {
  return x < 0.0 ? 0.0 : x > upper ? upper : x;
}

constexpr Index round_up(Index count) {
  return (count + lanes<double> - 1) / lanes<double> * lanes<double>;
}

class ScaledHinge {
 public:
  static Index most_free(Index n) { return n < most_free_at_all ? n : most_free_at_all; }

  static Index scratch_size(const HingeJob& job) {
    const Index n = job.n, f = most_free(n), stride = round_up(job.k);
    return n * stride + stride + n * (5 + most_features + block) + 2 * f * f + 5 * f +
           ThinInterior::scratch_size(n, most_features);
  }

  static Index number_size(const HingeJob& job) { return 2 * most_free(job.n); }

  ScaledHinge(HingeJob& job, Poll poll)
      : job_(job), poll_(poll), n_(job.n), stride_(round_up(job.k)), most_free_(most_free(job.n)) {
    double* place = job.scratch;
    const auto next = [&place](Index count) SLIMSVM_LAMBDA {
      double* here = place;
      place += count;
      return here;
    };
    Z_ = next(n_ * stride_);
    w_ = next(stride_);
    squares_ = next(n_);
    gradient_ = next(n_);
    wish_ = next(n_);
    ridge_ = next(n_);
    part_ = next(n_);
    F_ = next(n_ * most_features);
    columns_ = next(n_ * block);
    Q_ = next(most_free_ * most_free_);
    L_ = next(most_free_ * most_free_);
    g_ = next(most_free_);
    before_ = next(most_free_);
    d_ = next(most_free_);
    bent_ = next(most_free_);
    product_ = next(most_free_);
    interior_ = place;
    free_ = job.numbers;
    left_ = free_ + most_free_;
  }

  void run() {
    take_columns();
    sum_rows();
    measure();
    const bool thin = job_.k <= few_features;
    allow(few_inside, few_features);
    if ((job_.gap <= near || thin) && polish(warm_cycles)) return;
    ThinInterior point(job_.target, job_.upper, n_, interior_);
    Index inside = few_inside;
    for (Index features = few_features; features <= most_features; features *= 2, inside *= 2) {
      if (!lead(features)) break;
      point.start(F_, ridge_, rank_);
      allow(inside, features);
      for (double gap = first_gap; gap > 0.9 * last_gap && !stopped_; gap *= gap_fall) {
        point.run(gap, max_interior, poll_);
        if (settle(point) && polish(few_cycles)) return;
      }
    }
    point.run(safely * job_.tol, max_interior, poll_);
    if (take(point)) return;
    settle(point);
    allow(most_free_, job_.n);
    polish(job_.max_cycles);
  }

  void write() const {
    for (Index j = 0; j < job_.k; ++j) job_.w[j] = w_[j];
  }

 private:
  const double* row(Index i) const { return Z_ + i * stride_; }
  bool at_lower(Index i) const { return job_.x[i] <= 0.0; }
  bool at_upper(Index i) const { return job_.x[i] >= job_.upper[i]; }

  void take_columns() {
    for (Index i = 0; i < n_; ++i) {
      const double* from = job_.B + i * job_.m;
      double* to = Z_ + i * stride_;
      const double sign = job_.sign[i];
      for (Index j = 0; j < job_.k; ++j) to[j] = sign * (from[job_.columns[j]] * job_.scale[j]);
      for (Index j = job_.k; j < stride_; ++j) to[j] = 0.0;
      squares_[i] = dot(to, to, stride_);
      job_.x[i] = clipped(job_.x[i], job_.upper[i]);
    }
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
    most_inside_ = smaller_of(smaller_of(inside, most_free_), job_.k);
    if (rank_ > 0 && !(rest_ > negligible * trace_))  // so many can be, where the features are all
      most_inside_ = smaller_of(most_inside_, rank_ + least_entering);
    const Index width = smaller_of(features, job_.k);
    work_left_ = static_cast<double>(n_ * width) * static_cast<double>(stride_ + 6 * width);
  }

  // Exact steps on the rows between their bounds until the gap is reached.
  bool polish(Index limit) {
    for (Index cycle = 0; !solved(); ++cycle, ++job_.cycles) {
      if (cycle >= limit || work_left_ < 0.0 || stopped_) return false;
      work_left_ -= static_cast<double>(n_ * stride_);
      const Index count = choose();
      if (count == 0 || count > most_free_) return false;
      if (!newton(count)) return false;
      measure();
    }
    return true;
  }

  // In `free`: the rows between their bounds, and those at a bound that gain most by leaving it.
  Index choose() {
    Index count = 0;
    for (Index i = 0; i < n_; ++i) {
      const bool low = at_lower(i), high = at_upper(i), inside = !low && !high;
      const bool wants = (low && gradient_[i] < 0.0) || (high && gradient_[i] > 0.0);
      wish_[i] = wants && !(low && high) ? gradient_[i] * gradient_[i] / (squares_[i] + tiny) : 0.0;
      if (!inside) continue;
      if (count == most_inside_) return most_free_ + 1;
      free_[count++] = i;
    }
    const Index entering = larger_of(least_entering, count / 2);
    for (Index taken = 0; taken < entering && count < most_free_; ++taken) {
      Index best = 0;
      for (Index i = 1; i < n_; ++i)
        if (wish_[i] > wish_[best]) best = i;
      if (!(wish_[best] > 0.0)) break;
      wish_[best] = 0.0;
      free_[count++] = best;
    }
    return count;
  }

  static Index larger_of(Index a, Index b) { return a > b ? a : b; }
  static Index smaller_of(Index a, Index b) { return a < b ? a : b; }

  // Q = Z_f Z_f' for the free rows.
  void set_products(Index count) {
    for (Index a = 0; a < count; ++a) {
      const double* own = row(free_[a]);
      double* to = Q_ + a * count;
      Index b = 0;
      for (; b + 4 <= a + 1; b += 4) {
        const double* rows[] = {row(free_[b]), row(free_[b + 1]), row(free_[b + 2]),
                                row(free_[b + 3])};
        dots<4>(own, rows, stride_, to + b);
      }
      for (; b <= a; ++b) to[b] = dot(own, row(free_[b]), stride_);
      for (b = 0; b < a; ++b) Q_[b * count + a] = to[b];
    }
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
      const Index i = free_[left_[a]];
      if ((at_lower(i) && d_[a] <= 0.0) || (at_upper(i) && d_[a] >= 0.0)) continue;
      left_[kept++] = left_[a];
    }
    return kept;
  }

  // The minimum over the free rows, those that meet a bound staying there. False if nothing moved.
  bool newton(Index count) {
    set_products(count);
    work_left_ -= 0.5 * static_cast<double>(count * count * stride_);
    for (Index a = 0; a < count; ++a) {
      g_[a] = gradient_[free_[a]];
      before_[a] = job_.x[free_[a]];
      left_[a] = a;
    }
    Index size = count;
    for (Index factors = 0; size > 0 && factors < max_factors; ++factors) {
      factorise(size, count);
      work_left_ -= static_cast<double>(size * size * size) / 6.0;
      solve(size, count);
      const Index kept = without_outward(size);
      if (kept < size) {
        size = kept;
        continue;
      }
      double step = 1.0;  // as far as the box allows
      for (Index a = 0; a < size; ++a) {
        const Index i = free_[left_[a]];
        const double room = d_[a] < 0.0 ? job_.x[i] : job_.upper[i] - job_.x[i];
        const double length = d_[a] < 0.0 ? -d_[a] : d_[a];
        if (step * length > room) step = room / length;
        bent_[a] = clipped(job_.x[i] + d_[a], job_.upper[i]) - job_.x[i];
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
        const Index i = free_[left_[a]];
        const double upper = job_.upper[i], moved = clipped(job_.x[i] + bent_[a], upper);
        job_.x[i] = moved <= hair * upper ? 0.0 : moved >= (1.0 - hair) * upper ? upper : moved;
      }
      if (!(step < 1.0)) break;
      Index inside = 0;
      for (Index a = 0; a < size; ++a) {
        const Index i = free_[left_[a]];
        g_[left_[a]] += product_[a];
        if (!at_lower(i) && !at_upper(i)) left_[inside++] = left_[a];
      }
      if (inside == size) break;
      size = inside;
    }
    bool moved = false;
    for (Index a = 0; a < count; ++a) {
      const Index i = free_[a];
      if (job_.x[i] == before_[a]) continue;
      add_scaled(job_.x[i] - before_[a], row(i), w_, stride_);
      moved = true;
    }
    stopped_ = poll_(count * count * (stride_ + count) / 2) || stopped_;
    return moved;
  }

  // The coefficients of the interior point; true if they solve the problem.
  bool take(const ThinInterior& point) {
    for (Index i = 0; i < n_; ++i) job_.x[i] = clipped(point.x[i], job_.upper[i]);
    sum_rows();
    measure();
    return job_.gap <= job_.tol;
  }

  // The same with each entry at the bound it was on the way to. False if too many are on the way to
  // none: then the interior point has not found out yet.
  bool settle(const ThinInterior& point) {
    Index inside = 0;
    for (Index i = 0; i < n_; ++i) {
      const double upper = job_.upper[i];
      job_.x[i] = point.x[i] < upper * point.s[i]      ? 0.0
                  : point.room[i] < upper * point.t[i] ? upper
                                                       : clipped(point.x[i], upper);
      inside += !at_lower(i) && !at_upper(i);
    }
    sum_rows();
    measure();
    return inside <= most_inside_;
  }

  // Features F and a diagonal with F F' + diag(ridge) near Z Z': a partial Cholesky factorisation
  // with pivots drawn in proportion to the diagonal that is left (Chen, Epperly, Tropp and Webber).
  // Goes on where it ended before, and returns whether there is more than before.
  bool lead(Index most) {
    const Index before = rank_;
    if (job_.k <= few_features) {  // Z itself is thin
      for (Index i = 0; i < n_; ++i) {
        ridge_[i] = 0.0;
        for (Index j = 0; j < job_.k; ++j) F_[j * n_ + i] = Z_[i * stride_ + j];
      }
      rank_ = job_.k;
      return rank_ > before;
    }
    if (before == 0) {
      rest_ = 0.0;
      for (Index i = 0; i < n_; ++i) rest_ += ridge_[i] = squares_[i];
      trace_ = rest_;
    }
    while (rank_ < most && rest_ > negligible * trace_ && !stopped_) add_features();
    return rank_ > before;
  }

  // One block of columns more.
  void add_features() {
    rest_ = 0.0;
    for (Index i = 0; i < n_; ++i) part_[i] = rest_ += ridge_[i];
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
    for (Index i = 0; i < n_; ++i) {
      double here[block];
      dots<block>(row(i), rows, stride_, here);
      for (Index c = 0; c < block; ++c) columns_[c * n_ + i] = here[c];
    }
    const Index before = rank_;
    for (Index c = 0; c < block && rank_ < most_features; ++c) {
      double* own = columns_ + c * n_;
      for (Index j = 0; j < rank_; ++j) add_scaled(-F_[j * n_ + pivots[c]], F_ + j * n_, own, n_);
      const double pivot = own[pivots[c]];
      if (!(pivot > rounding * squares_[pivots[c]])) continue;
      const double inverse = 1.0 / __builtin_sqrt(pivot);
      double* to = F_ + rank_ * n_;
      for (Index i = 0; i < n_; ++i) {
        to[i] = own[i] * inverse;
        const double left = ridge_[i] - to[i] * to[i];
        ridge_[i] = left > 0.0 ? left : 0.0;
      }
      ++rank_;
    }
    rest_ = 0.0;
    for (Index i = 0; i < n_; ++i) rest_ += ridge_[i];
    if (rank_ == before) rest_ = 0.0;  // what is left is rounding
    stopped_ = poll_(n_ * block * stride_) || stopped_;
  }

  HingeJob& job_;
  Poll poll_;
  Index n_, stride_, most_free_;
  bool stopped_ = false;
  Index rank_ = 0, most_inside_ = 0;
  double trace_ = 0.0, rest_ = 0.0, work_left_ = 0.0;
  std::uint64_t random_ = 0;
  double *Z_, *w_, *squares_, *gradient_, *wish_, *ridge_, *part_, *F_, *columns_;
  double *Q_, *L_, *g_, *before_, *d_, *bent_, *product_, *interior_;
  Index *free_, *left_;
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
