// Bindings only: shapes, dtypes, the GIL. What is bound is described in README.md beside this file.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>
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
              const T* coef, const T* intercept, Index columns, int n_threads) {
  Job<T> job{};
  job.kind = kind_of(kind);
  job.gamma = static_cast<T>(gamma);
  job.coef0 = static_cast<T>(coef0);
  job.degree = degree;
  job.X = X.data();
  job.vectors = vectors.data();
  job.coef = coef;
  job.intercept = intercept;
  job.n = static_cast<Index>(X.shape(0));
  job.d = static_cast<Index>(X.shape(1));
  job.m = static_cast<Index>(vectors.shape(0));
  job.k = columns;
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
Output<T> expansion(const std::string& kind, double gamma, double coef0, int degree,
                    const Input<double, 1>& widths, const Input<T, 2>& X,
                    const Input<T, 2>& vectors, const Input<T, 2>& coef,
                    const Input<T, 1>& intercept, int n_threads) {
  require(coef.shape(0) == vectors.shape(0), "coef must have one row for each vector");
  require(intercept.shape(0) == coef.shape(1),
          "intercept must have one entry for each column of coef");
  return run<T>(kind, gamma, coef0, degree, widths, X, vectors, coef.data(), intercept.data(),
                static_cast<Index>(coef.shape(1)), n_threads);
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

template <class T>
void bind(nb::module_& m) {
  m.def("expansion", &expansion<T>, "kind"_a, "gamma"_a, "coef0"_a, "degree"_a,
        "widths"_a.noconvert(), "X"_a.noconvert(), "vectors"_a.noconvert(), "coef"_a.noconvert(),
        "intercept"_a.noconvert(), "n_threads"_a);
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
  m.def("scaled_hinge", &scaled_hinge, "B"_a.noconvert(), "sign"_a.noconvert(),
        "columns"_a.noconvert(), "scale"_a.noconvert(), "target"_a.noconvert(),
        "upper"_a.noconvert(), "start"_a.noconvert(), "tol"_a, "max_cycles"_a);
  m.def("instruction_set", [] { return std::string(instruction_set().name); });
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const auto* set : available_instruction_sets()) names.emplace_back(set->name);
    return names;
  });
}
