// Models of few vectors: lanes run over the rows, and each vector is broadcast. Nothing is padded
// to whole registers but the last rows, and no sum over lanes is needed, so two vectors cost a
// quarter of eight.
#pragma once

#include "wide_rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

// Vectors whose sums are held in registers together: enough to hide the latency of multiply-adds.
constexpr Index batch_size = 8;
// Up to one register of vectors this is faster than the tiles of tile.hpp; so it is for up to so
// many vectors and so many numbers of theirs, beyond which the tiles' fewer loads win.
constexpr Index most_few_vectors = 32, most_numbers = 1024;

template <class T>
SLIMSVM_INLINE bool has_few_vectors(const Job<T>& job) {
  if (!job.coef || job.m <= 0) return false;
  return job.m <= lanes<T> || (job.m <= most_few_vectors && job.m * job.d <= most_numbers);
}

// The vectors are split as evenly as can be; `use(first, size)` gets each batch.
class Batches {
 public:
  explicit Batches(Index m)
      : count_((m + batch_size - 1) / batch_size), least_(m / count_), larger_(m % count_) {}

  template <class Use>
  SLIMSVM_INLINE void for_each(Use&& use) const {
    for (Index b = 0, first = 0; b < count_; ++b) {
      const Index size = least_ + (b < larger_);
      use(first, size);
      first += size;
    }
  }

 private:
  Index count_, least_, larger_;
};

// Centres and scales the vectors: batch by batch, input by input.
template <class T, class K>
void pack_few_vectors(const Job<T>& job) {
  Batches(job.m).for_each([&](Index first, Index size) {
    T* columns = job.panels + first * job.d;
    T* norms = job.panel_norms + first;
    T* coef = job.panel_coef + first * job.k;
    for (Index c = 0; c < size; ++c) {
      const T* vector = job.vectors + (first + c) * job.d;
      T norm = T(0);
      for (Index j = 0; j < job.d; ++j) {
        const T v = K::scaled ? (vector[j] - job.centre[j]) * job.scale[j] : vector[j];
        norm = K::norm(norm, v);  // the order of the rows
        columns[j * size + c] = v;
      }
      norms[c] = norm;
      if constexpr (K::scaled)
        if (norm > K::far_vector) pack_far_vector<T, K>(columns + c, size, job.d, norms[c]);
      for (Index o = 0; o < job.k; ++o) coef[o * size + c] = job.coef[(first + c) * job.k + o];
    }
  });
}

// Elements of scratch: rows by inputs, sums of the outputs, and a copy of the last rows.
template <class T>
Index few_vectors_scratch(const Job<T>& job) {
  return lanes<T> * (job.d + job.k + job.d + lanes<T>);
}

// `count` <= columns inputs, from input j on, of as many rows as there are lanes; reads `lanes`
// inputs of each row.
template <class T, class K, int columns>
SLIMSVM_INLINE void take_inputs(const Job<T>& job, const T* source, Index stride, Index j,
                                Index count, T* tile, Vec<T>& norm) {
  Vec<T> part[lanes<T>];
#pragma GCC unroll 16
  for (int r = 0; r < lanes<T>; ++r) part[r] = load<T>(source + r * stride + j);
  transpose<T>(part);
#pragma GCC unroll 16
  for (int c = 0; c < columns; ++c) {
    if (c >= count) break;
    Vec<T> x = part[c];
    if (K::scaled) x = (x - job.centre[j + c]) * job.scale[j + c];
    norm = K::norm(norm, x);
    store<T>(tile + (j + c) * lanes<T>, x);
  }
}

// Puts `lanes` rows side by side, input by input; the norms of the rows.
template <class T, class K>
SLIMSVM_INLINE Vec<T> take_rows(const Job<T>& job, const T* source, Index stride, T* tile) {
  Vec<T> norm{};
  Index j = 0;
  for (; j + lanes<T> <= job.d; j += lanes<T>)
    take_inputs<T, K, lanes<T>>(job, source, stride, j, lanes<T>, tile, norm);
  const Index rest = job.d - j;
  if (rest > lanes<T> / 2)
    take_inputs<T, K, lanes<T>>(job, source, stride, j, rest, tile, norm);
  else if (rest > lanes<T> / 4)
    take_inputs<T, K, lanes<T> / 2>(job, source, stride, j, rest, tile, norm);
  else if (rest > 0)
    take_inputs<T, K, (lanes<T> + 3) / 4>(job, source, stride, j, rest, tile, norm);
  return norm;
}

