// The core without Python, against plain loops in double precision: for processors that Python is
// not there for, run in an emulator (`make qemu`). Prints the sets of the machine and what was
// compared; ends with 1 at the first difference. An argument is the name of the set that must have
// been chosen.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "dispatch.hpp"

using namespace slimsvm;

namespace {

using Doubles = std::vector<double>;

Index compared = 0;

bool never() {
  return false;
}

void require(bool holds, const std::string& what) {
  ++compared;
  if (holds) return;
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

// Uniform in [-1, 1), the same numbers on every machine.
double draw() {
  static std::uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 11) * (2.0 / 9007199254740992.0) - 1.0;
}

template <class T>
std::vector<T> drawn(Index count, double shift = 0.0) {
  std::vector<T> values(at(count));
  for (T& value : values) value = static_cast<T>(2.0 * draw() + shift);
  return values;
}

constexpr Kind kinds[] = {Kind::rbf, Kind::linear, Kind::polynomial, Kind::sigmoid,
                          Kind::laplacian};

bool by_distance(Kind kind) {
  return kind == Kind::rbf || kind == Kind::laplacian;
}

template <class T>
double kernel(const Job<T>& job, const Doubles& widths, const T* x, const T* v) {
  double total = 0.0;
  for (Index j = 0; j < job.d; ++j) {
    const double a = static_cast<double>(x[j]), b = static_cast<double>(v[j]);
    if (job.kind == Kind::rbf)
      total -= widths[at(j)] * (a - b) * (a - b);
    else if (job.kind == Kind::laplacian)
      total -= widths[at(j)] * std::abs(a - b);
    else
      total += a * b;
  }
  if (by_distance(job.kind)) return std::exp(total);
  if (job.kind == Kind::linear) return total;
  const double inner = job.gamma * total + job.coef0;
  return job.kind == Kind::sigmoid ? std::tanh(inner) : std::pow(inner, job.degree);
}

// Relative to the size of what is added up; products are also bounded by the size of their terms.
template <class T>
double tolerance(const Job<T>& job) {
  const double digits = std::is_same<T, float>::value ? 2e-5 : 1e-12;
  return by_distance(job.kind) || job.kind == Kind::sigmoid ? digits
                                                            : digits * static_cast<double>(job.d);
}

template <class T>
Job<T> job_for(Kind kind, Index d) {
  Job<T> job{};
  job.kind = kind;
  job.d = d;
  job.gamma = kind == Kind::linear ? 1.0 : 1.0 / static_cast<double>(d);
  job.coef0 = kind == Kind::polynomial ? 0.5 : kind == Kind::sigmoid ? -0.25 : 0.0;
  job.degree = 3;
  return job;
}

// Kernel values (k == 0) or outputs, with one thread and with three.
template <class T>
void compare(Kind kind, Index n, Index m, Index d, Index k, double shift) {
  const auto X = drawn<T>(n * d, shift), Z = drawn<T>(m * d, shift), coef = drawn<T>(m * k),
             intercept = drawn<T>(k);
  Doubles widths(at(d));
  for (double& width : widths) width = (1.0 + 0.5 * draw()) / static_cast<double>(d);
  const Index columns = k ? k : m;
  std::vector<T> out(at(n * columns)), again(at(n * columns));
  Job<T> job = job_for<T>(kind, d);
  job.X = X.data();
  job.vectors = Z.data();
  job.n = n;
  job.m = m;
  job.k = columns;
  job.coef = k ? coef.data() : nullptr;
  job.intercept = k ? intercept.data() : nullptr;
  job.out = out.data();
  const std::string what = "kind " + std::to_string(static_cast<int>(kind)) + ", " +
                           std::to_string(8 * sizeof(T)) + " bits, n " + std::to_string(n) +
                           ", m " + std::to_string(m) + ", d " + std::to_string(d) + ", k " +
                           std::to_string(k) + ", shift " + std::to_string(shift);
  require(evaluate(job, widths.data(), 1, never), what);
  job.out = again.data();
  require(evaluate(job, widths.data(), 3, never), what);
  require(std::memcmp(out.data(), again.data(), out.size() * sizeof(T)) == 0, "threads: " + what);

  const double limit = tolerance(job);
  for (Index i = 0; i < n; ++i) {
    Doubles values(at(m));
    for (Index j = 0; j < m; ++j) values[at(j)] = kernel(job, widths, &X[at(i * d)], &Z[at(j * d)]);
    for (Index c = 0; c < columns; ++c) {
      double wanted = values.empty() ? 0.0 : values[at(k ? 0 : c)], size = 1.0 + std::abs(wanted);
      if (k) {
        wanted = static_cast<double>(intercept[at(c)]);
        size = std::abs(wanted) + 1e-3;
        for (Index j = 0; j < m; ++j) {
          const double term = static_cast<double>(coef[at(j * k + c)]) * values[at(j)];
          wanted += term;
          size += std::abs(term);
        }
      }
      const double found = static_cast<double>(out[at(i * columns + c)]);
      require(std::abs(found - wanted) <= limit * size, what);
    }
  }
}

template <class T>
void compare_all() {
  for (const Kind kind : kinds)
    for (const Index d : {1, 3, 8, 17})
      for (const Index n : {1, 7, 8, 9, 33})
        for (const Index m : {1, 5, 16, 33, 49, 97})
          for (const Index k : {0, 1, 3}) compare<T>(kind, n, m, d, k, 0.0);
  for (const Kind kind : {Kind::rbf, Kind::laplacian})  // far from the origin
    for (const Index m : {5, 97})
      for (const Index k : {0, 2}) compare<T>(kind, 40, m, 6, k, 1e4);
  compare<T>(Kind::rbf, 700, 200, 20, 4, 0.0);  // several blocks of rows
}

// A sentinel in one row spoils no other, and not-a-number stays so.
template <class T>
void check_sentinels() {
  const Index n = 20, m = 40, d = 4;
  auto X = drawn<T>(n * d);
  const auto Z = drawn<T>(m * d), coef = drawn<T>(m), intercept = drawn<T>(1);
  const Doubles widths(at(d), 0.5);
  std::vector<T> clean(at(n)), out(at(n));
  Job<T> job = job_for<T>(Kind::rbf, d);
  job.X = X.data();
  job.vectors = Z.data();
  job.coef = coef.data();
  job.intercept = intercept.data();
  job.n = n;
  job.m = m;
  job.k = 1;
  job.out = clean.data();
  require(evaluate(job, widths.data(), 1, never), "rows before sentinels");
  X[at(3 * d)] = T(-9999);
  X[at(5 * d + 1)] = std::numeric_limits<T>::max();
  X[at(7 * d + 2)] = std::numeric_limits<T>::quiet_NaN();
  job.out = out.data();
  require(evaluate(job, widths.data(), 1, never), "rows with sentinels");
  for (Index i = 0; i < n; ++i) {
    if (i == 7)
      require(std::isnan(out[at(i)]), "not-a-number stays so");
    else
      require(out[at(i)] == (i == 3 || i == 5 ? intercept[0] : clean[at(i)]), "sentinels");
  }
}

// Points of two classes, their labels and their Gram matrix with the labels' signs.
struct Classes {
  static constexpr Index n = 60, d = 3;
  Doubles X = drawn<double>(n * d), y, G;
  Classes() {
    for (Index i = 0; i < n; ++i) y.push_back(X[at(i * d)] + 0.3 * draw() > 0.0 ? 1.0 : -1.0);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        double square = 0.0;
        for (Index c = 0; c < d; ++c) {
          const double difference = X[at(i * d + c)] - X[at(j * d + c)];
          square += difference * difference;
        }
        G.push_back(std::exp(-0.5 * square) + (i == j ? 1e-3 : 0.0));
      }
  }
};

