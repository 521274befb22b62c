// Vector types and the functions of them the kernels need. The only compiler-specific file: it uses
// the vector extensions that GCC and Clang share. Everything lives in the namespace of the
// instruction set it is compiled for (SLIMSVM_ISA), so that no two sets can share an inline copy.
#pragma once

#include <cstring>
#include <utility>  // types only: no code shared between instruction sets

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core.hpp"

#define SLIMSVM_INLINE inline __attribute__((always_inline))
#define SLIMSVM_LAMBDA __attribute__((always_inline))

namespace slimsvm {
namespace SLIMSVM_ISA {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
constexpr int tile_rows = 8;  // 8 x 3 accumulators + 3 panel vectors + 1 broadcast of 32 registers
constexpr int tile_vectors = 3;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
constexpr int tile_rows = 6;  // 6 x 2 accumulators + 2 panel vectors + 1 broadcast of 16 registers
constexpr int tile_vectors = 2;
#else
constexpr int vector_bytes = 16;
constexpr int tile_rows = 6;
constexpr int tile_vectors = 2;
#endif

template <class T>
struct Lanes;

template <>
struct Lanes<float> {
  using Integer = std::int32_t;
  typedef float Vector __attribute__((vector_size(vector_bytes)));
  typedef Integer Mask __attribute__((vector_size(vector_bytes)));
};

template <>
struct Lanes<double> {
  using Integer = std::int64_t;
  typedef double Vector __attribute__((vector_size(vector_bytes)));
  typedef Integer Mask __attribute__((vector_size(vector_bytes)));
};

template <class T>
using Vec = typename Lanes<T>::Vector;
template <class T>
using Mask = typename Lanes<T>::Mask;
template <class T>
constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
SLIMSVM_INLINE Vec<T> broadcast(T x) {
  return x - Vec<T>{};  // x + {} would add a real +0.0 that compilers may not drop
}

template <class T>
SLIMSVM_INLINE Vec<T> load(const T* from) {
  Vec<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
SLIMSVM_INLINE Vec<T> load_first(const T* from, Index count) {
  Vec<T> v{};
  std::memcpy(&v, from, static_cast<std::size_t>(count) * sizeof(T));
  return v;
}

template <class T>
SLIMSVM_INLINE void store(T* to, Vec<T> v) {
  std::memcpy(to, &v, sizeof v);
}

// Lane i of the result is lane i ^ distance of v.
template <class T, int distance, int... i>
SLIMSVM_INLINE Vec<T> exchange(Vec<T> v, std::integer_sequence<int, i...>) {
#if defined(__clang__)
  return __builtin_shufflevector(v, v, (i ^ distance)...);
#else
  return __builtin_shuffle(v, Mask<T>{(i ^ distance)...});
#endif
}

// Lanes of a and b by number, those of b counted on from those of a.
template <class T, int... i>
SLIMSVM_INLINE Vec<T> pick(Vec<T> a, Vec<T> b, std::integer_sequence<int, i...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, i...);
#else
  return __builtin_shuffle(a, b, Mask<T>{i...});
#endif
}

// One step of `transpose`: exchanges blocks of `distance` lanes between a and b.
template <class T, int distance, int... i>
SLIMSVM_INLINE void exchange_blocks(Vec<T>& a, Vec<T>& b, std::integer_sequence<int, i...>) {
  constexpr int n = lanes<T>;
  using Low = std::integer_sequence<int, (i & distance ? n + (i ^ distance) : i)...>;
  using High = std::integer_sequence<int, (i & distance ? n + i : i + distance)...>;
  const Vec<T> low = pick<T>(a, b, Low{});
  b = pick<T>(a, b, High{});
  a = low;
}

// Transposes a square of registers; what is not used of the result is not computed.
template <class T, int distance = lanes<T> / 2>
SLIMSVM_INLINE void transpose(Vec<T> (&v)[lanes<T>]) {
#pragma GCC unroll 16
  for (int r = 0; r < lanes<T>; ++r)
    if (!(r & distance))
      exchange_blocks<T, distance>(v[r], v[r + distance],
                                   std::make_integer_sequence<int, lanes<T>>{});
  if constexpr (distance > 1) transpose<T, distance / 2>(v);
}

// The sum of the lanes, always in the same order.
template <class T, int distance = lanes<T> / 2>
SLIMSVM_INLINE T sum(Vec<T> v) {
  v += exchange<T, distance>(v, std::make_integer_sequence<int, lanes<T>>{});
  if constexpr (distance > 1)
    return sum<T, distance / 2>(v);
  else
    return v[0];
}

// a * b + c, rounded once wherever the instruction set can. Compilers may contract a * b + c in one
// loop and not in another; sums that must have the same bits in two places use this.
SLIMSVM_INLINE Vec<float> fused(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}

SLIMSVM_INLINE Vec<double> fused(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f64(c, a, b);
#else
  return a * b + c;
#endif
}

template <class T>
SLIMSVM_INLINE Vec<T> absolute(Vec<T> v) {
  using I = typename Lanes<T>::Integer;
  const Mask<T> keep = static_cast<I>(~(I{1} << (8 * sizeof(T) - 1))) - Mask<T>{};
  return reinterpret_cast<Vec<T>>(reinterpret_cast<Mask<T>>(v) & keep);
}

// Constants of exp: 2^k * exp(r), |r| <= ln(2)/2, exp(r) = 1 + r + r^2 q(r) with q interpolated at
// Chebyshev nodes (relative error 1e-8 and 2e-17).
template <class T>
struct Exp;

template <>
struct Exp<float> {
  static constexpr float lowest = -87.0f;      // below: 0
  static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float ln2_high = 0.693359375f;
  static constexpr float ln2_low = -2.12194440e-4f;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float q[] = {0.0013926183587713f, 0.0083631790527226f, 0.0416665546172046f,
                                0.1666657698969878f, 0.5f};
};

template <>
struct Exp<double> {
  static constexpr double lowest = -708.0;
  static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 0.693145751953125;
  static constexpr double ln2_low = 1.42860682030941723212e-6;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double q[] = {2.5100385495510319078e-8,  2.7620088445409748161e-7,
                                 2.7557268459997064772e-6,  0.000024801521295954375131,
                                 0.00019841269863053616878, 0.0013888888917213716901,
                                 0.0083333333333300618325,  0.041666666666624127873,
                                 0.16666666666666667453,    0.50000000000000010221};
};

// exp(x) for x <= 0; not-a-number stays not-a-number.
template <class T>
SLIMSVM_INLINE Vec<T> exp_negative(Vec<T> x) {
  using E = Exp<T>;
  using I = typename Lanes<T>::Integer;
  const Mask<T> vanishes = x < E::lowest;  // what is computed for these lanes is dropped
  const Vec<T> shifted = x * static_cast<T>(1.4426950408889634074) + E::round;
  const Vec<T> k = shifted - E::round;
  Vec<T> r = x - k * E::ln2_high;
  r = r - k * E::ln2_low;
  Vec<T> q = broadcast<T>(E::q[0]);
#pragma GCC unroll 16
  for (std::size_t i = 1; i < sizeof(E::q) / sizeof(T); ++i) q = q * r + E::q[i];
  const Vec<T> fraction = q * (r * r) + r + static_cast<T>(1);
  // the low bits of `shifted` hold the integer k
  const Mask<T> power = (reinterpret_cast<Mask<T>>(shifted) + static_cast<I>(E::bias))
                        << E::mantissa;
  const Vec<T> value = fraction * reinterpret_cast<Vec<T>>(power);
  return vanishes ? Vec<T>{} : value;
}

// tanh: a truncated continued fraction near 0 (error below 1e-17), exponentials elsewhere.
template <class T>
SLIMSVM_INLINE Vec<T> tanh(Vec<T> x) {
  const Vec<T> size = absolute<T>(x);
  const Vec<T> s = x * x;
  const Vec<T> near =
      x *
      (((s * static_cast<T>(36) + static_cast<T>(6930)) * s + static_cast<T>(270270)) * s +
       static_cast<T>(2027025)) /
      ((((s + static_cast<T>(630)) * s + static_cast<T>(51975)) * s + static_cast<T>(945945)) * s +
       static_cast<T>(2027025));
  const Vec<T> e = exp_negative<T>(size * static_cast<T>(-2));
  const Vec<T> far = (static_cast<T>(1) - e) / (static_cast<T>(1) + e);
  const Vec<T> signed_far = x < static_cast<T>(0) ? -far : far;
  return size < static_cast<T>(0.625) ? near : signed_far;
}

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
