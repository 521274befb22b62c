// expansion() and gram() for one instruction set (SLIMSVM_ISA); built once per set.
#include "row_lanes.hpp"
#include "tile.hpp"
#include "wide_rows.hpp"

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

// A block's rows, their norms, one vector of partial sums for each row and output, and what the
// wide way needs.
template <class T>
struct Scratch {
  Index size;
  double* wide;
  T *norms, *rest;  // norms of a block, up to a whole register; rows and sums
  explicit Scratch(const Job<T>& job, T* memory = nullptr) {
    const Index rows = block_size<T>(job.d), room = rows + lanes<T>;
    const Index sums = job.coef ? rows * job.k * lanes<T> : 0;
    const Index norms_at = wide_scratch(job), rest_at = norms_at + room;
    size = rest_at +
           (has_few_vectors(job) ? few_vectors_scratch(job) : rows * job.d + sums + 3 * lanes<T>);
    wide = reinterpret_cast<double*>(memory);
    norms = memory ? memory + norms_at : nullptr;
    rest = memory ? memory + rest_at : nullptr;
  }
};

template <class T>
Index scratch_size(const Job<T>& job) {
  return Scratch<T>(job).size;
}

// The middle one of three, lane by lane.
template <class T>
SLIMSVM_INLINE Vec<T> median(const Vec<T>* v) {
  const Vec<T> low = v[0] < v[1] ? v[0] : v[1], high = v[0] < v[1] ? v[1] : v[0];
  const Vec<T> upper = high < v[2] ? high : v[2];
  return low > upper ? low : upper;
}

// Vectors the centre is taken from: a median of medians of medians of three, which is far off with
// one chance in twenty-five when three tenths of the vectors are far away. Rows far from the
// centre are then many, and slow, but not wrong.
constexpr Index sampled = 27;

// Where most of the vectors lie, input by input. Near this centre |x|^2 + |v|^2 - 2xv is accurate;
// a mean would be drawn away from all the vectors by a single one far from the others.
template <class T>
void centre(const Job<T>& job, T* to) {
  const T* end = job.vectors + job.m * job.d;
  for (Index j = 0; j < job.d && job.m > 0; j += lanes<T>) {
    const Index count = job.d - j < lanes<T> ? job.d - j : lanes<T>;
    Vec<T> v[sampled];
    for (Index i = 0; i < sampled; ++i) {
      const T* from = job.vectors + i * job.m / sampled * job.d + j;
      v[i] = load_as<T>(from, end - from < lanes<T> ? count : lanes<T>);  // the rest is not used
    }
    for (Index left = sampled / 3; left > 0; left /= 3)
      for (Index i = 0; i < left; ++i) v[i] = median<T>(v + 3 * i);
    std::memcpy(to + j, v, static_cast<std::size_t>(count) * sizeof(T));
  }
  // an input that does not count: its distance to the centre may overflow, and 0 times that is no 0
  for (Index j = 0; j < job.d; ++j)
    if (job.scale[j] == T(0)) to[j] = T(0);
}

