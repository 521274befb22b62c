// Sums over rows and the random order of the descents. Like simd.hpp it lives in the namespace of
// the instruction set.
#pragma once

#include "simd.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

template <class T>
SLIMSVM_INLINE T dot(const T* a, const T* b, Index count) {
  Vec<T> first{}, second{};
  Index j = 0;
  for (; j + 2 * lanes<T> <= count; j += 2 * lanes<T>) {
    first = load<T>(a + j) * load<T>(b + j) + first;
    second = load<T>(a + j + lanes<T>) * load<T>(b + j + lanes<T>) + second;
  }
  T total = sum<T>(first + second);
  for (; j < count; ++j) total = a[j] * b[j] + total;
  return total;
}

template <class T>
SLIMSVM_INLINE void add_scaled(T factor, const T* a, T* to, Index count) {
  const Vec<T> factors = broadcast<T>(factor);
  Index j = 0;
  for (; j + lanes<T> <= count; j += lanes<T>)
    store<T>(to + j, load<T>(a + j) * factors + load<T>(to + j));
  for (; j < count; ++j) to[j] = a[j] * factor + to[j];
}

// Dot products of one row with `many` others.
template <int many>
SLIMSVM_INLINE void dots(const double* a, const double* const* rows, Index count, double* to) {
  Vec<double> total[many] = {};
  Index j = 0;
  for (; j + lanes<double> <= count; j += lanes<double>) {
    const Vec<double> here = load<double>(a + j);
    for (int c = 0; c < many; ++c) total[c] = load<double>(rows[c] + j) * here + total[c];
  }
  for (int c = 0; c < many; ++c) {
    double rest = sum<double>(total[c]);
    for (Index tail = j; tail < count; ++tail) rest = rows[c][tail] * a[tail] + rest;
    to[c] = rest;
  }
}

// The same for two rows at a time, padded to whole registers: `to` is (2, many).
template <int many>
SLIMSVM_INLINE void dots_of_two(const double* a, const double* b, const double* const* rows,
                                Index stride, double* to) {
  Vec<double> first[many] = {}, second[many] = {};
  for (Index j = 0; j < stride; j += lanes<double>) {
    const Vec<double> left = load<double>(a + j), right = load<double>(b + j);
    for (int c = 0; c < many; ++c) {
      const Vec<double> here = load<double>(rows[c] + j);
      first[c] = here * left + first[c];
      second[c] = here * right + second[c];
    }
  }
  for (int c = 0; c < many; ++c) {
    to[c] = sum<double>(first[c]);
    to[many + c] = sum<double>(second[c]);
  }
}

// A small generator of our own (splitmix64): the same numbers on every machine.
SLIMSVM_INLINE std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

SLIMSVM_INLINE void shuffle(Index* order, Index count, std::uint64_t& state) {
  for (Index i = count - 1; i > 0; --i) {
    const auto j = static_cast<Index>(next_random(state) % static_cast<std::uint64_t>(i + 1));
    const Index other = order[j];
    order[j] = order[i];
    order[i] = other;
  }
}

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
