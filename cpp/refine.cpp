// Moving the vectors, for one instruction set (SLIMSVM_ISA); built once per set: L-BFGS over the
// vectors, coefficients, intercept and (if wanted) widths of an RBF expansion, or the linear map
// before it.
#include "refine_objective.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

constexpr double sufficient_decrease = 1e-4, curvature_left = 0.9;  // the Wolfe conditions
constexpr int search_limit = 25;
// Steps in a row that hardly decrease the value, after which the search ends: one may be a bad
// start. Behind a map the best model on all rows is not what is looked for, and one is enough.
constexpr Index idle_limit = 3, idle_limit_map = 1;

// The direction -H g of L-BFGS from the last `count` steps; `newest` is where the last one lies.
void direction(const RefineJob& job, const Workspace& work, Index size, Index count, Index newest) {
  double* step = work.step;
  for (Index j = 0; j < size; ++j) step[j] = -work.g[j];
  if (!count) return;
  for (Index i = 0; i < count; ++i) {
    const Index at = (newest + job.memory - i) % job.memory;
    work.alpha[at] = work.rho[at] * dot(work.S + at * size, step, size);
    add_scaled(-work.alpha[at], work.D + at * size, step, size);
  }
  const double* last = work.D + newest * size;
  const double scale = 1.0 / (work.rho[newest] * dot(last, last, size));
  for (Index j = 0; j < size; ++j) step[j] *= scale;
  for (Index i = count - 1; i >= 0; --i) {
    const Index at = (newest + job.memory - i) % job.memory;
    const double beta = work.rho[at] * dot(work.D + at * size, step, size);
    add_scaled(work.alpha[at] - beta, work.S + at * size, step, size);
  }
}

template <Also also>
void minimise(RefineJob& job, const Layout& at, const Workspace& work, Poll poll) {
  const Index size = at.size;
  double value = evaluate<also>(job, at, work, work.x, work.g, poll);
  job.evaluations = 1;
  Index count = 0, newest = -1, idle = 0;
  for (job.iterations = 0; job.iterations < job.max_iterations; ++job.iterations) {
    direction(job, work, size, count, newest);
    double slope = dot(work.step, work.g, size);
    if (!(slope < 0.0)) {
      if (!count) break;
      count = 0;  // lost in rounding: start again from the gradient
      direction(job, work, size, count, newest);
      slope = dot(work.step, work.g, size);
      if (!(slope < 0.0)) break;
    }
    double length = 1.0;
    if (!count) {
      const double norm = __builtin_sqrt(-slope);
      length = norm > 1.0 ? 1.0 / norm : 1.0;
    }
    // weak Wolfe: shorten while the decrease is too small, lengthen while the slope is too steep
    double low = 0.0, high = __builtin_huge_val(), reached = value;
    bool found = false;
    for (int trial = 0; trial < search_limit; ++trial) {
      for (Index j = 0; j < size; ++j) work.trial[j] = length * work.step[j] + work.x[j];
      reached = evaluate<also>(job, at, work, work.trial, work.trial_g, poll);
      ++job.evaluations;
      if (poll(0)) break;
      if (!(reached <= value + sufficient_decrease * length * slope)) {
        high = length;
        const double parabola =
            -slope * length * length / (2.0 * (reached - value - slope * length));
        const double least = low + 0.1 * (high - low), most = low + 0.5 * (high - low);
        length = low == 0.0 && parabola > least && parabola < most ? parabola : most;
      } else if (dot(work.trial_g, work.step, size) < curvature_left * slope) {
        found = true;  // good enough if the search ends here
        low = length;
        length = high < __builtin_huge_val() ? 0.5 * (low + high) : 2.0 * length;
      } else {
        found = true;
        break;
      }
    }
    if (poll(0)) return;
    if (!(reached <= value + sufficient_decrease * length * slope)) {
      if (!found || low == 0.0) {
        if (!count) break;
        count = 0;  // remembered steps mislead where the curvature changed: from the gradient again
        continue;
      }
      for (Index j = 0; j < size; ++j) work.trial[j] = low * work.step[j] + work.x[j];
      reached = evaluate<also>(job, at, work, work.trial, work.trial_g, poll);
      ++job.evaluations;
    }
    const Index next = (newest + 1) % job.memory;
    double *s = work.S + next * size, *y = work.D + next * size;
    for (Index j = 0; j < size; ++j) {
      s[j] = work.trial[j] - work.x[j];
      y[j] = work.trial_g[j] - work.g[j];
    }
    const double product = dot(s, y, size);
    if (product > 1e-14 * dot(y, y, size)) {
      work.rho[next] = 1.0 / product;
      newest = next;
      count = count < job.memory ? count + 1 : count;
    }
    copy(work.trial, size, work.x);
    copy(work.trial_g, size, work.g);
    const double decrease = value - reached;
    const double scale =
        larger(larger(value < 0 ? -value : value, reached < 0 ? -reached : reached), 1e-300);
    value = reached;
    idle = decrease <= job.tol * scale ? idle + 1 : 0;
    if (idle == (also == Also::map ? idle_limit_map : idle_limit)) {
      ++job.iterations;
      break;
    }
  }
  job.value = value;
}

