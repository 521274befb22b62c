// Bindings only: shapes, dtypes, the GIL. What is bound is described in README.md beside this file.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace slimsvm;

namespace {

template <class T, int ndim>
using Input = nb::ndarray<const T, nb::ndim<ndim>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

Kind kind_of(const std::string& name) {
  if (name == "rbf") return Kind::rbf;
  if (name == "linear") return Kind::linear;
  if (name == "poly") return Kind::polynomial;
  if (name == "sigmoid") return Kind::sigmoid;
  if (name == "laplacian") return Kind::laplacian;
  throw nb::value_error(("kind: the compiled core has no kernel named '" + name + "'").c_str());
}

void require(bool holds, const char* message) {
  if (!holds) throw nb::value_error(message);
}

bool interrupted() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

template <class T>
Output<T> array(std::unique_ptr<T[]> memory, Index rows, Index columns) {
  T* data = memory.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Output<T>(data, {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)},
                   owner);
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> vector(std::unique_ptr<T[]> memory, std::size_t size) {
  T* data = memory.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}

// Fills in what both functions share and runs the job into a new (n, columns) array.
template <class T>
Output<T> run(const std::string& kind, double gamma, double coef0, int degree,
              const Input<double, 1>& widths, const Input<T, 2>& X, const Input<T, 2>& vectors,
              const T* coef, const T* intercept, Index columns, int n_threads,
              int* not_finite = nullptr) {
  Job<T> job{};
  job.kind = kind_of(kind);
  job.gamma = gamma;
  job.coef0 = coef0;
  job.degree = degree;
  job.X = X.data();
  job.vectors = vectors.data();
  job.coef = coef;
  job.intercept = intercept;
  job.n = static_cast<Index>(X.shape(0));
  job.d = static_cast<Index>(X.shape(1));
  job.m = static_cast<Index>(vectors.shape(0));
  job.k = columns;
  job.not_finite = not_finite;
  require(static_cast<Index>(vectors.shape(1)) == job.d,
          "X and vectors must have the same number of columns");
  require(degree >= 0, "degree must not be negative");
  if (job.kind == Kind::rbf || job.kind == Kind::laplacian)
    require(static_cast<Index>(widths.shape(0)) == job.d,
            "widths must have one entry for each column of X");
  std::unique_ptr<T[]> out(new T[static_cast<std::size_t>(job.n * columns) + 1]);
  job.out = out.get();
  bool complete = true;
  if (job.n > 0 && columns > 0) {
    nb::gil_scoped_release release;
    complete = evaluate(job, widths.data(), n_threads, interrupted);
  }
  if (!complete) throw nb::python_error();
  return array<T>(std::move(out), job.n, columns);
}

template <class T>
void require_model(const Input<T, 2>& vectors, const Input<T, 2>& coef,
                   const Input<T, 1>& intercept) {
  require(coef.shape(0) == vectors.shape(0), "coef must have one row for each vector");
  require(intercept.shape(0) == coef.shape(1),
          "intercept must have one entry for each column of coef");
}

template <class T>
Output<T> expansion(const std::string& kind, double gamma, double coef0, int degree,
                    const Input<double, 1>& widths, const Input<T, 2>& X,
                    const Input<T, 2>& vectors, const Input<T, 2>& coef,
                    const Input<T, 1>& intercept, int n_threads) {
  require_model<T>(vectors, coef, intercept);
  return run<T>(kind, gamma, coef0, degree, widths, X, vectors, coef.data(), intercept.data(),
                static_cast<Index>(coef.shape(1)), n_threads);
}

// The expansion of an RBF kernel; None if a row is not finite.
template <class T>
std::optional<Output<T>> finite_expansion(const Input<double, 1>& widths, const Input<T, 2>& X,
                                          const Input<T, 2>& vectors, const Input<T, 2>& coef,
                                          const Input<T, 1>& intercept, int n_threads) {
  require_model<T>(vectors, coef, intercept);
  int not_finite = vectors.shape(0) == 0;  // without a distance nothing is seen
  auto out = run<T>("rbf", 0.0, 0.0, 0, widths, X, vectors, coef.data(), intercept.data(),
                    static_cast<Index>(coef.shape(1)), n_threads, &not_finite);
  if (not_finite) return std::nullopt;
  return out;
}

template <class T>
Output<T> gram(const std::string& kind, double gamma, double coef0, int degree,
               const Input<double, 1>& widths, const Input<T, 2>& X, const Input<T, 2>& vectors,
               int n_threads) {
  return run<T>(kind, gamma, coef0, degree, widths, X, vectors, nullptr, nullptr,
                static_cast<Index>(vectors.shape(0)), n_threads);
}

template <class T>
nb::tuple box_cd(const Input<T, 2>& A, const Input<T, 1>& target, const Input<T, 1>& ridge,
                 const Input<T, 1>& lower, const Input<T, 1>& upper, const Input<T, 1>& start,
                 double tol, Index max_epochs, std::uint64_t seed) {
  const auto n = A.shape(0), m = A.shape(1);
  require(target.shape(0) == n && ridge.shape(0) == n && lower.shape(0) == n &&
              upper.shape(0) == n && start.shape(0) == n,
          "target, ridge, lower, upper and start must have one entry for each row of A");
  std::unique_ptr<T[]> x(new T[n + 1]), w(new T[m + 1]), curvature(new T[n + 1]);
  std::unique_ptr<Index[]> order(new Index[n + 1]);
  std::copy(start.data(), start.data() + n, x.get());
  BoxJob<T> job{A.data(),
                target.data(),
                ridge.data(),
                lower.data(),
                upper.data(),
                static_cast<T>(tol),
                max_epochs,
                seed,
                static_cast<Index>(n),
                static_cast<Index>(m),
                x.get(),
                w.get(),
                curvature.get(),
                order.get(),
                0,
                T(0)};
  bool complete = true;
  {
    nb::gil_scoped_release release;
    complete = minimise_in_box(job, interrupted);
  }
  if (!complete) throw nb::python_error();
  return nb::make_tuple(vector<T>(std::move(x), n), vector<T>(std::move(w), m), job.epochs,
                        static_cast<double>(job.violation));
}

template <class T>
nb::tuple pair_cd(const Input<T, 2>& G, const Input<T, 1>& target, const Input<T, 1>& lower,
                  const Input<T, 1>& upper, const Input<T, 1>& start, double tol,
                  Index max_iterations) {
  const auto n = G.shape(0);
  require(G.shape(1) == n, "G must be square");
  require(target.shape(0) == n && lower.shape(0) == n && upper.shape(0) == n && start.shape(0) == n,
          "target, lower, upper and start must have one entry for each row of G");
  std::unique_ptr<T[]> x(new T[n + 1]), gradient(new T[n + 1]), scratch(new T[2 * n + 1]);
  std::copy(start.data(), start.data() + n, x.get());
  PairJob<T> job{};
  job.G = G.data();
  job.target = target.data();
  job.lower = lower.data();
  job.upper = upper.data();
  job.tol = static_cast<T>(tol);
  job.tiny = std::numeric_limits<T>::min();
  job.max_iterations = max_iterations;
  job.n = static_cast<Index>(n);
  job.x = x.get();
  job.gradient = gradient.get();
  job.diagonal = scratch.get();
  job.gain = scratch.get() + n;
  bool complete = true;
  {
    nb::gil_scoped_release release;
    complete = minimise_in_pairs(job, interrupted);
  }
  if (!complete) throw nb::python_error();
  return nb::make_tuple(vector<T>(std::move(x), n), vector<T>(std::move(gradient), n),
                        job.iterations, static_cast<double>(job.violation));
}

nb::tuple active_set(const Input<double, 2>& G, const Input<double, 1>& target,
                     const Input<double, 1>& lower, const Input<double, 1>& upper,
                     const Input<double, 1>& start, const Input<Index, 1>& free,
                     const Input<double, 2>& factor, Index most_free, double tol, Index max_looks,
                     double max_work) {
  const auto n = G.shape(0), n_start = free.shape(0);
  require(G.shape(1) == n, "G must be square");
  require(target.shape(0) == n && lower.shape(0) == n && upper.shape(0) == n && start.shape(0) == n,
          "target, lower, upper and start must have one entry for each row of G");
  require(factor.shape(0) == n_start && factor.shape(1) == n_start,
          "factor must have a row and a column for each of the free rows");
  require(most_free >= 2 && most_free >= static_cast<Index>(n_start),
          "most_free must be at least 2 and the number of free rows");
  for (std::size_t k = 0; k < n_start; ++k)
    require(free.data()[k] >= 0 && free.data()[k] < static_cast<Index>(n),
            "free must be numbers of rows of G");
  std::unique_ptr<double[]> x(new double[n + 1]);
  std::unique_ptr<Index[]> rows(new Index[static_cast<std::size_t>(most_free)]);
  std::copy(start.data(), start.data() + n, x.get());
  std::copy(free.data(), free.data() + n_start, rows.get());
  ActiveJob job{};
  job.G = G.data();
  job.target = target.data();
  job.lower = lower.data();
  job.upper = upper.data();
  job.factor = factor.data();
  job.tol = tol;
  job.looks = max_looks;
  job.max_work = max_work;
  job.n = static_cast<Index>(n);
  job.n_start = static_cast<Index>(n_start);
  job.most_free = most_free;
  job.x = x.get();
  job.free = rows.get();
  bool complete = true;
  {
    nb::gil_scoped_release release;
    complete = minimise_by_active_set(job, interrupted);
  }
  if (!complete) throw nb::python_error();
  return nb::make_tuple(vector<double>(std::move(x), n), job.level, job.looks, job.violation);
}

RefineLoss refine_loss_of(const std::string& name) {
  if (name == "rounded_hinge") return RefineLoss::rounded_hinge;
  if (name == "squared_hinge") return RefineLoss::squared_hinge;
  if (name == "squared") return RefineLoss::squared;
  if (name == "insensitive") return RefineLoss::insensitive;
  throw nb::value_error(("loss: the compiled core has no loss named '" + name + "'").c_str());
}

Widths widths_of(const std::string& name) {
  if (name == "fixed") return Widths::fixed;
  if (name == "one") return Widths::one;
  if (name == "per_feature") return Widths::per_feature;
  throw nb::value_error("widths must be 'fixed', 'one' or 'per_feature'");
}

// A copy of the array that the solver may write to.
template <class Array>
std::unique_ptr<double[]> copied(const Array& from) {
  std::unique_ptr<double[]> to(new double[from.size() + 1]);
  std::copy(from.data(), from.data() + from.size(), to.get());
  return to;
}

// A refinement: what both kinds have in common is checked, and copied where the solver writes.
struct Refinement {
  RefineJob job{};
  std::unique_ptr<double[]> vectors, coef, intercept;

