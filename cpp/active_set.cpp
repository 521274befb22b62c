// Active set for one instruction set (SLIMSVM_ISA); built once per set.
//
// Minimises 1/2 x'Gx - target'x over lower <= x <= upper with the sum of x kept as it is. The free
// entries have a Cholesky factor L L' of their part of G that is updated as they come and go: from
// one minimum over the free entries to the next, the entries that violate optimality most are
// freed, and those that meet a bound on the way are fixed there. However steep the problem, a few
// steps for each entry that ends above its bound are enough.
#include "rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

// Freed together: this many, and one for so many that are free. A look at all rows costs n for
// every free entry, a step among the free ones only their number.
constexpr Index freed_at_least = 4, free_for_another = 8, freed_at_most = 64;
// Added to the diagonal, relative: keeps L in being where free rows depend on each other. The
// gradients are those of G itself, so the optimum is too.
constexpr double ridge = 1e-11;
// A change of the sum by less than this share of the sum of |x| is rounding. Where free rows depend
// on each other a step may leave more of it; the next one takes it back, so that a few are enough.
constexpr double sum_rounding = 1e-12;
constexpr int sum_corrections = 3;

class ActiveSet {
 public:
  static Index scratch_size(Index n, Index most) { return 2 * n + most * (most + 5); }

  explicit ActiveSet(ActiveJob& job) : job_(job), n_(job.n), most_(job.most_free) {
    double* place = job.scratch;
    double** whole[] = {&gradient_, &before_};
    for (double** array : whole) {
      *array = place;
      place += n_;
    }
    double** of_free[] = {&ones_, &right_, &along_, &step_, &change_};
    for (double** array : of_free) {
      *array = place;
      place += most_;
    }
    L_ = place;
  }

  void run(Poll poll) {
    start();
    double work = 0.0, told = 0.0;
    int corrections = 0;
    const Index most_looks = job_.looks;
    for (job_.looks = 1;; ++job_.looks) {
      const double size = static_cast<double>(free_), count = static_cast<double>(n_);
      work += (size + 4.0) * count;
      const Index freed = look();
      if (freed == 0 && free_ == 0) return;
      if (job_.violation <= job_.tol && (is_sum_kept() || ++corrections > sum_corrections)) return;
      if (job_.looks >= most_looks || work > job_.max_work) return;
      for (Index f = 0; f < freed; ++f) append(chosen_[f]);
      for (bool blocked = true; blocked; work += 1.5 * size * size + 16.0 * size) {
        blocked = move();
      }
      set_gradient();
      if (poll(static_cast<Index>(work - told))) return;
      told = work;
    }
  }

 private:
  double* column(Index k) { return L_ + k * most_; }

  void start() {
    free_ = job_.n_start;
    for (Index i = 0; i < n_; ++i) {
      gradient_[i] = -job_.target[i];
      before_[i] = 0.0;
      job_.is_free[i] = 0;
    }
    touched_ = 0;
    sum_ = 0.0;
    for (Index i = 0; i < n_; ++i) {
      sum_ += job_.x[i];
      if (job_.x[i] != 0.0) job_.touched[touched_++] = i;
    }
    set_gradient();
    for (Index k = 0; k < free_; ++k) {
      job_.is_free[job_.free[k]] = 1;
      const double* from = job_.factor + k * free_;
      for (Index i = k; i < free_; ++i) column(k)[i] = from[i];
    }
    for (Index k = 0; k < free_; ++k) ones_[k] = 1.0;
    forward(ones_, free_);
  }