Index scratch_size(const RefineJob& job) {
  Workspace unused;
  return lay_out(job, nullptr, unused);
}

void run(RefineJob& job, Poll poll) {
  const Layout at(job);
  Workspace work;
  lay_out(job, job.scratch, work);
  const Index n = job.n, d = job.d, m = job.m, k = job.k, mp = at.mp;
  const bool mapped = job.p > 0;
  for (Index c = 0; c < d; ++c) {
    work.root[c] = __builtin_exp(0.5 * job.log_widths[c]);
    work.unit[c] = mapped || !(work.root[c] > 0.0) ? 1.0 : 0.7071067811865475 / work.root[c];
    work.start[c] = job.log_widths[c];
  }
  for (Index i = 0; i < n && !mapped; ++i)
    for (Index c = 0; c < d; ++c) work.Xs[i * d + c] = job.X[i * d + c] * work.root[c];
  fill(work.x, at.size, 0.0);
  if (mapped) {
    fill(work.inputs, n * at.pp, 0.0);
    for (Index i = 0; i < n; ++i) copy(job.X + i * job.p, job.p, work.inputs + i * at.pp);
    const double square = dot(job.map, job.map, d * job.p) / static_cast<double>(d * job.p);
    work.entry = square > 0.0 ? __builtin_sqrt(square) : 1.0;
    for (Index c = 0; c < d; ++c)
      for (Index e = 0; e < job.p; ++e)
        work.x[at.map + c * at.pp + e] = job.map[c * job.p + e] / work.entry;
  }
  for (Index o = 0; o < k; ++o)  // T = L'B
    for (Index j = 0; j < m; ++j)
      add_scaled(job.coef[j * k + o], job.factor + j * m, work.x + o * mp, j + 1);
  copy(job.intercept, k, work.x + at.intercept);
  for (Index c = 0; c < d; ++c)
    for (Index j = 0; j < m; ++j)
      work.x[at.vectors + c * mp + j] = job.vectors[j * d + c] / work.unit[c];
  if (job.widths == Widths::one) work.x[at.widths] = work.start[0];
  if (job.widths == Widths::per_feature) copy(work.start, d, work.x + at.widths);

  if (mapped)
    minimise<Also::map>(job, at, work, poll);
  else if (job.widths == Widths::fixed)
    minimise<Also::nothing>(job, at, work, poll);
  else
    minimise<Also::widths>(job, at, work, poll);

  if (job.eliminate) {
    if (job.widths == Widths::fixed)
      evaluate<Also::nothing>(job, at, work, work.x, work.trial_g, poll);
    else
      evaluate<Also::widths>(job, at, work, work.x, work.trial_g, poll);
    for (Index o = 0; o < k; ++o) {
      for (Index j = 0; j < m; ++j) job.coef[j * k + o] = work.B[o * mp + j];
      job.intercept[o] = work.b[o];
    }
  }
  for (Index o = 0; o < k && !job.eliminate; ++o) {
    double* T = work.x + o * mp;
    for (Index j = m - 1; j >= 0; --j) {
      T[j] /= job.factor[j * m + j];
      add_scaled(-T[j], job.factor + j * m, T, j);
      job.coef[j * k + o] = T[j];
    }
  }
  if (!job.eliminate) copy(work.x + at.intercept, k, job.intercept);
  for (Index c = 0; c < d; ++c)
    for (Index j = 0; j < m; ++j)
      job.vectors[j * d + c] = work.x[at.vectors + c * mp + j] * work.unit[c];
  for (Index c = 0; c < d; ++c)
    for (Index e = 0; e < job.p; ++e)
      job.map[c * job.p + e] = work.entry * work.x[at.map + c * at.pp + e];
  if (job.widths == Widths::one)
    for (Index c = 0; c < d; ++c)
      job.log_widths[c] = work.x[at.widths] + work.start[c] - work.start[0];
  if (job.widths == Widths::per_feature) copy(work.x + at.widths, d, job.log_widths);
}

}  // namespace

const RefineSolver refine_solver = {scratch_size, run};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
