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

// The first position of the largest of n values, or -1 if all are -infinity.
template <class T>
SLIMSVM_INLINE Index first_largest(const T* values, Index n, T& largest) {
  const T infinity = static_cast<T>(__builtin_huge_val());
  Vec<T> best = broadcast<T>(-infinity);
  Index i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) {
    const Vec<T> here = load<T>(values + i);
    best = here > best ? here : best;
  }
  largest = -infinity;
  for (int lane = 0; lane < lanes<T>; ++lane) largest = best[lane] > largest ? best[lane] : largest;
  for (; i < n; ++i) largest = values[i] > largest ? values[i] : largest;
  if (!(largest > -infinity)) return -1;
  for (Index first = 0; first < n; ++first)
    if (values[first] == largest) return first;
  return -1;
}

template <class T>
void pair_cd(PairJob<T>& job, Poll poll) {
  const T infinity = static_cast<T>(__builtin_huge_val());
  const Index n = job.n;
  T *gradient = job.gradient, *diagonal = job.diagonal, *gain = job.gain;
  for (Index i = 0; i < n; ++i) {
    gradient[i] = -job.target[i];
    diagonal[i] = job.G[i * n + i];
  }
  for (Index j = 0; j < n; ++j) {
    const T x = job.x[j];
    if (x == T(0)) continue;
    const T* column = job.G + j * n;
    for (Index i = 0; i < n; ++i) gradient[i] = column[i] * x + gradient[i];
  }
  for (job.iterations = 0;; ++job.iterations) {
    T highest, lowest = infinity, best = T(0);
    for (Index i = 0; i < n; ++i) gain[i] = job.x[i] < job.upper[i] ? -gradient[i] : -infinity;
    const Index up = first_largest(gain, n, highest);
    job.violation = T(0);
    if (up < 0) return;
    const T* rise = job.G + up * n;
    const T own = diagonal[up];
    for (Index j = 0; j < n; ++j) {
      const T down_gradient = job.x[j] > job.lower[j] ? gradient[j] : -infinity;
      const T fall = highest + down_gradient;
      lowest = -down_gradient < lowest ? -down_gradient : lowest;
      T curvature = own + diagonal[j] - T(2) * rise[j];
      curvature = curvature > job.tiny ? curvature : job.tiny;
      gain[j] = fall > T(0) ? fall * fall / curvature : T(0);
    }
    const Index down = first_largest(gain, n, best);
    job.violation = best > T(0) ? highest - lowest : T(0);
    if (job.violation <= job.tol || job.iterations >= job.max_iterations) return;
    const T* sink = job.G + down * n;
    const T curvature = own + diagonal[down] - T(2) * rise[down];
    T step = (highest + gradient[down]) / (curvature > job.tiny ? curvature : job.tiny);
    const T room_up = job.upper[up] - job.x[up], room_down = job.x[down] - job.lower[down];
    const bool fills_up = room_up <= step && room_up <= room_down;
    const bool fills_down = !fills_up && room_down <= step;
    step = fills_up ? room_up : fills_down ? room_down : step;
    // where both fill but for rounding, one of them would be a last digit beyond its bound
    const T risen = job.x[up] + step, fallen = job.x[down] - step;
    job.x[up] = fills_up || risen > job.upper[up] ? job.upper[up] : risen;
    job.x[down] = fills_down || fallen < job.lower[down] ? job.lower[down] : fallen;
    for (Index i = 0; i < n; ++i) gradient[i] = step * (rise[i] - sink[i]) + gradient[i];
    if (poll(4 * n)) return;
  }
}

}  // namespace

const PairSolvers pair_solvers = {pair_cd<float>, pair_cd<double>};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
