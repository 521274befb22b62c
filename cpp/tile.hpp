// The register tile: tile_rows rows against `V` vectors' worth of packed columns, over all inputs.
//
// The vectors are packed once per call into panels: panel p holds the columns of
// `tile_vectors * lanes` vectors, input by input, so that the inner loop reads one stream. Rows are
// interleaved block by block into scratch, centred and scaled on the way. The last panel is as
// narrow as it can be, so a model of ten vectors does not pay for forty-eight.
#pragma once

#include "wide_rows.hpp"

namespace slimsvm {
namespace SLIMSVM_ISA {

template <class T>
constexpr Index panel_width = static_cast<Index>(tile_vectors) * lanes<T>;

template <class T>
struct Panel {
  const T* columns;  // (d, vectors * lanes)
  const T* norms;    // (vectors * lanes)
  const T* coef;     // (k, vectors * lanes)
  Index first;       // number of the first column
  int vectors;       // 1 .. tile_vectors
};

template <class T>
SLIMSVM_INLINE Panel<T> panel_at(const Job<T>& job, Index p) {
  const Index first = p * panel_width<T>;
  const Index columns = job.m - first < panel_width<T> ? job.m - first : panel_width<T>;
  const int vectors = static_cast<int>((columns + lanes<T> - 1) / lanes<T>);
  return {job.panels + first * job.d, job.panel_norms + first,
          job.coef ? job.panel_coef + first * job.k : nullptr, first, vectors};
}

// Sums for tile_rows interleaved rows and one panel of V vectors; `use(row, vector, value)` gets
// each vector of kernel values.
template <class T, class K, int V, class Use>
SLIMSVM_INLINE void tile(const K& kernel, const T* rows, const T* row_norms, const Panel<T>& panel,
                         Index d, Use&& use) {
  Vec<T> sums[tile_rows][V];
#pragma GCC unroll 8
  for (int r = 0; r < tile_rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sums[r][v] = Vec<T>{};

  const T* columns = panel.columns;
  for (Index j = 0; j < d; ++j, rows += tile_rows, columns += V * lanes<T>) {
    Vec<T> column[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) column[v] = load<T>(columns + v * lanes<T>);
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) {
      const Vec<T> x = broadcast<T>(rows[r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[r][v] = K::accumulate(sums[r][v], x, column[v]);
    }
  }

#pragma GCC unroll 8
  for (int r = 0; r < tile_rows; ++r) {
    const Vec<T> x_norm = K::scaled ? broadcast<T>(row_norms[r]) : Vec<T>{};
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const Vec<T> v_norm = K::scaled ? load<T>(panel.norms + v * lanes<T>) : Vec<T>{};
      use(r, v, kernel.value(sums[r][v], x_norm, v_norm));
    }
  }
}

}  // namespace SLIMSVM_ISA
}  // namespace slimsvm
