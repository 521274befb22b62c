// The one-norm hinge machine by a simplex method, for one instruction set (SLIMSVM_ISA); built once
// per set.
//
// Minimises sum_j |alpha_j| + sum_i c_i max(0, slack_i), slack = t - B alpha - b q. At a corner as
// many slacks are zero (the elbows) as coefficients are not (the active ones, b among them), so all
// that is solved is as small as the model: the inverse W of B at the elbows and active columns
// follows them by rank-one updates. The elbows' dual coefficients make the gradient of every active
// coefficient zero; a column whose gradient is beyond 1, or an elbow whose dual coefficient is
// outside its box, says where the objective falls. Along that edge the objective is convex and
// piecewise linear: the search passes all corners up to the lowest. Of the elbows the one is left
// that makes the objective fall most for what it moves all slacks by (steepest edge): on narrow
// kernels that takes a quarter of the steps.
#include "corner.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

// Slacks that are zero at once would leave the search on the spot: t is moved by this share of the
// largest, another amount for each row. The last corner is solved for with t itself.
constexpr double moved_apart = 1e-8;
// A slack or coefficient that moves by less than this share of the fastest is taken not to move.
constexpr double standing = 1e-9;
// Violations of the dual constraints, relative, that are rounding.
constexpr double rounding = 1e-9;
// Relative residual of the small system at which its inverse is computed anew.
constexpr double worn = 1e-9;
constexpr Index pivots_between_refreshes = 16;

class OneNorm {
 public:
  static Index scratch_size(Index n, Index m, Index most) {
    return Corner::scratch_size(n, most) + 5 * n + 2 * m + 8 * (most + 1);
  }
  static Index number_size(Index n, Index m, Index most) {
    return Corner::number_size(most) + 2 * n + m + most + 1;
  }

  explicit OneNorm(OneNormJob& job)
      : job_(job), n_(job.n), m_(job.m), corner_(job.n, job.most, job.scratch, job.numbers) {
    double* place = job.scratch + Corner::scratch_size(n_, job.most);
    const auto take = [&place](Index count) {
      double* here = place;
      place += count;
      return here;
    };
    double** of_rows[] = {&slack_, &rate_, &target_, &outside_};
    for (double** array : of_rows) *array = take(n_);
    double** of_columns[] = {&gradient_, &per_norm_};
    for (double** array : of_columns) *array = take(m_);
    double** of_active[] = {&x_, &sign_, &right_, &step_, &image_, &square_, &overlap_};
    for (double** array : of_active) *array = take(job.most + 1);
    reached_at_ = take(n_ + job.most + 1);
    side_ = job.numbers + Corner::number_size(job.most);
    is_active_ = side_ + n_;
    heap_ = is_active_ + m_;
  }

  void run(Poll poll) {
    start();
    if (job_.size > 0) {
      go_on();
    } else if (job_.free && !place_intercept()) {
      finish();
      return;
    }
    const Index most_pivots = job_.pivots;
    bool fresh = false;
    for (job_.pivots = 0;;) {
      price(fresh);
      if (!choose()) {
        job_.optimal = fresh;
        if (fresh) break;
        worn_ = true;
        refresh();
        fresh = true;
        continue;
      }
      fresh = false;
      if (job_.pivots >= most_pivots || !travel()) break;
      ++job_.pivots;
      if (job_.pivots % pivots_between_refreshes == 0) refresh();
      if (poll((3 * n_ + 3 * size() + m_) * size() + 16 * n_)) break;
    }
    finish();
  }

 private:
  Index size() const { return corner_.size(); }

  void start() {
    double largest = 0.0;
    for (Index i = 0; i < n_; ++i)
      largest = size_of(job_.t[i]) > largest ? size_of(job_.t[i]) : largest;
    std::uint64_t state = 0;
    for (Index i = 0; i < n_; ++i) {
      const double share = static_cast<double>(next_random(state) >> 11) * 0x1p-53;
      target_[i] = job_.t[i] + moved_apart * largest * (0.5 + share);
      slack_[i] = target_[i];
      side_[i] = slack_[i] > 0.0 ? 1 : -1;
      job_.beta[i] = 0.0;
    }
    for (Index j = 0; j < m_; ++j) per_norm_[j] = gradient_[j] = 0.0, is_active_[j] = 0;
    for (Index i = 0; i < n_; ++i) {
      const double* row = job_.B + i * m_;
      for (Index j = 0; j < m_; ++j) per_norm_[j] = row[j] * row[j] + per_norm_[j];
    }
    for (Index j = 0; j < m_; ++j)
      per_norm_[j] = per_norm_[j] > 0.0 ? 1.0 / __builtin_sqrt(per_norm_[j]) : 0.0;
  }