  Refinement(const Input<double, 2>& X, const Input<double, 2>& Y, const Input<double, 2>& weights,
             const Input<double, 1>& penalty, const std::string& loss, double rounding,
             double epsilon, const Input<double, 2>& start_vectors,
             const Input<double, 2>& start_coef, const Input<double, 1>& start_intercept,
             const Input<double, 2>& factor, Index max_iterations, double tol, Index memory) {
    job.n = static_cast<Index>(X.shape(0));
    job.d = static_cast<Index>(start_vectors.shape(1));
    job.m = static_cast<Index>(start_vectors.shape(0));
    job.k = static_cast<Index>(start_coef.shape(1));
    require(has(Y.shape(0), job.n) && has(Y.shape(1), job.k), "Y must be (rows of X, outputs)");
    require(has(weights.shape(0), job.n) && has(weights.shape(1), job.k),
            "weights must have the shape of Y");
    require(has(start_coef.shape(0), job.m) && has(factor.shape(0), job.m) &&
                has(factor.shape(1), job.m),
            "coef and factor must have one row for each vector");
    require(has(start_intercept.shape(0), job.k) && has(penalty.shape(0), job.k),
            "intercept and penalty must have one entry for each output");
    require(job.m > 0 && memory > 0, "there must be at least one vector, and memory for one step");
    job.X = X.data();
    job.Y = Y.data();
    job.weights = weights.data();
    job.penalty = penalty.data();
    job.factor = factor.data();
    job.loss = refine_loss_of(loss);
    job.rounding = rounding;
    job.epsilon = epsilon;
    job.widths = Widths::fixed;
    job.tol = tol;
    job.max_iterations = max_iterations;
    job.memory = memory;
    vectors = copied(start_vectors);
    coef = copied(start_coef);
    intercept = copied(start_intercept);
    job.vectors = vectors.get();
    job.coef = coef.get();
    job.intercept = intercept.get();
  }

