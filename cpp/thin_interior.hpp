// Interior point for a box problem with few features, in the namespace of the instruction set:
//
//   1/2 |F x|^2 + 1/2 sum_i ridge_i x_i^2 - target'x,  0 <= x <= upper,  F of shape (r, n).
//
// Mehrotra's predictor and corrector; w = F x holds at every step, so the complementarity is the
// gap. An iteration costs O(n r^2).
#pragma once

#include "rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

SLIMSVM_INLINE double larger(double a, double b) {
  return a > b ? a : b;
}

class ThinInterior {
 public:
  static Index scratch_size(Index n, Index most) { return 16 * n + most * most + 2 * most; }

  ThinInterior(const double* target, const double* upper, Index n, double* scratch)
      : target_(target), upper_(upper), n_(n) {
    double** places[] = {&x,       &room,    &s,    &t,    &slack_, &weight_, &pull_x_, &pull_room_,
                         &pull_s_, &pull_t_, &d_x_, &d_s_, &d_t_,   &first_,  &right_,  &spare_};
    for (double** place : places) {
      *place = scratch;
      scratch += n;
    }
    w_ = scratch;
  }

  void start(const double* F, const double* ridge, Index r) {
    F_ = F;
    ridge_ = ridge;
    r_ = r;
    v_ = w_ + r;
    M_ = v_ + r;
    begin();
  }

  // Iterates until the relative gap is at most tol; false where rounding or the limit came first.
  bool run(double tol, Index max_iterations, Poll poll) {
    for (Index iteration = 0;; ++iteration) {
      if (gap() <= tol) return true;
      if (iteration >= max_iterations || poll(n_ * r_ * (r_ / 2 + 6))) return false;
      if (!step()) return false;
    }
  }

  // Coefficients, their distance to the upper bound, and the multipliers of both bounds.
  double *x, *room, *s, *t;

 private:
  static constexpr double nearest_start = 1e-3;  // to a bound, relative to upper
  static constexpr double share = 0.995;         // of the way to the boundary
  static constexpr double shortest = 1e-8;

  const double* feature(Index a) const { return F_ + a * n_; }

  // to = F values
  void gather(const double* values, double* to) const {
    for (Index a = 0; a < r_; ++a) to[a] = dot(feature(a), values, n_);
  }

  // to -= F' values
  void spread(const double* values, double* to) const {
    for (Index a = 0; a < r_; ++a) add_scaled(-values[a], feature(a), to, n_);
  }

  void set_slack() {
    gather(x, w_);
    for (Index i = 0; i < n_; ++i) slack_[i] = target_[i] - ridge_[i] * x[i];
    spread(w_, slack_);
  }

  void begin() {
    gather(upper_, w_);
    double curvature = dot(w_, w_, r_), size = 0.0;
    for (Index i = 0; i < n_; ++i) curvature += ridge_[i] * upper_[i] * upper_[i];
    double along = curvature > 0.0 ? dot(target_, upper_, n_) / curvature : 0.5;
    along = along > 0.5 ? 0.5 : larger(along, nearest_start);
    for (Index i = 0; i < n_; ++i) {
      x[i] = along * upper_[i];
      room[i] = upper_[i] - x[i];  // kept apart: the difference would lose its digits
    }
    set_slack();
    for (Index i = 0; i < n_; ++i) size += slack_[i] < 0.0 ? -slack_[i] : slack_[i];
    size = larger(1.0, size / static_cast<double>(n_));
    for (Index i = 0; i < n_; ++i) {  // t - s = slack with s t constant: feasible and centred
      t[i] = 0.5 * (slack_[i] + __builtin_sqrt(slack_[i] * slack_[i] + 4.0 * size * size));
      s[i] = t[i] - slack_[i];
    }
  }

  double gap() {
    for (Index i = 0; i < n_; ++i) {
      spare_[i] = slack_[i] > 0.0 ? slack_[i] : 0.0;
      right_[i] = ridge_[i] * x[i];
    }
    const double norm = dot(w_, w_, r_) + dot(right_, x, n_);
    const double primal = 0.5 * norm + dot(upper_, spare_, n_);
    return primal > 0.0 ? (primal - dot(target_, x, n_) + 0.5 * norm) / primal : 0.0;
  }

  // M = I + F diag(weight) F', the lower half, then its Cholesky factor with inverted diagonal.
  bool factorise() {
    for (Index a = 0; a < r_; ++a) {
      double* here = M_ + a * r_;
      const double* own = feature(a);
      for (Index i = 0; i < n_; ++i) spare_[i] = weight_[i] * own[i];
      Index b = 0;
      for (; b + 4 <= a + 1; b += 4) {
        const double* others[] = {feature(b), feature(b + 1), feature(b + 2), feature(b + 3)};
        dots<4>(spare_, others, n_, here + b);
      }
      for (; b <= a; ++b) here[b] = dot(spare_, feature(b), n_);
      for (b = 0; b < a; ++b) {
        const double* other = M_ + b * r_;
        here[b] = (here[b] - dot(here, other, b)) * other[b];
      }
      const double pivot = here[a] + 1.0 - dot(here, here, a);
      if (!(pivot > 0.0)) return false;
      here[a] = 1.0 / __builtin_sqrt(pivot);
    }
    return true;
  }

