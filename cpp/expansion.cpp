// expansion() and gram() for one instruction set (SLIMSVM_ISA); built once per set.
#include "row_lanes.hpp"
#include "tile.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {
namespace {

constexpr Index max_block_rows = 16 * tile_rows;
constexpr Index min_block_rows = tile_rows;
// A block of rows stays in the second-level cache beside one panel.
constexpr Index block_bytes = 384 * 1024;

template <class T>
Index block_size(Index d) {
  const Index fitting = block_bytes / (static_cast<Index>(sizeof(T)) * (d > 0 ? d : 1));
  const Index rows = fitting / tile_rows * tile_rows;
  return rows > max_block_rows ? max_block_rows : rows < min_block_rows ? min_block_rows : rows;
}

// Rows, their norms, and one vector of partial sums for each row and output.
template <class T>
Index scratch_size(const Job<T>& job) {
  if (has_few_vectors(job)) return few_vectors_scratch(job);
  const Index rows = block_size<T>(job.d);
  const Index sums = job.coef ? rows * job.k * lanes<T> : 0;
  return rows * job.d + rows + sums + 3 * lanes<T>;
}

template <class T>
void pack(const Job<T>& job, Index p) {
  if (has_few_vectors(job)) {
    if (p == 0) pack_few_vectors(job);
    return;
  }
  const Panel<T> panel = panel_at(job, p);
  const Index width = panel.vectors * lanes<T>;
  T* columns = const_cast<T*>(panel.columns);
  T* norms = const_cast<T*>(panel.norms);
  for (Index c = 0; c < width; ++c) {
    const bool real = panel.first + c < job.m;
    const T* vector = job.vectors + (panel.first + c) * job.d;
    for (Index j = 0; j < job.d; ++j) columns[j * width + c] = real ? vector[j] : T(0);
  }
  for (Index c = 0; c < width; ++c) norms[c] = T(0);
  for (Index j = 0; j < job.d; ++j) {
    T* column = columns + j * width;
    const T centre = job.centre ? job.centre[j] : T(0);
    const T scale = job.scale ? job.scale[j] : T(1);
    for (Index c = 0; c < width; ++c) {
      column[c] = (column[c] - centre) * scale;
      norms[c] = column[c] * column[c] + norms[c];  // the order of the tile: k(x, x) is exact
    }
  }
  if (!job.coef) return;
  T* coef = const_cast<T*>(panel.coef);
  for (Index o = 0; o < job.k; ++o)
    for (Index c = 0; c < width; ++c)
      coef[o * width + c] =
          panel.first + c < job.m ? job.coef[(panel.first + c) * job.k + o] : T(0);
}

// Interleaves `count` rows, tile by tile; rows that fill up the last tile repeat its first row.
template <class T>
void interleave(const Job<T>& job, Index begin, Index count, T* rows, T* norms) {
  for (Index start = 0; start < count; start += tile_rows) {
    T* tile = rows + start * job.d;
    const T* source[tile_rows];
    for (int r = 0; r < tile_rows; ++r)
      source[r] = job.X + (begin + (start + r < count ? start + r : start)) * job.d;
    T squares[tile_rows] = {};
    for (Index j = 0; j < job.d; ++j) {
      T* to = tile + j * tile_rows;
      T x[tile_rows];
#pragma GCC unroll 8
      for (int r = 0; r < tile_rows; ++r) x[r] = source[r][j];
      if (job.scale) {
        const T centre = job.centre[j], scale = job.scale[j];
        for (int r = 0; r < tile_rows; ++r) x[r] = (x[r] - centre) * scale;
        for (int r = 0; r < tile_rows; ++r) squares[r] = x[r] * x[r] + squares[r];
      }
      std::memcpy(to, x, sizeof x);
    }
    for (int r = 0; r < tile_rows; ++r) norms[start + r] = squares[r];
  }
}

template <class T>
bool is_finite(const T* values, Index count) {
  T doubt = T(0);  // not-a-number once a value is not finite
  for (Index i = 0; i < count; ++i) doubt += values[i] - values[i];
  return doubt == T(0);
}

// Stores kernel values: the epilogue of gram.
template <class T, class K, int V>
void store_tile(const Job<T>& job, const K& kernel, const T* rows, const T* norms,
                const Panel<T>& panel, Index row, Index count) {
  const Index valid = job.m - panel.first;
  T* out = job.out + row * job.m + panel.first;
  tile<T, K, V>(kernel, rows, norms, panel, job.d, [&](int r, int v, Vec<T> value) SLIMSVM_LAMBDA {
    if (r >= count) return;
    T* to = out + r * job.m + v * lanes<T>;
    const Index left = valid - v * lanes<T>;
    if (left >= lanes<T>)
      store<T>(to, value);
    else if (left > 0)
      std::memcpy(to, &value, static_cast<std::size_t>(left) * sizeof(T));
  });
}

// Weighs kernel values and adds them to the partial sums: the epilogue of expansion.
template <class T, class K, int V>
void weigh_tile(const Job<T>& job, const K& kernel, const T* rows, const T* norms,
                const Panel<T>& panel, T* sums) {
  constexpr Index width = V * lanes<T>;
  if (job.k == 1) {
    Vec<T> total[tile_rows];
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) total[r] = load<T>(sums + r * lanes<T>);
    tile<T, K, V>(kernel, rows, norms, panel, job.d,
                  [&](int r, int v, Vec<T> value) SLIMSVM_LAMBDA {
                    total[r] = value * load<T>(panel.coef + v * lanes<T>) + total[r];
                  });
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) store<T>(sums + r * lanes<T>, total[r]);
    return;
  }
  Vec<T> values[tile_rows][V];
  tile<T, K, V>(kernel, rows, norms, panel, job.d,
                [&](int r, int v, Vec<T> value) SLIMSVM_LAMBDA { values[r][v] = value; });
  for (Index o = 0; o < job.k; ++o) {
    Vec<T> coef[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) coef[v] = load<T>(panel.coef + o * width + v * lanes<T>);
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) {
      T* to = sums + (r * job.k + o) * lanes<T>;
      Vec<T> total = load<T>(to);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) total = values[r][v] * coef[v] + total;
      store<T>(to, total);
    }
  }
}