  // The best intercept without any column: the first elbow. False if no row depends on it.
  bool place_intercept() {
    double* q = corner_.column(0);
    double slope = 0.0;
    for (Index i = 0; i < n_; ++i) {
      q[i] = job_.free[i];
      if (side_[i] > 0) slope -= job_.c[i] * q[i];
    }
    const double way = slope > 0.0 ? -1.0 : 1.0;
    for (Index i = 0; i < n_; ++i) rate_[i] = -way * q[i];
    const Index first = blocking(-size_of(slope));
    if (first < 0) return false;
    for (Index i = 0; i < n_; ++i) slack_[i] += length_ * rate_[i];
    corner_.begin(m_, first);
    rest_on(first);
    sign_[0] = 0.0;
    x_[0] = way * length_;
    square_[0] = dot(q, q, n_) / (q[first] * q[first]);
    return true;
  }

  // The corner that an earlier call has reached.
  void go_on() {
    for (Index a = 0; a < job_.size; ++a) {
      const Index number = job_.active[a];
      double* to = corner_.column(a);
      for (Index i = 0; i < n_; ++i) to[i] = number == m_ ? job_.free[i] : job_.B[i * m_ + number];
      if (number != m_) is_active_[number] = 1;
    }
    corner_.resume(job_.size, job_.active, job_.elbow);
    refresh();
    for (Index i = 0; i < n_; ++i) side_[i] = slack_[i] > 0.0 ? 1 : -1;
    for (Index a = 0; a < size(); ++a) {
      rest_on(corner_.elbow[a]);
      sign_[a] = corner_.active[a] == m_ ? 0.0 : x_[a] < 0.0 ? -1.0 : 1.0;
      for (Index i = 0; i < n_; ++i) rate_[i] = 0.0;
      for (Index b = 0; b < size(); ++b)
        add_scaled(corner_.inverse(b)[a], corner_.column(b), rate_, n_);
      square_[a] = dot(rate_, rate_, n_);
    }
  }

  void rest_on(Index i) {
    slack_[i] = 0.0;
    side_[i] = 0;
  }

  // Dual coefficients of all rows, and the gradients of all columns: those that changed, or all.
  void price(bool all) {
    for (Index i = 0; i < n_; ++i) outside_[i] = side_[i] > 0 ? job_.c[i] : 0.0;
    double largest = 0.0;
    for (Index a = 0; a < size(); ++a) {
      right_[a] = sign_[a] - dot(corner_.column(a), outside_, n_);
      largest = size_of(right_[a]) > largest ? size_of(right_[a]) : largest;
    }
    worn_ = corner_.solve_transposed(right_, overlap_) > worn * largest || worn_;
    for (Index e = 0; e < size(); ++e) outside_[corner_.elbow[e]] = overlap_[e];
    if (all)
      for (Index j = 0; j < m_; ++j) gradient_[j] = 0.0;
    for (Index i = 0; i < n_; ++i) {
      const double change = all ? outside_[i] : outside_[i] - job_.beta[i];
      if (change != 0.0) add_scaled(change, job_.B + i * m_, gradient_, m_);
      job_.beta[i] = outside_[i];
    }
  }

  // The column or the elbow to leave the corner by; false at the optimum.
  bool choose() {
    double best = 0.0;
    entering_ = released_ = -1;
    for (Index j = 0; j < m_; ++j) {
      const double beyond = size_of(gradient_[j]) - 1.0;
      if (is_active_[j] || beyond <= rounding || beyond * per_norm_[j] <= best) continue;
      best = beyond * per_norm_[j];
      entering_ = j;
    }
    for (Index e = 0; e < size(); ++e) {
      const double beta = job_.beta[corner_.elbow[e]], upper = job_.c[corner_.elbow[e]];
      const double beyond = beta < 0.0 ? -beta : beta - upper;
      if (beyond <= rounding * (upper > 1.0 ? upper : 1.0)) continue;
      const double steepness = beyond / __builtin_sqrt(1.0 + square_[e]);
      if (steepness <= best) continue;
      best = steepness;
      released_ = e;
    }
    return entering_ >= 0 || released_ >= 0;
  }

