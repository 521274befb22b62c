// Rows against the vectors as both were given: neither centred nor scaled nor packed beforehand.
//
// In double precision this is the wide way, for rows where the packed sums would lose digits or
// overflow. Lanes run over the vectors, which are transposed in registers on the way, and a few
// rows share that. A row's sums have one order whatever its neighbours are.
#pragma once

#include "kernels.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

// Rows that take the wide way together.
constexpr int wide_group = 4;

// `count` numbers of type T, at most as many as W has lanes, as W; 0 in the other lanes.
template <class W, class T>
SLIMSVM_INLINE Vec<W> load_as(const T* from, Index count) {
  constexpr Index n = lanes<W>;
  typedef T Part __attribute__((vector_size(n * sizeof(T))));
  Part part{};
  if (count >= n)
    std::memcpy(&part, from, sizeof part);
  else
    std::memcpy(&part, from, static_cast<std::size_t>(count) * sizeof(T));
  return __builtin_convertvector(part, Vec<W>);
}

// Sums over the inputs, in numbers of type W, for R rows and the vectors from `first` on; lanes
// after the last vector repeat the first.
template <class W, class K, int R, class T>
SLIMSVM_INLINE void plain_sums(const Job<T>& job, const T* const (&x)[R], Index first,
                               Vec<W> (&sums)[R]) {
  constexpr Index n = lanes<W>;
  const T* vectors[n];
  for (Index l = 0; l < n; ++l)
    vectors[l] = job.vectors + (first + l < job.m ? first + l : first) * job.d;
  const T* end = job.vectors + job.m * job.d;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sums[r] = Vec<W>{};
  for (Index j = 0; j < job.d; j += n) {
    const Index count = job.d - j < n ? job.d - j : n;
    Vec<W> part[n];
#pragma GCC unroll 16
    for (Index l = 0; l < n; ++l)  // what is read of the next vector is not used
      part[l] = load_as<W>(vectors[l] + j, end - (vectors[l] + j) < n ? count : n);
    transpose<W>(part);
#pragma GCC unroll 16
    for (Index c = 0; c < n; ++c) {
      if (c >= count) break;
      const Vec<W> scale =
          K::scaled ? broadcast<W>(static_cast<W>(job.wide_scale[j + c])) : Vec<W>{};
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const Vec<W> input = broadcast<W>(static_cast<W>(x[r][j + c]));
        if constexpr (sizeof(T) < sizeof(W))  // differences of T cannot overflow W
          sums[r] = K::accumulate_plain(sums[r], input, part[c], scale);
        else
          sums[r] = K::accumulate_bounded(sums[r], input, part[c], scale);
      }
    }
  }
}

template <class T>
SLIMSVM_INLINE bool is_finite(const T* values, Index count) {
  Vec<T> doubt{};  // not-a-number once a value is not finite
  Index i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>) {
    const Vec<T> value = load<T>(values + i);
    doubt += value - value;
  }
  if (i < count) {
    const Vec<T> value = load_first<T>(values + i, count - i);
    doubt += value - value;
  }
  return sum<T>(doubt) == T(0);
}

// Packs, in place of a vector too far away for any near row, one whose kernel value is 0 there.
template <class T, class K>
void pack_far_vector(T* columns, Index stride, Index d, T& norm) {
  for (Index j = 0; j < d; ++j) columns[j * stride] = j == 0 ? K::far_input : T(0);
  norm = static_cast<T>(__builtin_huge_val());
}

// Elements of type T for the sums of the rows that take the wide way together.
template <class T>
Index wide_scratch(const Job<T>& job) {
  const Index doubles = job.coef ? wide_group * job.k : 0;
  return doubles * static_cast<Index>(sizeof(double) / sizeof(T));
}

