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
  double gamma;              // polynomial and sigmoid
  double coef0;              // polynomial and sigmoid
  int degree;                // polynomial
  const T* scale;            // (d) factor on each input, rbf and laplacian; else nullptr
  const double* wide_scale;  // (d) the same in double precision
  bool all_wide;             // T cannot hold the parameters: every row takes the wide way
  const T* centre;           // (d) subtracted from both sides, rbf and laplacian; else nullptr
  const T* X;                // (n, d)
  const T* vectors;          // (m, d)
  const T* coef;             // (m, k) or nullptr
  const T* intercept;        // (k) or nullptr
  T* out;                    // (n, k) or (n, m)
  Index n, m, d, k;
  T* panels;        // packed vectors, see Table::panel_count and panel_size
  T* panel_norms;   // norms of the packed vectors, as the kernel adds them up
  T* panel_coef;    // coefficients in panel order
  int* not_finite;  // set to 1 if a row of X is not finite (rbf and laplacian), or nullptr
};

// What one instruction set offers for one floating-point type.
template <class T>
struct Table {
  Index few_rows;                            // below this many rows, `few` is faster than packing
  Index panel_width;                         // vectors in a panel
  Index (*block_size)(Index d);              // rows in a block for d inputs
  Index (*scratch_size)(const Job<T>& job);  // elements of scratch one worker needs in `rows`
  void (*centre)(const Job<T>& job, T* to);  // (d) for Job::centre
  void (*pack)(const Job<T>& job, Index panel);
  void (*rows)(const Job<T>& job, Index begin, Index end, T* scratch, Poll poll);
  Index (*few_scratch_size)(const Job<T>& job);  // elements of scratch `few` needs
  void (*few)(const Job<T>& job, Index row, T* scratch, Poll poll);
};

// Coordinate descent on 1/2 |A'x|^2 + 1/2 sum ridge x^2 - target'x, lower <= x <= upper.
template <class T>
struct BoxJob {
  const T* A;       // (n, m)
  const T* target;  // (n)
  const T* ridge;   // (n)
  const T* lower;   // (n)
  const T* upper;   // (n)
  T tol;            // largest projected gradient at the end
  Index max_epochs;
  std::uint64_t seed;
  Index n, m;
  T* x;          // (n) start in, result out
  T* w;          // (m) A'x out
  T* curvature;  // (n) scratch
  Index* order;  // (n) scratch
  Index epochs;  // out
  T violation;   // out: largest projected gradient of the last epoch
};

struct BoxSolvers {
  void (*single_precision)(BoxJob<float>& job, Poll poll);
  void (*double_precision)(BoxJob<double>& job, Poll poll);
};

// Pairwise descent on 1/2 x'Gx - target'x, lower <= x <= upper, the sum of x kept.
template <class T>
struct PairJob {
  const T* G;       // (n, n) symmetric
  const T* target;  // (n)
  const T* lower;   // (n)
  const T* upper;   // (n)
  T tol;            // largest difference of two gradients at the end
  T tiny;           // curvature below this counts as this
  Index max_iterations;
  Index n;
  T* x;              // (n) start in, result out
  T* gradient;       // (n) Gx - target out
  T* diagonal;       // (n) scratch
  T* gain;           // (n) scratch
  Index iterations;  // out
  T violation;       // out
};

struct PairSolvers {
  void (*single_precision)(PairJob<float>& job, Poll poll);
  void (*double_precision)(PairJob<double>& job, Poll poll);
};

// The same problem by an active set: the free entries with a factor of their part of G.
struct ActiveJob {
  const double* G;       // (n, n) symmetric
  const double* target;  // (n)
  const double* lower;   // (n)
  const double* upper;   // (n)
  const double*
      factor;       // (n_start, n_start) upper: the Cholesky factor of G at the first free rows
  double tol;       // largest violation of a gradient at the end
  double max_work;  // multiply-adds
  Index n, n_start;
  Index most_free;   // at least 2 and n_start
  double* x;         // (n) start in, result out
  Index* free;       // (most_free) rows between their bounds, n_start of them in
  double* scratch;   // see ActiveSolver
  Index* touched;    // (n) scratch
  Index* is_free;    // (n) scratch
  Index looks;       // at all rows: at most so many in, how many out
  double level;      // out: minus the gradient of the free rows
  double violation;  // out
};

struct ActiveSolver {
  Index (*scratch_size)(Index n, Index most_free);
  void (*run)(ActiveJob& job, Poll poll);
};

enum class RefineLoss { rounded_hinge, squared_hinge, squared, insensitive };
enum class Widths { fixed, one, per_feature };