template <class T, class K, int V>
void block_panel(const Job<T>& job, const K& kernel, const Panel<T>& panel, Index row, Index count,
                 const T* rows, const T* norms, T* sums) {
  for (Index start = 0; start < count; start += tile_rows) {
    const T* tile_start = rows + start * job.d;
    if (job.coef)
      weigh_tile<T, K, V>(job, kernel, tile_start, norms + start, panel,
                          sums + start * job.k * lanes<T>);
    else
      store_tile<T, K, V>(job, kernel, tile_start, norms + start, panel, row + start,
                          count - start);
  }
}

template <class T, class K>
void rows_of(const Job<T>& job, Index begin, Index end, T* scratch, Poll poll) {
  if (has_few_vectors(job)) return rows_of_few_vectors<T, K>(job, begin, end, scratch, poll);
  const K kernel(job);
  const Index size = block_size<T>(job.d);
  T* rows = scratch;
  T* norms = rows + size * job.d;
  T* sums = norms + size;
  const Index panel_count = (job.m + panel_width<T> - 1) / panel_width<T>;
  for (Index row = begin; row < end; row += size) {
    const Index count = end - row < size ? end - row : size;
    interleave(job, row, count, rows, norms);
    if (K::needs_norms && !is_finite(norms, count)) report_not_finite(job);
    if (job.coef)
      std::memset(sums, 0, static_cast<std::size_t>(size * job.k * lanes<T>) * sizeof(T));
    for (Index p = 0; p < panel_count; ++p) {
      const Panel<T> panel = panel_at(job, p);
      if (panel.vectors == 1)
        block_panel<T, K, 1>(job, kernel, panel, row, count, rows, norms, sums);
      else if (panel.vectors == 2 || tile_vectors == 2)
        block_panel<T, K, 2>(job, kernel, panel, row, count, rows, norms, sums);
      else
        block_panel<T, K, tile_vectors>(job, kernel, panel, row, count, rows, norms, sums);
      if (poll(count * panel_width<T> * (job.d + 16))) return;
    }
    if (!job.coef) continue;
    for (Index r = 0; r < count; ++r)
      for (Index o = 0; o < job.k; ++o)
        job.out[(row + r) * job.k + o] =
            sum<T>(load<T>(sums + (r * job.k + o) * lanes<T>)) + job.intercept[o];
  }
}