// Adds `size` vectors, from number `first` on, to the sums of `lanes` rows.
template <class T, class K, int size>
SLIMSVM_INLINE void add_batch(const Job<T>& job, const K& kernel, const T* tile, Vec<T> x_norm,
                              Index first, T* sums) {
  Vec<T> values[size] = {};
  const T* columns = job.panels + first * job.d;
  for (Index j = 0; j < job.d; ++j, columns += size) {
    const Vec<T> x = load<T>(tile + j * lanes<T>);
#pragma GCC unroll 8
    for (int c = 0; c < size; ++c)
      values[c] = K::accumulate(values[c], x, broadcast<T>(columns[c]));
  }
#pragma GCC unroll 8
  for (int c = 0; c < size; ++c)
    values[c] = kernel.value(values[c], x_norm, broadcast<T>(job.panel_norms[first + c]));
  const T* coef = job.panel_coef + first * job.k;
  for (Index o = 0; o < job.k; ++o, coef += size) {
    Vec<T> total = load<T>(sums + o * lanes<T>);
#pragma GCC unroll 8
    for (int c = 0; c < size; ++c) total = fused(values[c], broadcast<T>(coef[c]), total);
    store<T>(sums + o * lanes<T>, total);
  }
}

template <class T, class K>
SLIMSVM_INLINE void add_any_batch(Index size, const Job<T>& job, const K& kernel, const T* tile,
                                  Vec<T> x_norm, Index first, T* sums) {
  switch (size) {
    case 1: return add_batch<T, K, 1>(job, kernel, tile, x_norm, first, sums);
    case 2: return add_batch<T, K, 2>(job, kernel, tile, x_norm, first, sums);
    case 3: return add_batch<T, K, 3>(job, kernel, tile, x_norm, first, sums);
    case 4: return add_batch<T, K, 4>(job, kernel, tile, x_norm, first, sums);
    case 5: return add_batch<T, K, 5>(job, kernel, tile, x_norm, first, sums);
    case 6: return add_batch<T, K, 6>(job, kernel, tile, x_norm, first, sums);
    case 7: return add_batch<T, K, 7>(job, kernel, tile, x_norm, first, sums);
    default: return add_batch<T, K, 8>(job, kernel, tile, x_norm, first, sums);
  }
}

template <class T, class K>
void rows_of_few_vectors(const Job<T>& job, Index begin, Index end, T* norms, T* scratch,
                         Poll poll) {
  const K kernel(job);
  const Batches batches(job.m);
  T* tile = scratch;
  T* sums = tile + lanes<T> * job.d;
  T* copy = sums + lanes<T> * job.k;
  const Index padded = job.d + lanes<T>;
  for (Index row = begin; row < end; row += lanes<T>) {
    const T* source = job.X + row * job.d;
    Index stride = job.d;
    // whole registers are read: at the end of X from a copy, filled up with the first of its rows
    if ((row + lanes<T>)*job.d + lanes<T> > job.n * job.d) {
      for (Index r = 0; r < lanes<T>; ++r) {
        const T* from = row + r < job.n ? source + r * job.d : source;
        for (Index j = 0; j < padded; ++j) copy[r * padded + j] = j < job.d ? from[j] : T(0);
      }
      source = copy;
      stride = padded;
    }
    const Vec<T> x_norm = take_rows<T, K>(job, source, stride, tile);
    store<T>(norms + (row - begin), x_norm);
    for (Index i = 0; i < job.k; ++i) store<T>(sums + i * lanes<T>, Vec<T>{});
    batches.for_each([&](Index first, Index size) SLIMSVM_LAMBDA {
      add_any_batch<T, K>(size, job, kernel, tile, x_norm, first, sums);
    });
    const Index count = end - row < lanes<T> ? end - row : lanes<T>;
    T* out = job.out + row * job.k;
    if (job.k == 1) {
      const Vec<T> total = load<T>(sums) + job.intercept[0];
      if (count == lanes<T>)
        store<T>(out, total);
      else
        std::memcpy(out, &total, static_cast<std::size_t>(count) * sizeof(T));
    } else {
      for (Index r = 0; r < count; ++r)
        for (Index o = 0; o < job.k; ++o)
          out[r * job.k + o] = sums[o * lanes<T> + r] + job.intercept[o];
    }
  }
  poll((end - begin) * job.m * (job.d + 16));
}

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