double objective(const Doubles& G, const Doubles& x, const Doubles& target) {
  double value = 0.0;
  const Index n = static_cast<Index>(x.size());
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) value += 0.5 * x[at(i)] * G[at(i * n + j)] * x[at(j)];
    value -= target[at(i)] * x[at(i)];
  }
  return value;
}

// An SVM's dual with an intercept: in pairs and by an active set, which must agree.
void check_pairs() {
  const Classes data;
  constexpr Index n = Classes::n;
  Doubles lower, upper, in_pairs(n), by_set(n), gradient(n), scratch(2 * n);
  for (const double label : data.y) {
    lower.push_back(label > 0.0 ? 0.0 : -2.0);
    upper.push_back(label > 0.0 ? 2.0 : 0.0);
  }
  PairJob<double> job{};
  job.G = data.G.data();
  job.target = data.y.data();
  job.lower = lower.data();
  job.upper = upper.data();
  job.tol = 1e-9;
  job.tiny = std::numeric_limits<double>::min();
  job.max_iterations = 1000000;
  job.n = n;
  job.x = in_pairs.data();
  job.gradient = gradient.data();
  job.diagonal = scratch.data();
  job.gain = scratch.data() + n;
  require(minimise_in_pairs(job, never) && job.violation <= 1e-9, "pairs");

  std::vector<Index> free(at(n));
  ActiveJob other{};
  other.G = data.G.data();
  other.target = data.y.data();
  other.lower = lower.data();
  other.upper = upper.data();
  other.tol = 1e-9;
  other.max_work = 1e12;
  other.n = n;
  other.most_free = n;
  other.x = by_set.data();
  other.free = free.data();
  other.looks = 100000;
  require(minimise_by_active_set(other, never) && other.violation <= 1e-9, "active set");
  const double a = objective(data.G, in_pairs, data.y), b = objective(data.G, by_set, data.y);
  require(std::abs(a - b) <= 1e-9 * std::abs(a), "pairs and active set");
}