// One row without packing: lanes run over the inputs, then over the vectors.
template <class T, class K>
void few_of(const Job<T>& job, Index row, T* scratch, Poll poll) {
  const K kernel(job);
  const T* x = job.X + row * job.d;
  const Index whole = job.d / lanes<T> * lanes<T>, rest = job.d - whole;
  const Vec<T> x_rest = load_first<T>(x + whole, rest);
  const Vec<T> scale_rest = job.scale ? load_first<T>(job.scale + whole, rest) : Vec<T>{};
  constexpr Index poll_every = 1024;
  for (Index i = 0; i < job.m; ++i) {
    const T* vector = job.vectors + i * job.d;
    Vec<T> total{}, other{};
    Index j = 0;
    for (; j + 2 * lanes<T> <= whole; j += 2 * lanes<T>) {
      const Vec<T> scale = job.scale ? load<T>(job.scale + j) : Vec<T>{};
      const Vec<T> next = job.scale ? load<T>(job.scale + j + lanes<T>) : Vec<T>{};
      total = K::accumulate_plain(total, load<T>(x + j), load<T>(vector + j), scale);
      other = K::accumulate_plain(other, load<T>(x + j + lanes<T>), load<T>(vector + j + lanes<T>),
                                  next);
    }
    if (j < whole)
      total = K::accumulate_plain(total, load<T>(x + j), load<T>(vector + j),
                                  job.scale ? load<T>(job.scale + j) : Vec<T>{});
    if (rest)
      other = K::accumulate_plain(other, x_rest, load_first<T>(vector + whole, rest), scale_rest);
    scratch[i] = sum<T>(total + other);
    if (i % poll_every == poll_every - 1 && poll(poll_every * job.d)) return;
  }
  if (K::needs_norms && !is_finite(scratch, job.m)) report_not_finite(job);
  for (Index i = 0; i < job.m; i += lanes<T>)
    store<T>(scratch + i, kernel.value_plain(load<T>(scratch + i)));
  if (!job.coef) {
    std::memcpy(job.out + row * job.m, scratch, static_cast<std::size_t>(job.m) * sizeof(T));
    return;
  }
  T* out = job.out + row * job.k;
  if (job.k == 1) {
    Vec<T> total{};
    Index i = 0;
    for (; i + lanes<T> <= job.m; i += lanes<T>)
      total = load<T>(scratch + i) * load<T>(job.coef + i) + total;
    if (i < job.m)  // scratch is padded with values of padding, so the coefficients must be 0
      total =
          load_first<T>(scratch + i, job.m - i) * load_first<T>(job.coef + i, job.m - i) + total;
    out[0] = sum<T>(total) + job.intercept[0];
    return;
  }
  for (Index o = 0; o < job.k; ++o) out[o] = T(0);
  for (Index i = 0; i < job.m; ++i)
    for (Index o = 0; o < job.k; ++o) out[o] = scratch[i] * job.coef[i * job.k + o] + out[o];
  for (Index o = 0; o < job.k; ++o) out[o] += job.intercept[o];
}

template <class T>
void rows(const Job<T>& job, Index begin, Index end, T* scratch, Poll poll) {
  switch (job.kind) {
    case Kind::rbf: return rows_of<T, Rbf<T>>(job, begin, end, scratch, poll);
    case Kind::linear: return rows_of<T, Linear<T>>(job, begin, end, scratch, poll);
    case Kind::polynomial: return rows_of<T, Polynomial<T>>(job, begin, end, scratch, poll);
    case Kind::sigmoid: return rows_of<T, Sigmoid<T>>(job, begin, end, scratch, poll);
    case Kind::laplacian: return rows_of<T, Laplacian<T>>(job, begin, end, scratch, poll);
  }
}

template <class T>
void few(const Job<T>& job, Index row, T* scratch, Poll poll) {
  switch (job.kind) {
    case Kind::rbf: return few_of<T, Rbf<T>>(job, row, scratch, poll);
    case Kind::linear: return few_of<T, Linear<T>>(job, row, scratch, poll);
    case Kind::polynomial: return few_of<T, Polynomial<T>>(job, row, scratch, poll);
    case Kind::sigmoid: return few_of<T, Sigmoid<T>>(job, row, scratch, poll);
    case Kind::laplacian: return few_of<T, Laplacian<T>>(job, row, scratch, poll);
  }
}

template <class T>
constexpr Table<T> table() {
  // Packing costs about as much as a few unpacked rows.
  return {8, panel_width<T>, lanes<T>, block_size<T>, scratch_size<T>, pack<T>, rows<T>, few<T>};
}

#define SLIMSVM_TEXT_(name) #name
#define SLIMSVM_TEXT(name) SLIMSVM_TEXT_(name)

}  // namespace

const InstructionSet instruction_set = {SLIMSVM_TEXT(SLIMSVM_ISA),
                                        table<float>(),
                                        table<double>(),
                                        &box_solvers,
                                        &pair_solvers,
                                        &refine_solver,
                                        &hinge_solver};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