  // Along the chosen edge to its lowest corner; false where there is none, or no room for it.
  bool travel() {
    double slope, way;
    const Index k = size(), left = released_ < 0 ? -1 : corner_.elbow[released_];
    if (left >= 0) {
      const double beta = job_.beta[left];
      way = beta < 0.0 ? -1.0 : 1.0;
      slope = beta < 0.0 ? beta : job_.c[left] - beta;
      for (Index a = 0; a < k; ++a) step_[a] = -way * corner_.inverse(a)[released_];
      for (Index i = 0; i < n_; ++i) rate_[i] = 0.0;
    } else {
      way = gradient_[entering_] > 0.0 ? 1.0 : -1.0;
      slope = 1.0 - size_of(gradient_[entering_]);
      double* here = corner_.column(k);
      for (Index i = 0; i < n_; ++i) {
        here[i] = job_.B[i * m_ + entering_];
        rate_[i] = -way * here[i];
      }
      corner_.image_of(here, image_);
      for (Index a = 0; a < k; ++a) step_[a] = -way * image_[a];
    }
    for (Index a = 0; a < k; ++a) add_scaled(-step_[a], corner_.column(a), rate_, n_);
    for (Index e = 0; e < k; ++e) rate_[corner_.elbow[e]] = 0.0;
    measure_edges(left, way);
    const Index last = blocking(slope);
    if (last < 0 || (left < 0 && last < n_ && corner_.is_full())) return false;
    for (Index i = 0; i < n_; ++i) slack_[i] = rate_[i] * length_ + slack_[i];
    for (Index a = 0; a < k; ++a) x_[a] = step_[a] * length_ + x_[a];
    if (last < n_) rest_on(last);
    if (left < 0) {
      enter(last, way);
      return true;
    }
    slack_[left] = way * length_;
    side_[left] = way > 0.0 ? 1 : -1;
    if (last < n_) {
      const double pivot = corner_.exchange_elbow(released_, last);
      change_edges(k, -way);
      square_[released_] = length_square_ / (pivot * pivot);
    } else {
      leave(last - n_, way);
    }
    return true;
  }

  // The chosen column becomes active: row `last` an elbow, or active column last - n out of it.
  void enter(Index last, double way) {
    Index a = size();
    if (last < n_) {
      const double pivot = corner_.grow(entering_, image_, last);
      change_edges(a, way);
      square_[a] = length_square_ / (pivot * pivot);
    } else {
      a = last - n_;
      is_active_[corner_.active[a]] = 0;
      corner_.exchange_column(entering_, image_, a);
      change_edges(size(), -way);
    }
    is_active_[entering_] = 1;
    x_[a] = way * length_;
    sign_[a] = way;
  }

  // Active column a and the released elbow go.
  void leave(Index a, double way) {
    is_active_[corner_.active[a]] = 0;
    corner_.shrink(released_, a);
    change_edges(size() + 1, -way);
    const Index last = size();
    x_[a] = x_[last];
    sign_[a] = sign_[last];
    square_[released_] = square_[last];
  }

  // Leaving elbow e moves the slacks by B W_e, whose square is kept. All of them change by
  // multiples of the rate: its square, and its product with each.
  void measure_edges(Index left, double way) {
    if (left >= 0) rate_[left] = way;
    length_square_ = dot(rate_, rate_, n_);
    for (Index a = 0; a < size(); ++a) {
      right_[a] = dot(corner_.column(a), rate_, n_);
      overlap_[a] = 0.0;
    }
    corner_.add_transposed(right_, overlap_);
    if (left >= 0) rate_[left] = 0.0;
  }

  // The squares after a step this way; an edge moves its own row by 1.
  void change_edges(Index count, double way) {
    for (Index e = 0; e < count; ++e) {
      const double by = way * corner_.share(e);
      const double square = square_[e] + by * (2.0 * overlap_[e] + by * length_square_);
      square_[e] = square > 1.0 ? square : 1.0;
    }
  }