  // gradient += G (x - before) for the entries that may have moved; then these are the free ones.
  void set_gradient() {
    Index moved = 0;
    for (Index e = 0; e < touched_; ++e) {
      const Index i = job_.touched[e];
      if (job_.x[i] != before_[i]) job_.touched[moved++] = i;
    }
    Index e = 0;
    for (; e + 4 <= moved; e += 4) {
      const double* rows[4];
      Vec<double> by[4];
      for (int c = 0; c < 4; ++c) {
        const Index i = job_.touched[e + c];
        rows[c] = job_.G + i * n_;
        by[c] = broadcast<double>(job_.x[i] - before_[i]);
      }
      Index j = 0;
      for (; j + lanes<double> <= n_; j += lanes<double>) {
        Vec<double> sum = load<double>(gradient_ + j);
        for (int c = 0; c < 4; ++c) sum = load<double>(rows[c] + j) * by[c] + sum;
        store<double>(gradient_ + j, sum);
      }
      for (; j < n_; ++j)
        for (int c = 0; c < 4; ++c) gradient_[j] = rows[c][j] * by[c][0] + gradient_[j];
    }
    for (; e < moved; ++e) {
      const Index i = job_.touched[e];
      add_scaled(job_.x[i] - before_[i], job_.G + i * n_, gradient_, n_);
    }
    for (e = 0; e < moved; ++e) before_[job_.touched[e]] = job_.x[job_.touched[e]];
    touched_ = 0;
    for (Index k = 0; k < free_; ++k) job_.touched[touched_++] = job_.free[k];
  }

  bool is_sum_kept() const {
    double size = 0.0;
    for (Index i = 0; i < n_; ++i) size += job_.x[i] < 0.0 ? -job_.x[i] : job_.x[i];
    return (excess_ < 0.0 ? -excess_ : excess_) <= sum_rounding * size;
  }

  // The level all free gradients should have, the largest violation of optimality at it, and the
  // entries to free next.
  Index look() {
    const double infinity = __builtin_huge_val();
    excess_ = -sum_;
    for (Index i = 0; i < n_; ++i) excess_ += job_.x[i];
    if (free_ > 0) {
      for (Index k = 0; k < free_; ++k) right_[k] = gradient_[job_.free[k]];
      forward(right_, free_);
      job_.level = -dot(ones_, right_, free_) / dot(ones_, ones_, free_);
    } else {
      double highest = -infinity, lowest = infinity;
      Index up = -1, down = -1;
      for (Index i = 0; i < n_; ++i) {
        const double value = -gradient_[i];
        if (job_.x[i] < job_.upper[i] && value > highest) highest = value, up = i;
        if (job_.x[i] > job_.lower[i] && value < lowest) lowest = value, down = i;
      }
      const bool pair = up >= 0 && down >= 0 && highest > lowest;
      job_.violation = pair ? highest - lowest : 0.0;
      job_.level = up < 0 ? lowest : down < 0 ? highest : 0.5 * (highest + lowest);
      chosen_[0] = up;
      chosen_[1] = down;
      return !pair ? 0 : most_ < 2 ? 1 : 2;
    }
    Index room = freed_at_least + free_ / free_for_another;
    room = room > freed_at_most ? freed_at_most : room;
    room = room > most_ - free_ ? most_ - free_ : room;
    Index found = 0;
    job_.violation = 0.0;
    for (Index i = 0; i < n_; ++i) {
      const double slope = gradient_[i] + job_.level;
      const bool wants_up = slope < 0.0 && job_.x[i] < job_.upper[i];
      const bool wants_down = slope > 0.0 && job_.x[i] > job_.lower[i];
      if (!wants_up && !wants_down) continue;
      const double size = wants_up ? -slope : slope;
      job_.violation = size > job_.violation ? size : job_.violation;
      if (job_.is_free[i] || size <= job_.tol) continue;
      const double own = job_.G[i * n_ + i];
      const double gain = own > 0.0 ? size * size / own : infinity;
      if (found == room && (room == 0 || gain <= gains_[room - 1])) continue;
      Index place = found < room ? found++ : room - 1;
      for (; place > 0 && gains_[place - 1] < gain; --place) {
        gains_[place] = gains_[place - 1];
        chosen_[place] = chosen_[place - 1];
      }
      gains_[place] = gain;
      chosen_[place] = i;
    }
    return found;
  }

  // values = L^-1 values
  void forward(double* values, Index count) {
    for (Index k = 0; k < count; ++k) {
      const double* here = column(k);
      values[k] /= here[k];
      add_scaled(-values[k], here + k + 1, values + k + 1, count - k - 1);
    }
  }