template <class T, class K>
void pack_of(const Job<T>& job, Index p) {
  if (has_few_vectors(job)) {
    if (p == 0) pack_few_vectors<T, K>(job);
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
  if constexpr (K::scaled) {
    for (Index c = 0; c < width; ++c) norms[c] = T(0);
    for (Index j = 0; j < job.d; ++j) {
      T* column = columns + j * width;
      const T centre = job.centre[j], scale = job.scale[j];
      for (Index c = 0; c < width; ++c) {
        column[c] = (column[c] - centre) * scale;
        norms[c] = K::norm(norms[c], column[c]);  // the order of the rows
      }
    }
    for (Index c = 0; c < width; ++c)
      if (norms[c] > K::far_vector) pack_far_vector<T, K>(columns + c, width, job.d, norms[c]);
  }
  if (!job.coef) return;
  T* coef = const_cast<T*>(panel.coef);
  for (Index o = 0; o < job.k; ++o)
    for (Index c = 0; c < width; ++c)
      coef[o * width + c] =
          panel.first + c < job.m ? job.coef[(panel.first + c) * job.k + o] : T(0);
}

// Interleaves `count` rows, tile by tile; rows that fill up the last tile repeat its first row.
template <class T, class K>
void interleave(const Job<T>& job, Index begin, Index count, T* rows, T* norms) {
  for (Index start = 0; start < count; start += tile_rows) {
    T* tile = rows + start * job.d;
    const T* source[tile_rows];
    for (int r = 0; r < tile_rows; ++r)
      source[r] = job.X + (begin + (start + r < count ? start + r : start)) * job.d;
    T norm[tile_rows] = {};
    for (Index j = 0; j < job.d; ++j) {
      T* to = tile + j * tile_rows;
      T x[tile_rows];
#pragma GCC unroll 8
      for (int r = 0; r < tile_rows; ++r) x[r] = source[r][j];
      if constexpr (K::scaled) {
        const T centre = job.centre[j], scale = job.scale[j];
        for (int r = 0; r < tile_rows; ++r) x[r] = (x[r] - centre) * scale;
        for (int r = 0; r < tile_rows; ++r) norm[r] = K::norm(norm[r], x[r]);
      }
      std::memcpy(to, x, sizeof x);
    }
    for (int r = 0; r < tile_rows; ++r) norms[start + r] = norm[r];
  }
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
                    total[r] = fused(value, load<T>(panel.coef + v * lanes<T>), total[r]);
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
      for (int v = 0; v < V; ++v) total = fused(values[r][v], coef[v], total);
      store<T>(to, total);
    }
  }
}

template <class T, class K, int V>
void block_panel(const Job<T>& job, const K& kernel, const Panel<T>& panel, Index row, Index count,
                 const T* rows, const T* norms, const bool* skip, T* sums) {
  for (Index start = 0; start < count; start += tile_rows) {
    if (skip[start / tile_rows]) continue;
    const T* tile_start = rows + start * job.d;
    if (job.coef)
      weigh_tile<T, K, V>(job, kernel, tile_start, norms + start, panel,
                          sums + start * job.k * lanes<T>);
    else
      store_tile<T, K, V>(job, kernel, tile_start, norms + start, panel, row + start,
                          count - start);
  }
}

// Whether none of a tile's rows is near.
template <class T, class K>
bool all_far(const T* norms) {
  bool far = true;
  for (int r = 0; r < tile_rows; ++r) far &= !(norms[r] <= K::near_row);
  return far;
}

template <class T, class K>
void rows_of(const Job<T>& job, Index begin, Index end, T* memory, Poll poll) {
  const Scratch<T> scratch(job, memory);
  T* norms = scratch.norms;
  if (job.all_wide) return redo_rows<T, K>(job, begin, end, norms, scratch.wide, poll);
  if (has_few_vectors(job)) {
    rows_of_few_vectors<T, K>(job, begin, end, norms, scratch.rest, poll);
    return redo_rows<T, K>(job, begin, end, norms, scratch.wide, poll);
  }
  const K kernel(job);
  const Index size = block_size<T>(job.d);
  T* rows = scratch.rest;
  T* sums = rows + size * job.d;
  const Index panel_count = (job.m + panel_width<T> - 1) / panel_width<T>;
  for (Index row = begin; row < end; row += size) {
    const Index count = end - row < size ? end - row : size;
    interleave<T, K>(job, row, count, rows, norms);
    bool skip[max_block_rows / tile_rows] = {};
    if constexpr (K::scaled)
      for (Index start = 0; start < count; start += tile_rows)
        skip[start / tile_rows] = all_far<T, K>(norms + start);
    if (job.coef)
      std::memset(sums, 0, static_cast<std::size_t>(size * job.k * lanes<T>) * sizeof(T));
    for (Index p = 0; p < panel_count; ++p) {
      const Panel<T> panel = panel_at(job, p);
      if (panel.vectors == 1)
        block_panel<T, K, 1>(job, kernel, panel, row, count, rows, norms, skip, sums);
      else if (panel.vectors == 2 || tile_vectors == 2)
        block_panel<T, K, 2>(job, kernel, panel, row, count, rows, norms, skip, sums);
      else
        block_panel<T, K, tile_vectors>(job, kernel, panel, row, count, rows, norms, skip, sums);
      if (poll(count * panel_width<T> * (job.d + 16))) return;
    }
    if (job.coef)
      for (Index r = 0; r < count; ++r)
        for (Index o = 0; o < job.k; ++o)
          job.out[(row + r) * job.k + o] =
              sum<T>(load<T>(sums + (r * job.k + o) * lanes<T>)) + job.intercept[o];
    redo_rows<T, K>(job, row, row + count, norms, scratch.wide, poll);
  }
}

