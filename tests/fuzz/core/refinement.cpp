// refine: what comes out is finite, no worse than the start, and has the value it says; with a map
// before the expansion and without.
#include "input.hpp"

namespace slimsvm {
namespace {

using Real = long double;

struct Model {
  Exactly<double> vectors, coef, intercept, log_widths, map;
};

struct Problem {
  Index n, d, m, k, p;  // p: inputs of the map, 0 without one
  RefineLoss loss;
  double decay;
  double rounding, epsilon;
  Exactly<double> X, Y, weights, penalty, factor;
};

// The row behind the map, if there is one.
std::vector<Real> image(const Problem& problem, const Model& model, Index row) {
  const Index p = problem.p;
  std::vector<Real> to(static_cast<std::size_t>(problem.d));
  for (Index c = 0; c < problem.d; ++c) {
    Real& sum = to[static_cast<std::size_t>(c)];
    if (!p) sum = problem.X[row * problem.d + c];
    for (Index e = 0; e < p; ++e) sum += Real(model.map[c * p + e]) * problem.X[row * p + e];
  }
  return to;
}

template <class A>
Real kernel(const Problem& problem, const Model& model, const A* a, const double* b) {
  Real sum = 0;
  for (Index c = 0; c < problem.d; ++c) {
    const Real difference = Real(a[c]) - b[c];
    sum += std::exp(Real(model.log_widths[c])) * difference * difference;
  }
  return std::exp(-sum);
}

Real loss_of(const Problem& problem, Real y, Real f) {
  const Real h = problem.rounding;
  const auto rounded = [h](Real s) { return s < 2 * h ? s * s / (4 * h) : s - h; };
  switch (problem.loss) {
    case RefineLoss::rounded_hinge: return rounded(std::max(Real(0), 1 + h - y * f));
    case RefineLoss::squared_hinge: return std::pow(std::max(Real(0), 1 - y * f), Real(2)) / 2;
    case RefineLoss::insensitive:
      return rounded(std::max(Real(0), std::abs(f - y) - problem.epsilon + h));
    case RefineLoss::squared: break;
  }
  return (f - y) * (f - y) / 2;
}

// The value, and the size of what was summed up for it.
Real objective(const Problem& problem, const Model& model, Real& size) {
  Real value = 0;
  size = 0;
  for (Index o = 0; o < problem.k; ++o) {
    Real norm = 0;
    for (Index i = 0; i < problem.m; ++i)
      for (Index j = 0; j < problem.m; ++j) {
        const Real both = Real(model.coef[i * problem.k + o]) * model.coef[j * problem.k + o];
        const Real part = both * kernel(problem, model, &model.vectors[i * problem.d],
                                        &model.vectors[j * problem.d]);
        norm += part;
        size += problem.penalty[o] / 2 * std::abs(part);
      }
    value += problem.penalty[o] / 2 * norm;
    for (Index i = 0; i < problem.n; ++i) {
      const auto x = image(problem, model, i);
      Real f = model.intercept[o],
           reach = std::abs(f) + std::abs(Real(problem.Y[i * problem.k + o])) + 1;
      for (Index j = 0; j < problem.m; ++j) {
        const Real part = model.coef[j * problem.k + o] *
                          kernel(problem, model, x.data(), &model.vectors[j * problem.d]);
        f += part;
        reach += std::abs(part);
      }
      const Real weight = problem.weights[i * problem.k + o];
      value += weight * loss_of(problem, problem.Y[i * problem.k + o], f);
      size += weight * reach * reach;
    }
  }
  for (Index e = 0; e < model.map.size(); ++e)
    value += problem.decay * model.map[e] * Real(model.map[e]);
  size += value > 0 ? value : -value;
  return value;
}

bool is_finite(const Exactly<double>& values) {
  for (Index i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) return false;
  return true;
}

void check(Input& in) {
  const bool tame = in.byte() % 4 != 0;
  const Index n = in.up_to(24), d = in.up_to(5), p = d > 0 && in.flag() ? 1 + in.up_to(6) : 0,
              m = 1 + in.up_to(11), k = 1 + in.up_to(3);
  const auto loss = static_cast<RefineLoss>(in.byte() % 4);
  const auto widths = d > 0 && !p ? static_cast<Widths>(in.byte() % 3) : Widths::fixed;
  const bool eliminate = loss == RefineLoss::squared && !p && in.flag();
  Problem problem{n,
                  d,
                  m,
                  k,
                  p,
                  loss,
                  p ? in.flag() ? 1e-6 : 1e-2 : 0.0,
                  in.flag() ? 0.5 : 1e-3,
                  in.flag() ? 0.1 : 0.0,
                  in.array<double>(n * (p ? p : d), true, tame),
                  in.array<double>(n * k, true, tame),
                  in.array<double>(n * k, true, tame),
                  in.array<double>(k, true, tame),
                  Exactly<double>(m * m)};
  const double least = in.flag() ? 1e-6 : 1e-2;
  for (Index i = 0; i < n * k; ++i) {
    double& y = problem.Y[i];
    if (loss == RefineLoss::rounded_hinge || loss == RefineLoss::squared_hinge)
      y = y < 0 ? -1.0 : 1.0;
    problem.weights[i] = std::abs(eliminate ? problem.weights[i / k * k] : problem.weights[i]);
  }
  for (Index o = 0; o < k; ++o)
    problem.penalty[o] = std::abs(problem.penalty[eliminate ? 0 : o]) + least;
  Model model{in.array<double>(m * d, true, tame), in.array<double>(m * k, true, tame),
              in.array<double>(k, true, tame), in.array<double>(d, true, tame),
              in.array<double>(d * p, true, tame)};
  for (Index c = 0; c < d; ++c) model.log_widths[c] = p ? 0.0 : std::fmod(model.log_widths[c], 8.0);
  // the Cholesky factor of the kernel matrix, with a ridge that keeps it well off zero
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j <= i; ++j) {
      Real rest = kernel(problem, model, &model.vectors[i * d], &model.vectors[j * d]) +
                  (i == j ? 1e-3L : 0.0L);
      for (Index c = 0; c < j; ++c)
        rest -= Real(problem.factor[i * m + c]) * problem.factor[j * m + c];
      problem.factor[i * m + j] =
          static_cast<double>(i == j ? std::sqrt(rest) : rest / problem.factor[j * m + j]);
    }
  RefineJob job{};
  job.X = problem.X.data();
  job.Y = problem.Y.data();
  job.weights = problem.weights.data();
  job.penalty = problem.penalty.data();
  job.factor = problem.factor.data();
  job.loss = loss;
  job.rounding = problem.rounding;
  job.epsilon = problem.epsilon;
  job.widths = widths;
  job.eliminate = eliminate;
  job.tol = in.flag() ? 1e-4 : 1e-10;
  job.max_iterations = in.up_to(30);
  job.memory = 1 + in.up_to(11);
  job.n = n;
  job.d = d;
  job.p = p;
  job.decay = problem.decay;
  job.map = model.map.data();
  job.m = m;
  job.k = k;
  job.vectors = model.vectors.data();
  job.coef = model.coef.data();
  job.intercept = model.intercept.data();
  job.log_widths = model.log_widths.data();
  Real size = 0, after_size = 0;
  const Real start = objective(problem, model, size);
  const Index most = job.max_iterations;
  PROMISE(refine(job, never), "interrupted by nobody");
  PROMISE(job.iterations <= most, "%lld iterations", static_cast<long long>(job.iterations));
  if (!tame) return;
  PROMISE(
      is_finite(model.vectors) && is_finite(model.coef) && is_finite(model.intercept) &&
          is_finite(model.log_widths) && is_finite(model.map) && std::isfinite(job.value),
      "refine: not finite, value %g; %lld rows, %lld inputs, %lld vectors, loss %d, widths %d, %s",
      job.value, static_cast<long long>(n), static_cast<long long>(d), static_cast<long long>(m),
      static_cast<int>(loss), static_cast<int>(widths),
      eliminate ? "coefficients solved for" : "all searched for");
  const Real end = objective(problem, model, after_size);
  // coefficients that are solved for have a ridge of their own
  const Real error = (eliminate ? 1e-5L : 1e-8L) * (size + after_size) + 1e-280L;
  PROMISE(end <= start + error, "refine: %Lg after %Lg", end, start);
  if (!eliminate)
    PROMISE(std::abs(end - job.value) <= error,
            "refine: the value is %Lg, said %g, may be off by %Lg", end, job.value, error);
}

}  // namespace
}  // namespace slimsvm

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  slimsvm::Input in(bytes, size);
  slimsvm::choose_set(in.byte());
  slimsvm::check(in);
  return 0;
}
