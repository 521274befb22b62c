// From the sum over the inputs (of products, or of absolute differences) to the kernel value.
#pragma once

#include "core.hpp"
#include "simd.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

// Says that a row is not finite, or too large for its square to be; any thread may.
template <class T>
SLIMSVM_INLINE void report_not_finite(const Job<T>& job) {
  if (job.not_finite) __atomic_store_n(job.not_finite, 1, __ATOMIC_RELAXED);
}

// Each kernel names the term summed over the inputs (`accumulate`, and `accumulate_plain` for two
// vectors that were not centred and scaled beforehand) and the map from that sum to its value.

template <class T>
struct Rbf {
  static constexpr bool needs_norms = true, scaled = true;
  explicit Rbf(const Job<T>&) {}
  static SLIMSVM_INLINE Vec<T> accumulate(Vec<T> sum, Vec<T> x, Vec<T> v) { return x * v + sum; }
  static SLIMSVM_INLINE Vec<T> accumulate_plain(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T> scale) {
    const Vec<T> t = (x - v) * scale;
    return t * t + sum;
  }
  // |x - v|^2 by the norms; rounding may leave it slightly negative
  SLIMSVM_INLINE Vec<T> value(Vec<T> dot, Vec<T> x_norm, Vec<T> v_norm) const {
    return from_negative(static_cast<T>(2) * dot - (x_norm + v_norm));
  }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> distance) const { return from_negative(-distance); }
  static SLIMSVM_INLINE Vec<T> from_negative(Vec<T> x) {
    return exp_negative<T>(x > static_cast<T>(0) ? Vec<T>{} : x);
  }
};

template <class T>
struct Laplacian {
  static constexpr bool needs_norms = false, scaled = true;
  explicit Laplacian(const Job<T>&) {}
  static SLIMSVM_INLINE Vec<T> accumulate(Vec<T> sum, Vec<T> x, Vec<T> v) {
    return sum + absolute<T>(x - v);
  }
  static SLIMSVM_INLINE Vec<T> accumulate_plain(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T> scale) {
    return absolute<T>(x - v) * scale + sum;
  }
  SLIMSVM_INLINE Vec<T> value(Vec<T> distance, Vec<T>, Vec<T>) const {
    return value_plain(distance);
  }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> distance) const { return exp_negative<T>(-distance); }
};

template <class T>
struct DotProduct {
  static constexpr bool needs_norms = false, scaled = false;
  static SLIMSVM_INLINE Vec<T> accumulate(Vec<T> sum, Vec<T> x, Vec<T> v) { return x * v + sum; }
  static SLIMSVM_INLINE Vec<T> accumulate_plain(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T>) {
    return x * v + sum;
  }
};

template <class T>
struct Linear : DotProduct<T> {
  explicit Linear(const Job<T>&) {}
  SLIMSVM_INLINE Vec<T> value(Vec<T> dot, Vec<T>, Vec<T>) const { return dot; }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> dot) const { return dot; }
};

template <class T>
struct Polynomial : DotProduct<T> {
  T gamma, coef0;
  int degree;
  explicit Polynomial(const Job<T>& job) : gamma(job.gamma), coef0(job.coef0), degree(job.degree) {}
  SLIMSVM_INLINE Vec<T> value(Vec<T> dot, Vec<T>, Vec<T>) const { return value_plain(dot); }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> dot) const {
    Vec<T> power = dot * gamma + coef0;
    Vec<T> result = broadcast<T>(1);
    for (int rest = degree; rest > 0; rest >>= 1) {
      if (rest & 1) result = result * power;
      if (rest > 1) power = power * power;
    }
    return result;
  }
};

template <class T>
struct Sigmoid : DotProduct<T> {
  T gamma, coef0;
  explicit Sigmoid(const Job<T>& job) : gamma(job.gamma), coef0(job.coef0) {}
  SLIMSVM_INLINE Vec<T> value(Vec<T> dot, Vec<T>, Vec<T>) const { return value_plain(dot); }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> dot) const { return tanh<T>(dot * gamma + coef0); }
};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