  void append(Index i) {
    const double* row = job_.G + i * n_;
    for (Index k = 0; k < free_; ++k) along_[k] = row[job_.free[k]];
    forward(along_, free_);
    const double own = row[i], smallest = ridge * (own > 0.0 ? own : 1.0);
    double pivot = own + smallest - dot(along_, along_, free_);
    pivot = __builtin_sqrt(pivot > smallest ? pivot : smallest);
    for (Index k = 0; k < free_; ++k) column(k)[free_] = along_[k];
    column(free_)[free_] = pivot;
    ones_[free_] = (1.0 - dot(along_, ones_, free_)) / pivot;
    right_[free_] = (gradient_[i] - dot(along_, right_, free_)) / pivot;
    job_.free[free_++] = i;
    job_.touched[touched_++] = i;
    job_.is_free[i] = 1;
  }

  // Takes row j out of L, and turns its columns until it is triangular again.
  void remove(Index j) {
    const Index last = free_ - 1;
    job_.is_free[job_.free[j]] = 0;
    for (Index k = j; k < last; ++k) job_.free[k] = job_.free[k + 1];
    for (Index k = 0; k < free_; ++k) {
      double* here = column(k);
      for (Index i = k > j ? k - 1 : j; i < last; ++i) here[i] = here[i + 1];
    }
    for (Index k = j; k < last; ++k) {
      double *left = column(k), *next = column(k + 1);
      const double a = left[k], b = next[k], length = __builtin_sqrt(a * a + b * b);
      const double cosine = a / length, sine = b / length;
      turn(cosine, sine, left + k, next + k, last - k);
      turn(cosine, sine, ones_ + k, ones_ + k + 1, 1);
      turn(cosine, sine, right_ + k, right_ + k + 1, 1);
    }
    free_ = last;
  }

  static void turn(double cosine, double sine, double* left, double* next, Index count) {
    const Vec<double> c = broadcast<double>(cosine), s = broadcast<double>(sine);
    Index i = 0;
    for (; i + lanes<double> <= count; i += lanes<double>) {
      const Vec<double> a = load<double>(left + i), b = load<double>(next + i);
      store<double>(left + i, c * a + s * b);
      store<double>(next + i, c * b - s * a);
    }
    for (; i < count; ++i) {
      const double a = left[i], b = next[i];
      left[i] = cosine * a + sine * b;
      next[i] = cosine * b - sine * a;
    }
  }

  // To the minimum over the free entries, or to the first bound on the way: then true.
  bool move() {
    // twice, as Gram-Schmidt: where free rows depend on each other L^-1 1 is long
    const double length = dot(ones_, ones_, free_);
    job_.level = 0.0;
    for (Index k = 0; k < free_; ++k) change_[k] = right_[k];
    for (int time = 0; time < 2; ++time) {
      const double by = (excess_ - dot(ones_, change_, free_)) / length;
      add_scaled(by, ones_, change_, free_);
      job_.level += by;
    }
    for (Index k = free_ - 1; k >= 0; --k) {
      const double* here = column(k);
      const Index below = free_ - k - 1;
      step_[k] = (-change_[k] - dot(here + k + 1, step_ + k + 1, below)) / here[k];
    }
    double share = 1.0;
    Index first = -1;
    for (Index k = 0; k < free_; ++k) {
      const Index i = job_.free[k];
      const double to = step_[k] > 0.0 ? job_.upper[i] : job_.lower[i];
      const double room = to - job_.x[i];
      if (step_[k] == 0.0 || room / step_[k] >= share) continue;
      share = room / step_[k];
      first = k;
    }
    for (Index k = 0; k < free_; ++k) job_.x[job_.free[k]] += share * step_[k];
    if (first < 0) return false;
    const Index i = job_.free[first];
    job_.x[i] = step_[first] > 0.0 ? job_.upper[i] : job_.lower[i];
    for (Index k = 0; k < free_; ++k) right_[k] -= share * change_[k];
    excess_ *= 1.0 - share;
    remove(first);
    return true;
  }

  ActiveJob& job_;
  Index n_, most_, free_ = 0, touched_ = 0;
  double sum_ = 0.0, excess_ = 0.0;  // of x: what it is kept at, and what is too much now
  double *gradient_, *before_;       // (n)
  double *ones_, *right_, *along_, *step_, *change_;  // (most_free): L^-1 1, L^-1 gradient
  double* L_;                                         // by columns, most_free apart
  Index chosen_[freed_at_most];
  double gains_[freed_at_most];
};

void active_set(ActiveJob& job, Poll poll) {
  ActiveSet(job).run(poll);
}

}  // namespace

const ActiveSolver active_solver = {ActiveSet::scratch_size, active_set};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