template <class T>
Index few_scratch_size(const Job<T>& job) {
  return wide_scratch(job) + (job.m + lanes<T> - 1) / lanes<T> * lanes<T>;
}

// Weighs the kernel values of one row, in any order: for kernels of distances.
template <class T>
void weigh_row(const Job<T>& job, const T* values, T* out) {
  if (job.k == 1) {
    Vec<T> total{};
    Index i = 0;
    for (; i + lanes<T> <= job.m; i += lanes<T>)
      total = load<T>(values + i) * load<T>(job.coef + i) + total;
    if (i < job.m)  // values are padded with values of padding, so the coefficients must be 0
      total = load_first<T>(values + i, job.m - i) * load_first<T>(job.coef + i, job.m - i) + total;
    out[0] = sum<T>(total) + job.intercept[0];
    return;
  }
  for (Index o = 0; o < job.k; ++o) out[o] = T(0);
  for (Index i = 0; i < job.m; ++i)
    for (Index o = 0; o < job.k; ++o) out[o] = values[i] * job.coef[i * job.k + o] + out[o];
  for (Index o = 0; o < job.k; ++o) out[o] += job.intercept[o];
}

// The same in the order of the tiles (a lane for every so many vectors), or of row_lanes.hpp.
template <class T>
void weigh_row_in_order(const Job<T>& job, const T* values, T* out) {
  for (Index o = 0; o < job.k; ++o) {
    if (has_few_vectors(job)) {
      Vec<T> total{};  // all lanes the same
      for (Index i = 0; i < job.m; ++i)
        total = fused(broadcast<T>(values[i]), broadcast<T>(job.coef[i * job.k + o]), total);
      out[o] = total[0] + job.intercept[o];
      continue;
    }
    Vec<T> total{};
    for (Index i = 0; i < job.m; i += lanes<T>) {
      const Index valid = job.m - i < lanes<T> ? job.m - i : lanes<T>;
      T coef[lanes<T>] = {};
      for (Index l = 0; l < valid; ++l) coef[l] = job.coef[(i + l) * job.k + o];
      total = fused(load_first<T>(values + i, valid), load<T>(coef), total);
    }
    out[o] = sum<T>(total) + job.intercept[o];
  }
}

// One row without packing, for kernels of products: every sum in the order it has among many rows,
// so that the row has the same bits. Large values make large differences of what rounding leaves.
template <class T, class K>
void few_of_products(const Job<T>& job, Index row, T* scratch, Poll poll) {
  const K kernel(job);
  const T* x[1] = {job.X + row * job.d};
  constexpr Index poll_every = 64 * lanes<T>;
  for (Index i = 0; i < job.m; i += lanes<T>) {
    Vec<T> sums[1];
    plain_sums<T, K, 1>(job, x, i, sums);
    store<T>(scratch + i, kernel.value_plain(sums[0]));
    if ((i + lanes<T>) % poll_every == 0 && poll(poll_every * job.d)) return;
  }
  if (job.coef)
    weigh_row_in_order(job, scratch, job.out + row * job.k);
  else
    std::memcpy(job.out + row * job.m, scratch, static_cast<std::size_t>(job.m) * sizeof(T));
}

