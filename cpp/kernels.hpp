// From the sum over the inputs (of products, or of absolute differences) to the kernel value.
#pragma once

#include "core.hpp"
#include "simd.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

// Says that a row is not finite; any thread may.
template <class T>
SLIMSVM_INLINE void report_not_finite(const Job<T>& job) {
  if (job.not_finite) __atomic_store_n(job.not_finite, 1, __ATOMIC_RELAXED);
}

// Each kernel names the term summed over the inputs (`accumulate`, and `accumulate_plain` for two
// vectors that were not centred and scaled beforehand, `accumulate_bounded` where their difference
// may overflow) and the map from that sum to its value.
//
// A kernel of distances (`scaled`) also says how far from the centre its sums of centred inputs
// may be trusted. `norm` is a row's distance from the centre, squared for rbf. A row is near up to
// `near_row`; a vector beyond `far_vector` has the value 0 at every near row, because what lies
// between them is beyond the range of exp, so it is packed as one that gives 0. For a near row and
// any other vector the error of the exponent is at most about eps (near_row + far_vector), with
// eps of rounding 6e-8 or 1e-16: 3e-5 and 6e-13 for rbf, and mostly far less. Rows that are not
// near take the wide way (wide_rows.hpp), which is slower and good everywhere.

template <class T>
struct Reach;

template <>
struct Reach<float> {  // exp vanishes below -87
  static constexpr float squared_row = 64, squared_vector = 400, row = 64, vector = 192;
};

template <>
struct Reach<double> {  // exp vanishes below -708
  static constexpr double squared_row = 1024, squared_vector = 4096, row = 1024, vector = 2048;
};

// |x - v| times a width, by halves: where the difference overflows that of the halves does not, and
// under a width near 0, or of 0, the product is an ordinary number.
template <class T>
SLIMSVM_INLINE Vec<T> scaled_difference(Vec<T> x, Vec<T> v, Vec<T> scale) {
  constexpr T half = static_cast<T>(0.5);
  const Vec<T> part = absolute<T>(half * x - half * v) * scale;
  return part + part;
}

template <class T>
struct Rbf {
  static constexpr bool scaled = true;
  static constexpr T near_row = Reach<T>::squared_row, far_vector = Reach<T>::squared_vector;
  static constexpr T far_input = 0;  // an infinite norm is enough
  template <class Any>
  explicit Rbf(const Job<Any>&) {}
  template <class V>
  static SLIMSVM_INLINE V norm(V sum, V x) {
    return x * x + sum;  // the order of the sums of products: k(x, x) is exact
  }
  static SLIMSVM_INLINE Vec<T> accumulate(Vec<T> sum, Vec<T> x, Vec<T> v) { return x * v + sum; }
  static SLIMSVM_INLINE Vec<T> accumulate_plain(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T> scale) {
    const Vec<T> t = (x - v) * scale;
    return t * t + sum;
  }
  static SLIMSVM_INLINE Vec<T> accumulate_bounded(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T> scale) {
    const Vec<T> t = scaled_difference<T>(x, v, scale);
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
  static constexpr bool scaled = true;
  static constexpr T near_row = Reach<T>::row, far_vector = Reach<T>::vector;
  static constexpr T far_input = static_cast<T>(1e30);
  template <class Any>
  explicit Laplacian(const Job<Any>&) {}
  template <class V>
  static SLIMSVM_INLINE V norm(V sum, V x) {
    return sum + (x < static_cast<T>(0) ? -x : x);
  }
  static SLIMSVM_INLINE Vec<T> accumulate(Vec<T> sum, Vec<T> x, Vec<T> v) {
    return sum + absolute<T>(x - v);
  }
  static SLIMSVM_INLINE Vec<T> accumulate_plain(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T> scale) {
    return absolute<T>(x - v) * scale + sum;
  }
  static SLIMSVM_INLINE Vec<T> accumulate_bounded(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T> scale) {
    return scaled_difference<T>(x, v, scale) + sum;
  }
  SLIMSVM_INLINE Vec<T> value(Vec<T> distance, Vec<T>, Vec<T>) const {
    return value_plain(distance);
  }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> distance) const { return exp_negative<T>(-distance); }
};

template <class T>
struct DotProduct {
  static constexpr bool scaled = false;
  template <class V>
  static SLIMSVM_INLINE V norm(V sum, V) {
    return sum;
  }
  static SLIMSVM_INLINE Vec<T> accumulate(Vec<T> sum, Vec<T> x, Vec<T> v) {
    return fused(x, v, sum);
  }
  static SLIMSVM_INLINE Vec<T> accumulate_plain(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T>) {
    return fused(x, v, sum);
  }
  static SLIMSVM_INLINE Vec<T> accumulate_bounded(Vec<T> sum, Vec<T> x, Vec<T> v, Vec<T>) {
    return fused(x, v, sum);
  }
};

template <class T>
struct Linear : DotProduct<T> {
  template <class Any>
  explicit Linear(const Job<Any>&) {}
  SLIMSVM_INLINE Vec<T> value(Vec<T> dot, Vec<T>, Vec<T>) const { return dot; }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> dot) const { return dot; }
};

template <class T>
struct Polynomial : DotProduct<T> {
  T gamma, coef0;
  int degree;
  template <class Any>
  explicit Polynomial(const Job<Any>& job)
      : gamma(static_cast<T>(job.gamma)), coef0(static_cast<T>(job.coef0)), degree(job.degree) {}
  SLIMSVM_INLINE Vec<T> value(Vec<T> dot, Vec<T>, Vec<T>) const { return value_plain(dot); }
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> dot) const {
    Vec<T> power = fused(dot, broadcast<T>(gamma), broadcast<T>(coef0));
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
  template <class Any>
  explicit Sigmoid(const Job<Any>& job)
      : gamma(static_cast<T>(job.gamma)), coef0(static_cast<T>(job.coef0)) {}
  SLIMSVM_INLINE Vec<T> value(Vec<T> dot, Vec<T>, Vec<T>) const { return value_plain(dot); }
  // a sum that overflowed may have the wrong sign: not-a-number, not 1
  SLIMSVM_INLINE Vec<T> value_plain(Vec<T> dot) const {
    return tanh<T>(fused(dot, broadcast<T>(gamma), broadcast<T>(coef0))) + (dot - dot);
  }
};

// The same kernel for another type of numbers.
template <class K, class To>
struct Retyped;
template <template <class> class K, class From, class To>
struct Retyped<K<From>, To> {
  using type = K<To>;
};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