// L-BFGS over vectors, coefficients, intercept and widths of an RBF expansion, or of one behind a
// linear map and the map, see refine.cpp.
struct RefineJob {
  const double* X;        // (n, d); with a map (n, p)
  const double* Y;        // (n, k)
  const double* weights;  // (n, k)
  const double* penalty;  // (k)
  const double*
      factor;  // (m, m) lower triangular: coefficients are factor'^-1 times those searched for
  RefineLoss loss;
  double rounding;  // half-width of the rounded corner: rounded hinge and insensitive
  double epsilon;   // insensitive
  Widths widths;
  // whether coefficients and intercept are solved for at each step (variable projection): squared
  // loss, and weights and penalty that are the same for every output
  bool eliminate;
  double tol;  // relative decrease below which the search ends
  Index max_iterations, memory;
  Index n, d, m, k;
  Index p;             // inputs of the map, to the d of the expansion; 0 where there is none
  double decay;        // on the squares of the map
  double* map;         // (d, p) start in, result out; as all below
  double* vectors;     // (m, d)
  double* coef;        // (m, k)
  double* intercept;   // (k)
  double* log_widths;  // (d) logarithm of gamma for each input; with a map zeros
  double* scratch;     // RefineSolver::scratch_size elements, aligned
  double value;        // out
  Index iterations;    // out
  Index evaluations;   // out
};

struct RefineSolver {
  Index (*scratch_size)(const RefineJob& job);
  void (*run)(RefineJob& job, Poll poll);
};

// The linear hinge machine without intercept on Z = diag(sign) B[:, columns] diag(scale), by its
// dual 1/2 |Z'x|^2 - target'x, 0 <= x <= upper.
struct HingeJob {
  const double* B;       // (n, m)
  const double* sign;    // (n)
  const Index* columns;  // (k) up to m, and m means a column of ones
  const double* scale;   // (k)
  const double* target;  // (n)
  const double* upper;   // (n) positive
  double tol;            // relative duality gap at the end; without it, x and w are of no use
  Index max_cycles;
  Index n, m, k;
  double* x;        // (n) start in, result out
  double* w;        // (k) Z'x out
  double* scratch;  // see HingeSolver
  Index* numbers;   // see HingeSolver
  Index cycles;     // out
  double gap;       // out
};

struct HingeSolver {
  Index (*scratch_size)(const HingeJob& job);
  Index (*number_size)(const HingeJob& job);
  void (*run)(HingeJob& job, Poll poll);
};

// The one-norm hinge machine |alpha|_1 + sum c max(0, t - B alpha - b q), see one_norm.cpp.
struct OneNormJob {
  const double* B;     // (n, m)
  const double* t;     // (n)
  const double* c;     // (n) positive
  const double* free;  // (n) the column q of the intercept; null for none
  Index n, m;
  Index most;        // coefficients that are not zero, the intercept among them: at most so many
  Index pivots;      // at most so many in, how many out
  Index size;        // of the corner: that to go on from in (0: none), that reached out
  Index* active;     // (most) its columns in and out; m is the intercept
  Index* elbow;      // (most) its rows in and out
  double* alpha;     // (m) out
  double* beta;      // (n) out: dual coefficients
  double intercept;  // out
  bool optimal;      // out: whether the search found no way down any more
  double* scratch;   // see OneNormSolver
  Index* numbers;    // see OneNormSolver
};

struct OneNormSolver {
  Index (*scratch_size)(Index n, Index m, Index most);
  Index (*number_size)(Index n, Index m, Index most);
  void (*run)(OneNormJob& job, Poll poll);
};

struct InstructionSet {
  const char* name;
  Table<float> single_precision;
  Table<double> double_precision;
  const BoxSolvers* box;
  const PairSolvers* pair;
  const ActiveSolver* active;
  const RefineSolver* refine;
  const HingeSolver* hinge;
  const OneNormSolver* one_norm;
};

namespace baseline {
extern const InstructionSet instruction_set;
extern const BoxSolvers box_solvers;
extern const PairSolvers pair_solvers;
extern const ActiveSolver active_solver;
extern const RefineSolver refine_solver;
extern const HingeSolver hinge_solver;
extern const OneNormSolver one_norm_solver;
}  // namespace baseline
namespace avx2 {
extern const InstructionSet instruction_set;
extern const BoxSolvers box_solvers;
extern const PairSolvers pair_solvers;
extern const ActiveSolver active_solver;
extern const RefineSolver refine_solver;
extern const HingeSolver hinge_solver;
extern const OneNormSolver one_norm_solver;
}  // namespace avx2
namespace avx512 {
extern const InstructionSet instruction_set;
extern const BoxSolvers box_solvers;
extern const PairSolvers pair_solvers;
extern const ActiveSolver active_solver;
extern const RefineSolver refine_solver;
extern const HingeSolver hinge_solver;
extern const OneNormSolver one_norm_solver;
}  // namespace avx512

}  // namespace slimsvm