  // d_x = (F'F + diag(1 / weight))^-1 right, by Woodbury's identity
  void solve(const double* right) {
    for (Index i = 0; i < n_; ++i) spare_[i] = weight_[i] * right[i];
    gather(spare_, v_);
    for (Index a = 0; a < r_; ++a) {
      const double* here = M_ + a * r_;
      v_[a] = (v_[a] - dot(here, v_, a)) * here[a];
    }
    for (Index a = r_ - 1; a >= 0; --a) {
      const double* here = M_ + a * r_;
      v_[a] *= here[a];
      add_scaled(-v_[a], here, v_, a);
    }
    for (Index i = 0; i < n_; ++i) d_x_[i] = right[i];
    spread(v_, d_x_);
    for (Index i = 0; i < n_; ++i) d_x_[i] *= weight_[i];
  }

  // The longest step, up to 1, that keeps all four positive.
  double longest() const {
    Vec<double> most = broadcast<double>(share);
    Index i = 0;
    for (; i + lanes<double> <= n_; i += lanes<double>) {
      const Vec<double> d = load<double>(d_x_ + i);
      const Vec<double> here[] = {-d * load<double>(pull_x_ + i), d * load<double>(pull_room_ + i),
                                  -load<double>(d_s_ + i) * load<double>(pull_s_ + i),
                                  -load<double>(d_t_ + i) * load<double>(pull_t_ + i)};
      for (const Vec<double>& value : here) most = value > most ? value : most;
    }
    double worst = share;
    for (int lane = 0; lane < lanes<double>; ++lane) worst = larger(worst, most[lane]);
    for (; i < n_; ++i) {
      worst = larger(worst, larger(-d_x_[i] * pull_x_[i], d_x_[i] * pull_room_[i]));
      worst = larger(worst, larger(-d_s_[i] * pull_s_[i], -d_t_[i] * pull_t_[i]));
    }
    return share / worst;
  }

  bool step() {
    for (Index i = 0; i < n_; ++i) {
      pull_x_[i] = 1.0 / x[i];
      pull_room_[i] = 1.0 / room[i];
      pull_s_[i] = 1.0 / s[i];
      pull_t_[i] = 1.0 / t[i];
      weight_[i] = 1.0 / (ridge_[i] + s[i] * pull_x_[i] + t[i] * pull_room_[i]);
    }
    if (!factorise()) return false;
    solve(slack_);  // predictor
    for (Index i = 0; i < n_; ++i) {
      d_s_[i] = -s[i] - s[i] * pull_x_[i] * d_x_[i];
      d_t_[i] = -t[i] + t[i] * pull_room_[i] * d_x_[i];
    }
    double size = longest();
    for (Index i = 0; i < n_; ++i) {
      first_[i] = (s[i] + size * d_s_[i]) * (x[i] + size * d_x_[i]) +
                  (t[i] + size * d_t_[i]) * (room[i] - size * d_x_[i]);
      right_[i] = 1.0;
    }
    const double reached = dot(first_, right_, n_), now = dot(s, x, n_) + dot(t, room, n_);
    const double ratio = reached / now;
    const double centre = now / static_cast<double>(2 * n_) * ratio * ratio * ratio;
    for (Index i = 0; i < n_; ++i) {  // corrector
      first_[i] = (centre - d_s_[i] * d_x_[i]) * pull_x_[i];
      d_t_[i] = (centre + d_t_[i] * d_x_[i]) * pull_room_[i];
      right_[i] = first_[i] - d_t_[i] + slack_[i];
    }
    solve(right_);
    for (Index i = 0; i < n_; ++i) {
      d_s_[i] = first_[i] - s[i] - s[i] * pull_x_[i] * d_x_[i];
      d_t_[i] = d_t_[i] - t[i] + t[i] * pull_room_[i] * d_x_[i];
    }
    size = longest();
    if (!(size > shortest)) return false;
    for (Index i = 0; i < n_; ++i) {
      x[i] += size * d_x_[i];
      room[i] -= size * d_x_[i];
      s[i] += size * d_s_[i];
      t[i] += size * d_t_[i];
    }
    set_slack();
    return true;
  }

  const double *target_, *upper_, *F_ = nullptr, *ridge_ = nullptr;
  Index n_, r_ = 0;
  double *slack_, *weight_, *pull_x_, *pull_room_, *pull_s_, *pull_t_;
  double *d_x_, *d_s_, *d_t_, *first_, *right_, *spare_;
  double *w_, *v_ = nullptr, *M_ = nullptr;
};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