  static bool has(std::size_t size, Index wanted) { return static_cast<Index>(size) == wanted; }

  void run() {
    bool complete = true;
    {
      nb::gil_scoped_release release;
      complete = refine(job, interrupted);
    }
    if (!complete) throw nb::python_error();
  }
};

nb::tuple refine_rbf(const Input<double, 2>& X, const Input<double, 2>& Y,
                     const Input<double, 2>& weights, const Input<double, 1>& penalty,
                     const std::string& loss, double rounding, double epsilon,
                     const Input<double, 2>& vectors, const Input<double, 2>& coef,
                     const Input<double, 1>& intercept, const Input<double, 1>& log_widths,
                     const Input<double, 2>& factor, const std::string& widths, bool eliminate,
                     Index max_iterations, double tol, Index memory) {
  Refinement its(X, Y, weights, penalty, loss, rounding, epsilon, vectors, coef, intercept, factor,
                 max_iterations, tol, memory);
  RefineJob& job = its.job;
  require(its.has(X.shape(1), job.d) && its.has(log_widths.shape(0), job.d),
          "vectors and log_widths must have one entry for each column of X");
  job.widths = widths_of(widths);
  job.eliminate = eliminate;
  require(!eliminate || job.loss == RefineLoss::squared,
          "coefficients are eliminated for the squared loss only");
  auto own_widths = copied(log_widths);
  job.log_widths = own_widths.get();
  its.run();
  return nb::make_tuple(array<double>(std::move(its.vectors), job.m, job.d),
                        array<double>(std::move(its.coef), job.m, job.k),
                        vector<double>(std::move(its.intercept), intercept.size()),
                        vector<double>(std::move(own_widths), log_widths.size()), job.value,
                        job.iterations, job.evaluations);
}

nb::tuple refine_map(const Input<double, 2>& X, const Input<double, 2>& Y,
                     const Input<double, 2>& weights, const Input<double, 1>& penalty,
                     const std::string& loss, double rounding, double epsilon,
                     const Input<double, 2>& matrix, double decay, const Input<double, 2>& vectors,
                     const Input<double, 2>& coef, const Input<double, 1>& intercept,
                     const Input<double, 2>& factor, Index max_iterations, double tol,
                     Index memory) {
  Refinement its(X, Y, weights, penalty, loss, rounding, epsilon, vectors, coef, intercept, factor,
                 max_iterations, tol, memory);
  RefineJob& job = its.job;
  job.p = static_cast<Index>(X.shape(1));
  require(its.has(matrix.shape(0), job.d) && its.has(matrix.shape(1), job.p) && job.p > 0,
          "matrix must be (columns of vectors, columns of X)");
  job.decay = decay;
  auto own_matrix = copied(matrix);
  const std::unique_ptr<double[]> log_widths(new double[vectors.shape(1) + 1]());
  job.map = own_matrix.get();
  job.log_widths = log_widths.get();
  its.run();
  return nb::make_tuple(array<double>(std::move(own_matrix), job.d, job.p),
                        array<double>(std::move(its.vectors), job.m, job.d),
                        array<double>(std::move(its.coef), job.m, job.k),
                        vector<double>(std::move(its.intercept), intercept.size()), job.value,
                        job.iterations, job.evaluations);
}

nb::tuple scaled_hinge(const Input<double, 2>& B, const Input<double, 1>& sign,
                       const Input<Index, 1>& columns, const Input<double, 1>& scale,
                       const Input<double, 1>& target, const Input<double, 1>& upper,
                       const Input<double, 1>& start, double tol, Index max_cycles) {
  const auto n = B.shape(0), m = B.shape(1), k = columns.shape(0);
  require(sign.shape(0) == n && target.shape(0) == n && upper.shape(0) == n && start.shape(0) == n,
          "sign, target, upper and start must have one entry for each row of B");
  require(scale.shape(0) == k, "scale must have one entry for each of the columns");
  for (std::size_t j = 0; j < k; ++j)
    require(columns.data()[j] >= 0 && columns.data()[j] <= static_cast<Index>(m),
            "columns must be numbers of columns of B, or the number of them for a column of ones");
  std::unique_ptr<double[]> x(new double[n + 1]), w(new double[k + 1]);
  std::copy(start.data(), start.data() + n, x.get());
  HingeJob job{};
  job.B = B.data();
  job.sign = sign.data();
  job.columns = columns.data();
  job.scale = scale.data();
  job.target = target.data();
  job.upper = upper.data();
  job.tol = tol;
  job.max_cycles = max_cycles;
  job.n = static_cast<Index>(n);
  job.m = static_cast<Index>(m);
  job.k = static_cast<Index>(k);
  job.x = x.get();
  job.w = w.get();
  bool complete = true;
  {
    nb::gil_scoped_release release;
    complete = minimise_hinge(job, interrupted);
  }
  if (!complete) throw nb::python_error();
  return nb::make_tuple(vector<double>(std::move(w), k), vector<double>(std::move(x), n),
                        job.cycles, job.gap);
}

nb::tuple one_norm(const Input<double, 2>& B, const Input<double, 1>& t, const Input<double, 1>& c,
                   const std::optional<Input<double, 1>>& free, const Input<Index, 1>& active,
                   const Input<Index, 1>& elbow, Index most, Index max_pivots) {
  const auto n = B.shape(0), m = B.shape(1), size = active.shape(0);
  require(t.shape(0) == n && c.shape(0) == n && (!free || free->shape(0) == n),
          "t, c and free must have one entry for each row of B");
  require(most >= 1, "most must be at least 1");
  require(elbow.shape(0) == size && static_cast<Index>(size) <= most,
          "active and elbow must have the same length, at most `most`");
  for (std::size_t a = 0; a < size; ++a) {
    const Index column = active.data()[a], row = elbow.data()[a];
    require(column >= 0 && column < static_cast<Index>(free ? m + 1 : m) && row >= 0 &&
                row < static_cast<Index>(n),
            "active must be numbers of columns, elbow of rows");
  }
  std::unique_ptr<double[]> alpha(new double[m + 1]), beta(new double[n + 1]);
  const auto room = static_cast<std::size_t>(most);
  std::unique_ptr<Index[]> columns(new Index[room]), rows(new Index[room]);
  std::copy(active.data(), active.data() + size, columns.get());
  std::copy(elbow.data(), elbow.data() + size, rows.get());
  OneNormJob job{};
  job.size = static_cast<Index>(size);
  job.active = columns.get();
  job.elbow = rows.get();
  job.B = B.data();
  job.t = t.data();
  job.c = c.data();
  job.free = free ? free->data() : nullptr;
  job.n = static_cast<Index>(n);
  job.m = static_cast<Index>(m);
  job.most = most;
  job.pivots = max_pivots;
  job.alpha = alpha.get();
  job.beta = beta.get();
  bool complete = true;
  {
    nb::gil_scoped_release release;
    complete = minimise_one_norm(job, interrupted);
  }
  if (!complete) throw nb::python_error();
  return nb::make_tuple(vector<double>(std::move(alpha), m), job.intercept,
                        vector<double>(std::move(beta), n), job.pivots, job.optimal,
                        vector<Index>(std::move(columns), static_cast<std::size_t>(job.size)),
                        vector<Index>(std::move(rows), static_cast<std::size_t>(job.size)));
}

template <class T>
void bind(nb::module_& m) {
  m.def("expansion", &expansion<T>, "kind"_a, "gamma"_a, "coef0"_a, "degree"_a,
        "widths"_a.noconvert(), "X"_a.noconvert(), "vectors"_a.noconvert(), "coef"_a.noconvert(),
        "intercept"_a.noconvert(), "n_threads"_a);
  m.def("finite_expansion", &finite_expansion<T>, "widths"_a.noconvert(), "X"_a.noconvert(),
        "vectors"_a.noconvert(), "coef"_a.noconvert(), "intercept"_a.noconvert(), "n_threads"_a);
  m.def("gram", &gram<T>, "kind"_a, "gamma"_a, "coef0"_a, "degree"_a, "widths"_a.noconvert(),
        "X"_a.noconvert(), "vectors"_a.noconvert(), "n_threads"_a);
  m.def("box_cd", &box_cd<T>, "A"_a.noconvert(), "target"_a.noconvert(), "ridge"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(), "start"_a.noconvert(), "tol"_a,
        "max_epochs"_a, "seed"_a);
  m.def("pair_cd", &pair_cd<T>, "G"_a.noconvert(), "target"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "start"_a.noconvert(), "tol"_a, "max_iterations"_a);
}

}  // namespace