// The linear hinge machine on the Gram matrix's columns: its primal and dual by plain loops.
void check_hinge() {
  const Classes data;
  constexpr Index n = Classes::n;
  Doubles scale(n, 1.0), ones(n, 1.0), x(n), w(n);
  std::vector<Index> columns;
  for (Index j = 0; j < n; ++j) columns.push_back(j);
  HingeJob job{};
  job.B = data.G.data();
  job.sign = data.y.data();
  job.columns = columns.data();
  job.scale = scale.data();
  job.target = ones.data();
  job.upper = ones.data();
  job.tol = 1e-6;
  job.max_cycles = 50;
  job.n = job.m = job.k = n;
  job.x = x.data();
  job.w = w.data();
  require(minimise_hinge(job, never), "hinge");
  double square = 0.0, loss = 0.0, total = 0.0;
  for (Index i = 0; i < n; ++i) {
    double f = 0.0;
    for (Index j = 0; j < n; ++j) f += data.y[at(i)] * data.G[at(i * n + j)] * w[at(j)];
    loss += f < 1.0 ? 1.0 - f : 0.0;
    square += w[at(i)] * w[at(i)];
    total += x[at(i)];
  }
  const double primal = 0.5 * square + loss, dual = total - 0.5 * square;
  require(primal - dual <= 1.01e-6 * primal, "the gap of the hinge machine");

  // coordinate descent on the same box problem
  Doubles A(at(n * n)), ridge(n), lower(n), start(n), other(n), curvature(n);
  std::vector<Index> order(at(n));
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) A[at(i * n + j)] = data.y[at(i)] * data.G[at(i * n + j)];
  BoxJob<double> box{};
  box.A = A.data();
  box.target = box.upper = ones.data();
  box.ridge = ridge.data();
  box.lower = lower.data();
  box.tol = 1e-8;
  box.max_epochs = 1000000;
  box.seed = 1;
  box.n = box.m = n;
  box.x = start.data();
  box.w = other.data();
  box.curvature = curvature.data();
  box.order = order.data();
  require(minimise_in_box(box, never) && box.violation <= 1e-8, "box");
  square = total = 0.0;
  for (Index i = 0; i < n; ++i) {
    square += other[at(i)] * other[at(i)];
    total += start[at(i)];
  }
  require(std::abs(total - 0.5 * square - dual) <= 2e-6 * primal, "box and hinge");
}

// The one-norm machine: its primal and dual by plain loops.
void check_one_norm() {
  const Classes data;
  constexpr Index n = Classes::n;
  Doubles B(at(n * n)), ones(n, 1.0), alpha(n), beta(n);
  std::vector<Index> active(at(n)), elbow(at(n));
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) B[at(i * n + j)] = data.y[at(i)] * data.G[at(i * n + j)];
  OneNormJob job{};
  job.B = B.data();
  job.t = job.c = ones.data();
  job.free = data.y.data();
  job.n = job.m = job.most = n;
  job.pivots = 100000;
  job.active = active.data();
  job.elbow = elbow.data();
  job.alpha = alpha.data();
  job.beta = beta.data();
  require(minimise_one_norm(job, never) && job.optimal, "one norm");
  double primal = 0.0, dual = 0.0, balance = 0.0, reach = 0.0;
  for (Index i = 0; i < n; ++i) {
    double slack = 1.0 - job.intercept * data.y[at(i)], own = 0.0;
    for (Index j = 0; j < n; ++j) {
      slack -= B[at(i * n + j)] * alpha[at(j)];
      own += B[at(j * n + i)] * beta[at(j)];
    }
    primal += std::abs(alpha[at(i)]) + (slack > 0.0 ? slack : 0.0);
    dual += beta[at(i)];
    balance += beta[at(i)] * data.y[at(i)];
    reach = std::max(reach, std::abs(own));
  }
  require(std::abs(balance) <= 1e-8 && reach <= 1.0 + 1e-8, "the dual of the one norm");
  require(primal - dual <= 1e-7 * primal, "the gap of the one norm");
}

// What the two checks of refinement have in common.
RefineJob refinement(const Classes& data, const Doubles& weights, const Doubles& penalty,
                     const Doubles& factor) {
  RefineJob job{};
  job.X = data.X.data();
  job.Y = data.y.data();
  job.weights = weights.data();
  job.penalty = penalty.data();
  job.factor = factor.data();
  job.loss = RefineLoss::squared_hinge;
  job.tol = 1e-9;
  job.max_iterations = 200;
  job.memory = 10;
  job.n = Classes::n;
  return job;
}

