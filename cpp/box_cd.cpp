// Dual coordinate descent for one instruction set (SLIMSVM_ISA); built once per set.
//
// Minimises 1/2 |A' x|^2 + 1/2 sum_i ridge_i x_i^2 - target' x over lower <= x <= upper, one x_i at
// a time, in a random order that depends on the seed alone. Rows that stay at a bound are left out
// until the others have converged (shrinking).
#include "rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

template <class T>
T gradient_at(const BoxJob<T>& job, Index i) {
  return dot(job.A + i * job.m, job.w, job.m) + job.ridge[i] * job.x[i] - job.target[i];
}

// What is left of a gradient where a bound stands in the way.
template <class T>
T projected(const BoxJob<T>& job, Index i, T gradient) {
  return (job.x[i] <= job.lower[i] && gradient > T(0)) ||
                 (job.x[i] >= job.upper[i] && gradient < T(0))
             ? T(0)
             : gradient;
}

// The largest violation at one point. A round sees each entry before the steps that follow, and
// these may change its gradient by much more than they were long where curvatures are far apart.
template <class T>
T violation_of(const BoxJob<T>& job) {
  T most = T(0);
  for (Index i = 0; i < job.n; ++i) {
    const T left = projected(job, i, gradient_at(job, i)), size = left < T(0) ? -left : left;
    most = size > most ? size : most;
  }
  return most;
}

template <class T>
void box_cd(BoxJob<T>& job, Poll poll) {
  const T infinity = static_cast<T>(__builtin_huge_val());
  for (Index j = 0; j < job.m; ++j) job.w[j] = T(0);
  for (Index i = 0; i < job.n; ++i) {
    const T* row = job.A + i * job.m;
    job.curvature[i] = dot(row, row, job.m) + job.ridge[i];
    job.order[i] = i;
    if (job.x[i] != T(0)) add_scaled(job.x[i], row, job.w, job.m);
  }
  std::uint64_t random = job.seed;
  Index active = job.n;
  T shrink_above = infinity, shrink_below = -infinity;
  for (job.epochs = 0; job.epochs < job.max_epochs;) {
    ++job.epochs;
    T highest = -infinity, lowest = infinity;
    shuffle(job.order, active, random);
    for (Index position = 0; position < active;) {
      const Index i = job.order[position];
      const T* row = job.A + i * job.m;
      const T gradient = gradient_at(job, i);
      const bool at_lower = job.x[i] <= job.lower[i], at_upper = job.x[i] >= job.upper[i];
      // a row that wants to go beyond its bound, by more than the last round's violation, rests
      if ((at_lower && gradient > shrink_above) || (at_upper && gradient < shrink_below)) {
        --active;
        job.order[position] = job.order[active];
        job.order[active] = i;
        continue;
      }
      ++position;
      const T left = projected(job, i, gradient);
      highest = left > highest ? left : highest;
      lowest = left < lowest ? left : lowest;
      if (left == T(0) || !(job.curvature[i] > T(0))) continue;
      T moved = job.x[i] - gradient / job.curvature[i];
      moved = moved < job.lower[i] ? job.lower[i] : moved > job.upper[i] ? job.upper[i] : moved;
      if (moved == job.x[i]) continue;
      add_scaled(moved - job.x[i], row, job.w, job.m);
      job.x[i] = moved;
    }
    if (poll(2 * (active + 1) * job.m)) return;
    const T size = highest > -lowest ? highest : -lowest;
    job.violation = active ? (size > T(0) ? size : T(0)) : T(0);
    if (job.violation <= job.tol) {
      if (active == job.n) {
        job.violation = violation_of(job);
        if (job.violation <= job.tol || poll(job.n * job.m)) return;
      }
      active = job.n;  // look at the resting rows again
      shrink_above = infinity;
      shrink_below = -infinity;
    } else {
      shrink_above = highest > T(0) ? highest : infinity;
      shrink_below = lowest < T(0) ? lowest : -infinity;
    }
  }
}

}  // namespace

const BoxSolvers box_solvers = {box_cd<float>, box_cd<double>};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