// Kernel values or outputs of `count` <= R rows, in double precision.
template <class T, class Wide, int R>
void wide_rows_of(const Job<T>& job, const Index* rows, int count, double* sums, Poll poll) {
  constexpr Index n = lanes<double>;
  constexpr Index poll_every = 64 * n;
  const Wide kernel(job);
  const T* x[R];
  for (int r = 0; r < R; ++r) x[r] = job.X + rows[r < count ? r : 0] * job.d;
  if (Wide::scaled && job.not_finite)
    for (int r = 0; r < count; ++r)
      if (!is_finite(x[r], job.d)) report_not_finite(job);
  if (job.coef)
    for (Index i = 0; i < R * job.k; ++i) sums[i] = 0.0;
  Vec<double> total[R] = {};  // of a single output
  for (Index first = 0; first < job.m; first += n) {
    const Index valid = job.m - first < n ? job.m - first : n;
    Vec<double> distances[R];
    plain_sums<double, Wide, R>(job, x, first, distances);
    if (job.coef && job.k == 1) {
      const Vec<double> coef = load_as<double>(job.coef + first, valid);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) total[r] = kernel.value_plain(distances[r]) * coef + total[r];
    }
    for (int r = 0; r < count && !(job.coef && job.k == 1); ++r) {
      double values[n];
      store<double>(values, kernel.value_plain(distances[r]));
      if (!job.coef) {
        T* out = job.out + rows[r] * job.m + first;
        for (Index i = 0; i < valid; ++i) out[i] = static_cast<T>(values[i]);
        continue;
      }
      const T* coef = job.coef + first * job.k;
      double* to = sums + r * job.k;
      for (Index i = 0; i < valid; ++i, coef += job.k)
        for (Index o = 0; o < job.k; ++o) to[o] = values[i] * static_cast<double>(coef[o]) + to[o];
    }
    if ((first + n) % poll_every == 0 && poll(2 * R * poll_every * (job.d + 16))) return;
  }
  if (!job.coef) return;
  for (int r = 0; r < count && job.k == 1; ++r) sums[r] = sum<double>(total[r]);
  for (int r = 0; r < count; ++r)
    for (Index o = 0; o < job.k; ++o)
      job.out[rows[r] * job.k + o] =
          static_cast<T>(sums[r * job.k + o] + static_cast<double>(job.intercept[o]));
}

template <class T, class K>
void wide_rows(const Job<T>& job, const Index* rows, int count, double* sums, Poll poll) {
  using Wide = typename Retyped<K, double>::type;
  if (count == 1)
    wide_rows_of<T, Wide, 1>(job, rows, count, sums, poll);
  else
    wide_rows_of<T, Wide, wide_group>(job, rows, count, sums, poll);
}

// Whether all the rows with these norms are near.
template <class T, class K>
SLIMSVM_INLINE bool all_near(const T* norms, Index count) {
  Mask<T> near = ~Mask<T>{};
  Index i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>) near &= load<T>(norms + i) <= K::near_row;
  if (i < count) near &= load_first<T>(norms + i, count - i) <= K::near_row;
  return sum<T>(near ? Vec<T>{} : broadcast<T>(1)) == T(0);
}

// Takes those rows of a block again that have to take the wide way: rows that are not near for a
// kernel of distances; for the others those that overflowed in single precision.
template <class T, class K>
void redo_rows(const Job<T>& job, Index begin, Index end, const T* norms, double* sums, Poll poll) {
  const Index columns = job.coef ? job.k : job.m;
  if (!job.all_wide) {
    if constexpr (K::scaled) {
      if (all_near<T, K>(norms, end - begin)) return;
    } else {
      if (sizeof(T) == sizeof(double)) return;
      if (is_finite(job.out + begin * columns, (end - begin) * columns)) return;
    }
  }
  Index found[wide_group];
  int count = 0;
  for (Index row = begin; row < end; ++row) {
    bool good = !job.all_wide;
    if constexpr (K::scaled)
      good = good && norms[row - begin] <= K::near_row;
    else
      good = good && is_finite(job.out + row * columns, columns);
    if (!good) found[count++] = row;
    if (count == wide_group || (count > 0 && row + 1 == end)) {
      wide_rows<T, K>(job, found, count, sums, poll);
      if (poll(0)) return;
      count = 0;
    }
  }
}

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
