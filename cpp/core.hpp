// The boundary of the compiled core: plain structs, no templates from the standard library, so that
// files built for different instruction sets can include it without sharing inline code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slimsvm {

using Index = std::int64_t;

enum class Kind { rbf, linear, polynomial, sigmoid, laplacian };

// Called between pieces of work with the multiply-adds done since the last call; true means stop.
struct Poll {
  bool (*function)(void* state, Index work);
  void* state;
  bool operator()(Index work) const { return function(state, work); }
};

// Everything one call needs. Row-major, contiguous arrays. `coef == nullptr` asks for the kernel
// block itself (gram), otherwise for the weighted sum over the vectors (expansion).
template <class T>
struct Job {
  Kind kind;
  T gamma;             // polynomial and sigmoid
  T coef0;             // polynomial and sigmoid
  int degree;          // polynomial
  const T* scale;      // (d) factor on each centred input, rbf and laplacian; else nullptr
  const T* centre;     // (d) subtracted from both sides, rbf and laplacian; else nullptr
  const T* X;          // (n, d)
  const T* vectors;    // (m, d)
  const T* coef;       // (m, k) or nullptr
  const T* intercept;  // (k) or nullptr
  T* out;              // (n, k) or (n, m)
  Index n, m, d, k;
  T* panels;       // packed vectors, see Table::panel_count and panel_size
  T* panel_norms;  // squared norms of the packed vectors
  T* panel_coef;   // coefficients in panel order
};

// What one instruction set offers for one floating-point type.
template <class T>
struct Table {
  Index few_rows;     // below this many rows, `few` is faster than packing
  Index panel_width;  // vectors in a panel
  Index lanes;
  Index (*block_size)(Index d);              // rows in a block for d inputs
  Index (*scratch_size)(const Job<T>& job);  // elements of scratch one worker needs in `rows`
  void (*pack)(const Job<T>& job, Index panel);
  void (*rows)(const Job<T>& job, Index begin, Index end, T* scratch, Poll poll);
  void (*few)(const Job<T>& job, Index row, T* scratch, Poll poll);  // scratch: padded m
};

struct InstructionSet {
  const char* name;
  Table<float> single;
  Table<double> dual;
};

namespace baseline {
extern const InstructionSet instruction_set;
}
namespace avx2 {
extern const InstructionSet instruction_set;
}
namespace avx512 {
extern const InstructionSet instruction_set;
}

}  // namespace slimsvm