NB_MODULE(_core, m) {
  choose_instruction_set();
  bind<double>(m);
  bind<float>(m);
  m.def("active_set", &active_set, "G"_a.noconvert(), "target"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "start"_a.noconvert(), "free"_a.noconvert(), "factor"_a.noconvert(),
        "most_free"_a, "tol"_a, "max_looks"_a, "max_work"_a);
  m.def("refine", &refine_rbf, "X"_a.noconvert(), "Y"_a.noconvert(), "weights"_a.noconvert(),
        "penalty"_a.noconvert(), "loss"_a, "rounding"_a, "epsilon"_a, "vectors"_a.noconvert(),
        "coef"_a.noconvert(), "intercept"_a.noconvert(), "log_widths"_a.noconvert(),
        "factor"_a.noconvert(), "widths"_a, "eliminate"_a, "max_iterations"_a, "tol"_a, "memory"_a);
  m.def("refine_map", &refine_map, "X"_a.noconvert(), "Y"_a.noconvert(), "weights"_a.noconvert(),
        "penalty"_a.noconvert(), "loss"_a, "rounding"_a, "epsilon"_a, "matrix"_a.noconvert(),
        "decay"_a, "vectors"_a.noconvert(), "coef"_a.noconvert(), "intercept"_a.noconvert(),
        "factor"_a.noconvert(), "max_iterations"_a, "tol"_a, "memory"_a);
  m.def("scaled_hinge", &scaled_hinge, "B"_a.noconvert(), "sign"_a.noconvert(),
        "columns"_a.noconvert(), "scale"_a.noconvert(), "target"_a.noconvert(),
        "upper"_a.noconvert(), "start"_a.noconvert(), "tol"_a, "max_cycles"_a);
  m.def("one_norm", &one_norm, "B"_a.noconvert(), "t"_a.noconvert(), "c"_a.noconvert(),
        "free"_a.noconvert().none(), "active"_a.noconvert(), "elbow"_a.noconvert(), "most"_a,
        "max_pivots"_a);
  m.def("instruction_set", [] { return std::string(instruction_set().name); });
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const auto* set : available_instruction_sets()) names.emplace_back(set->name);
    return names;
  });
}
