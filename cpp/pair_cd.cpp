// Pairwise coordinate descent for one instruction set (SLIMSVM_ISA); built once per set.
//
// Minimises 1/2 x'Gx - target'x over lower <= x <= upper with the sum of x kept as it is: two
// entries move at a time, the most violating one and the partner that lowers the objective most
// (sequential minimal optimisation with second-order choice). All in one precision: libsvm keeps G
// in single.
#include "simd.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

template <class T>
void pair_cd(PairJob<T>& job, Poll poll) {
  const T infinity = static_cast<T>(__builtin_huge_val());
  const Index n = job.n;
  T* gradient = job.gradient;
  for (Index i = 0; i < n; ++i) gradient[i] = -job.target[i];
  for (Index j = 0; j < n; ++j) {
    const T x = job.x[j];
    if (x == T(0)) continue;
    const T* column = job.G + j * n;
    for (Index i = 0; i < n; ++i) gradient[i] = column[i] * x + gradient[i];
  }
  for (job.iterations = 0;; ++job.iterations) {
    Index up = -1;
    T highest = -infinity, lowest = infinity;
    for (Index i = 0; i < n; ++i)
      if (job.x[i] < job.upper[i] && -gradient[i] > highest) {
        highest = -gradient[i];
        up = i;
      }
    if (up < 0) {
      job.violation = T(0);
      return;
    }
    const T* rise = job.G + up * n;
    Index down = -1;
    T best = T(0);
    for (Index j = 0; j < n; ++j) {
      if (!(job.x[j] > job.lower[j])) continue;
      const T fall = highest + gradient[j];
      lowest = -gradient[j] < lowest ? -gradient[j] : lowest;
      if (!(fall > T(0))) continue;
      const T curvature = rise[up] + job.G[j * n + j] - T(2) * rise[j];
      const T gain = fall * fall / (curvature > job.tiny ? curvature : job.tiny);
      if (gain > best) {
        best = gain;
        down = j;
      }
    }
    job.violation = down < 0 ? T(0) : highest - lowest;
    if (job.violation <= job.tol || job.iterations >= job.max_iterations) return;
    const T* sink = job.G + down * n;
    const T curvature = rise[up] + sink[down] - T(2) * rise[down];
    T step = (highest + gradient[down]) / (curvature > job.tiny ? curvature : job.tiny);
    const T room_up = job.upper[up] - job.x[up], room_down = job.x[down] - job.lower[down];
    const bool fills_up = room_up <= step && room_up <= room_down;
    const bool fills_down = !fills_up && room_down <= step;
    step = fills_up ? room_up : fills_down ? room_down : step;
    job.x[up] = fills_up ? job.upper[up] : job.x[up] + step;
    job.x[down] = fills_down ? job.lower[down] : job.x[down] - step;
    for (Index i = 0; i < n; ++i) gradient[i] = step * (rise[i] - sink[i]) + gradient[i];
    if (poll(4 * n)) return;
  }
}

}  // namespace

const PairSolvers pair_solvers = {pair_cd<float>, pair_cd<double>};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