  // Where the slope stops falling: a row, or n + an active coefficient; -1 if nowhere. What is
  // passed on the way changes its side or its sign.
  Index blocking(double slope) {
    double fastest = 0.0;
    for (Index i = 0; i < n_; ++i)
      fastest = size_of(rate_[i]) > fastest ? size_of(rate_[i]) : fastest;
    Index count = 0;
    for (Index i = 0; i < n_; ++i) {
      if (side_[i] == 0 || size_of(rate_[i]) <= standing * fastest) continue;
      if ((side_[i] > 0) == (rate_[i] > 0.0)) continue;
      const double at = -slack_[i] / rate_[i];
      reached_at_[i] = at > 0.0 ? at : 0.0;
      heap_[count++] = i;
    }
    for (Index a = 0; a < size(); ++a) {
      if (corner_.active[a] == m_ || sign_[a] * step_[a] >= 0.0) continue;
      const double at = -x_[a] / step_[a];
      reached_at_[n_ + a] = at > 0.0 ? at : 0.0;
      heap_[count++] = n_ + a;
    }
    for (Index place = count / 2; place-- > 0;) sink(place, count);
    while (count > 0) {
      const Index next = heap_[0];
      const bool is_row = next < n_;
      slope += is_row ? job_.c[next] * size_of(rate_[next]) : 2.0 * size_of(step_[next - n_]);
      if (slope >= 0.0) {
        length_ = reached_at_[next];
        return next;
      }
      if (is_row)
        side_[next] = -side_[next];
      else
        sign_[next - n_] = -sign_[next - n_];
      heap_[0] = heap_[--count];
      sink(0, count);
    }
    return -1;
  }

  void sink(Index place, Index count) {
    const Index moved = heap_[place];
    for (;;) {
      Index child = 2 * place + 1;
      if (child >= count) break;
      if (child + 1 < count && reached_at_[heap_[child + 1]] < reached_at_[heap_[child]]) ++child;
      if (reached_at_[heap_[child]] >= reached_at_[moved]) break;
      heap_[place] = heap_[child];
      place = child;
    }
    heap_[place] = moved;
  }

  // Coefficients and slacks of the corner, free of what the steps have gathered.
  void refresh() {
    if (worn_) corner_.invert();
    worn_ = false;
    corner_.solve(target_, x_);
    for (Index i = 0; i < n_; ++i) slack_[i] = target_[i];
    for (Index a = 0; a < size(); ++a) add_scaled(-x_[a], corner_.column(a), slack_, n_);
    for (Index e = 0; e < size(); ++e) slack_[corner_.elbow[e]] = 0.0;
  }

  void finish() {
    corner_.solve(job_.t, x_);
    for (Index j = 0; j < m_; ++j) job_.alpha[j] = 0.0;
    job_.intercept = 0.0;
    job_.size = size();
    for (Index a = 0; a < size(); ++a) {
      const Index number = corner_.active[a];
      job_.active[a] = number;
      job_.elbow[a] = corner_.elbow[a];
      (number == m_ ? job_.intercept : job_.alpha[number]) = x_[a];
    }
    for (Index i = 0; i < n_; ++i) {
      const double beta = job_.beta[i];
      job_.beta[i] = beta > job_.c[i] ? job_.c[i] : beta > 0.0 ? beta : 0.0;
    }
  }

  OneNormJob& job_;
  Index n_, m_;  // the intercept has the number m among the columns
  Corner corner_;
  Index entering_ = -1, released_ = -1;
  bool worn_ = false;
  double length_ = 0.0, length_square_ = 0.0;
  double *slack_, *rate_, *target_, *outside_;                        // (n)
  double *gradient_, *per_norm_;                                      // (m)
  double *x_, *sign_, *right_, *step_, *image_, *square_, *overlap_;  // (most + 1)
  double* reached_at_;                                                // (n + most + 1)
  Index *side_, *is_active_, *heap_;
};

void one_norm(OneNormJob& job, Poll poll) {
  OneNorm(job).run(poll);
}

}  // namespace

const OneNormSolver one_norm_solver = {OneNorm::scratch_size, OneNorm::number_size, one_norm};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