// One row without packing, for kernels of distances: lanes run over the inputs, then over the
// vectors. Differences keep all digits; false if one of the distances is not finite.
template <class T, class K>
bool few_of_distances(const Job<T>& job, Index row, T* scratch, Poll poll) {
  const K kernel(job);
  const T* x = job.X + row * job.d;
  const Index whole = job.d / lanes<T> * lanes<T>, rest = job.d - whole;
  const Vec<T> x_rest = load_first<T>(x + whole, rest);
  const Vec<T> scale_rest = load_first<T>(job.scale + whole, rest);
  constexpr Index poll_every = 1024;
  for (Index i = 0; i < job.m; ++i) {
    const T* vector = job.vectors + i * job.d;
    Vec<T> total{}, other{};
    Index j = 0;
    for (; j + 2 * lanes<T> <= whole; j += 2 * lanes<T>) {
      const Index next = j + lanes<T>;
      total =
          K::accumulate_plain(total, load<T>(x + j), load<T>(vector + j), load<T>(job.scale + j));
      other = K::accumulate_plain(other, load<T>(x + next), load<T>(vector + next),
                                  load<T>(job.scale + next));
    }
    if (j < whole)
      total =
          K::accumulate_plain(total, load<T>(x + j), load<T>(vector + j), load<T>(job.scale + j));
    if (rest)
      other = K::accumulate_plain(other, x_rest, load_first<T>(vector + whole, rest), scale_rest);
    scratch[i] = sum<T>(total + other);
    if (i % poll_every == poll_every - 1 && poll(poll_every * job.d)) return true;
  }
  if (!is_finite(scratch, job.m)) return false;
  Index i = 0;
  for (; i + lanes<T> <= job.m; i += lanes<T>)
    store<T>(scratch + i, kernel.value_plain(load<T>(scratch + i)));
  if (i < job.m) store<T>(scratch + i, kernel.value_plain(load_first<T>(scratch + i, job.m - i)));
  if (job.coef)
    weigh_row(job, scratch, job.out + row * job.k);
  else
    std::memcpy(job.out + row * job.m, scratch, static_cast<std::size_t>(job.m) * sizeof(T));
  return true;
}

template <class T, class K>
void few_of(const Job<T>& job, Index row, T* memory, Poll poll) {
  auto* wide = reinterpret_cast<double*>(memory);
  T* scratch = memory + wide_scratch(job);
  if constexpr (K::scaled) {
    if (job.all_wide || !few_of_distances<T, K>(job, row, scratch, poll))
      wide_rows<T, K>(job, &row, 1, wide, poll);
  } else {
    if (!job.all_wide) few_of_products<T, K>(job, row, scratch, poll);
    redo_rows<T, K>(job, row, row + 1, nullptr, wide, poll);
  }
}

template <class K>
struct Tag {
  using Kernel = K;
};

template <class T, class Use>
void with_kernel(Kind kind, const Use& use) {
  switch (kind) {
    case Kind::rbf: return use(Tag<Rbf<T>>{});
    case Kind::linear: return use(Tag<Linear<T>>{});
    case Kind::polynomial: return use(Tag<Polynomial<T>>{});
    case Kind::sigmoid: return use(Tag<Sigmoid<T>>{});
    case Kind::laplacian: return use(Tag<Laplacian<T>>{});
  }
}

template <class T>
void pack(const Job<T>& job, Index panel) {
  with_kernel<T>(job.kind,
                 [&](auto tag) { pack_of<T, typename decltype(tag)::Kernel>(job, panel); });
}

template <class T>
void rows(const Job<T>& job, Index begin, Index end, T* scratch, Poll poll) {
  with_kernel<T>(job.kind, [&](auto tag) {
    rows_of<T, typename decltype(tag)::Kernel>(job, begin, end, scratch, poll);
  });
}

template <class T>
void few(const Job<T>& job, Index row, T* scratch, Poll poll) {
  with_kernel<T>(job.kind, [&](auto tag) {
    few_of<T, typename decltype(tag)::Kernel>(job, row, scratch, poll);
  });
}

template <class T>
constexpr Table<T> table() {
  // Packing costs about as much as a few unpacked rows.
  return {8,       panel_width<T>, block_size<T>,       scratch_size<T>, centre<T>,
          pack<T>, rows<T>,        few_scratch_size<T>, few<T>};
}

#define SLIMSVM_TEXT_(name) #name
#define SLIMSVM_TEXT(name) SLIMSVM_TEXT_(name)

}  // namespace

const InstructionSet instruction_set = {SLIMSVM_TEXT(SLIMSVM_ISA),
                                        table<float>(),
                                        table<double>(),
                                        &box_solvers,
                                        &pair_solvers,
                                        &active_solver,
                                        &refine_solver,
                                        &hinge_solver,
                                        &one_norm_solver};

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