// Joint refinement: its value is that of a plain loop, and lower than at the start.
void check_refinement() {
  const Classes data;
  constexpr Index n = Classes::n, d = Classes::d, m = 4;
  Doubles vectors(data.X.begin(), data.X.begin() + m * d), coef(m), intercept(1), logs(d, -0.5),
      weights(n, 1.0), penalty(1, 1e-3), factor(at(m * m));
  for (Index j = 0; j < m; ++j) factor[at(j * m + j)] = 1.0;
  RefineJob job = refinement(data, weights, penalty, factor);
  job.widths = Widths::per_feature;
  job.d = d;
  job.m = m;
  job.k = 1;
  job.vectors = vectors.data();
  job.coef = coef.data();
  job.intercept = intercept.data();
  job.log_widths = logs.data();
  require(refine(job, never), "refinement");
  const auto value = [&](const double* x, const double* v) {
    double square = 0.0;
    for (Index c = 0; c < d; ++c) square += std::exp(logs[at(c)]) * (x[c] - v[c]) * (x[c] - v[c]);
    return std::exp(-square);
  };
  double wanted = 0.0;
  for (Index i = 0; i < n; ++i) {
    double f = intercept[0];
    for (Index j = 0; j < m; ++j) f += coef[at(j)] * value(&data.X[at(i * d)], &vectors[at(j * d)]);
    const double slack = 1.0 - data.y[at(i)] * f;
    wanted += slack > 0.0 ? 0.5 * slack * slack : 0.0;
  }
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < m; ++j)
      wanted += 0.5 * penalty[0] * coef[at(i)] * coef[at(j)] *
                value(&vectors[at(i * d)], &vectors[at(j * d)]);
  require(std::abs(job.value - wanted) <= 1e-9 * wanted, "the value of the refinement");
  require(wanted < 0.5 * 0.5 * static_cast<double>(n), "the refinement goes down");
}

// The same with a map to one dimension that moves too.
void check_refined_map() {
  const Classes data;
  constexpr Index n = Classes::n, p = Classes::d, m = 4;
  Doubles vectors(m), coef(m), intercept(1), logs(1), weights(n, 1.0), penalty(1, 1e-3),
      factor(at(m * m)), map(p, 0.5);
  for (Index j = 0; j < m; ++j) {
    factor[at(j * m + j)] = 1.0;
    vectors[at(j)] = static_cast<double>(j) - 1.5;
  }
  RefineJob job = refinement(data, weights, penalty, factor);
  job.widths = Widths::fixed;
  job.d = 1;
  job.p = p;
  job.m = m;
  job.k = 1;
  job.decay = 1e-2;
  job.map = map.data();
  job.vectors = vectors.data();
  job.coef = coef.data();
  job.intercept = intercept.data();
  job.log_widths = logs.data();
  require(refine(job, never), "refinement of a map");
  double wanted = 0.0;
  for (Index i = 0; i < n; ++i) {
    double f = intercept[0], image = 0.0;
    for (Index c = 0; c < p; ++c) image += map[at(c)] * data.X[at(i * p + c)];
    for (Index j = 0; j < m; ++j)
      f += coef[at(j)] * std::exp(-std::pow(image - vectors[at(j)], 2.0));
    const double slack = 1.0 - data.y[at(i)] * f;
    wanted += slack > 0.0 ? 0.5 * slack * slack : 0.0;
  }
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < m; ++j)
      wanted += 0.5 * penalty[0] * coef[at(i)] * coef[at(j)] *
                std::exp(-std::pow(vectors[at(i)] - vectors[at(j)], 2.0));
  for (const double entry : map) wanted += job.decay * entry * entry;
  require(std::abs(job.value - wanted) <= 1e-9 * wanted, "the value of the refined map");
  require(wanted < 0.5 * 0.5 * static_cast<double>(n), "the refinement of a map goes down");
}

}  // namespace

int main(int count, char** arguments) {
  choose_instruction_set();
  std::printf("sets:");
  for (const auto* set : available_instruction_sets()) std::printf(" %s", set->name);
  std::printf("; in use: %s\n", instruction_set().name);
  if (count > 1) require(std::string(arguments[1]) == instruction_set().name, "the set in use");
  compare_all<float>();
  compare_all<double>();
  check_sentinels<float>();
  check_sentinels<double>();
  check_pairs();
  check_hinge();
  check_one_norm();
  check_refinement();
  check_refined_map();
  std::printf("%lld comparisons, no difference\n", static_cast<long long>(compared));
  return 0;
}
