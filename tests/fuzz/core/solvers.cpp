// The descents, the active set, the hinge machine and the one-norm machine: what comes out lies
// within its bounds, is no worse than the start and as near to the optimum as it says; two ways to
// a solution agree. Of numbers beyond all measure only that the call ends and stays within its
// memory.
#include "input.hpp"

namespace slimsvm {
namespace {

using Real = long double;

template <class T>
Exactly<T> sizes(Exactly<T> values) {
  for (Index i = 0; i < values.size(); ++i) values[i] = std::abs(values[i]);
  return values;
}

template <class T>
T clip(T value, T lower, T upper) {
  return value < lower ? lower : value > upper ? upper : value;
}

// Gradients and sizes of a quadratic problem at x, in extended precision.
struct Measured {
  std::vector<Real> gradient, rounding;
  Real objective = 0, size = 0;
};

// 1/2 x'Gx - target'x with G = Z Z' + diag(ridge).
template <class T>
Measured measure(const Exactly<T>& Z, Index n, Index m, const T* ridge, const T* target,
                 const T* x) {
  Measured found;
  std::vector<Real> w(static_cast<std::size_t>(m)), reach(w);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < m; ++j) {
      const Real term = Real(Z[i * m + j]) * x[i];
      w[static_cast<std::size_t>(j)] += term;
      reach[static_cast<std::size_t>(j)] += std::abs(term);
    }
  for (Index i = 0; i < n; ++i) {
    const Real own = ridge ? Real(ridge[i]) * x[i] : Real(0), t = target[i];
    Real gradient = own - t, size = std::abs(own) + std::abs(t);
    for (Index j = 0; j < m; ++j) {
      gradient += Z[i * m + j] * w[static_cast<std::size_t>(j)];
      size += std::abs(Z[i * m + j]) * reach[static_cast<std::size_t>(j)];
    }
    found.gradient.push_back(gradient);
    found.rounding.push_back(size);
    found.objective += x[i] * (gradient - t) / 2;
    found.size += std::abs(x[i]) * size;
  }
  return found;
}

template <class T>
void check_within(const T* x, const T* lower, const T* upper, Index n, const char* who) {
  for (Index i = 0; i < n; ++i)
    PROMISE(x[i] >= lower[i] && x[i] <= upper[i],
            "%s: entry %lld is %.17g, its bounds %.17g and %.17g", who, static_cast<long long>(i),
            static_cast<double>(x[i]), static_cast<double>(lower[i]),
            static_cast<double>(upper[i]));
}

// Bounds and a start between them.
template <class T>
struct Bounds {
  Exactly<T> lower, upper, start;
  Bounds(Input& in, Index n, bool tame)
      : lower(in.array<T>(n, true, tame)),
        upper(in.array<T>(n, true, tame)),
        start(in.array<T>(n, true, tame)) {
    const unsigned way = in.byte();
    for (Index i = 0; i < n; ++i) {
      if (way & 1u) lower[i] = T(0);
      upper[i] = upper[i] > lower[i] ? upper[i] : lower[i] + (way & 2u ? T(1) : T(0));
      start[i] = way & 4u ? lower[i] : clip(start[i], lower[i], upper[i]);
    }
  }
};

template <class T>
void box(Input& in, bool tame) {
  const Index n = in.up_to(24), m = in.up_to(20), most = in.up_to(60);
  const Exactly<T> A = in.array<T>(n * m, true, tame), target = in.array<T>(n, true, tame);
  const Exactly<T> ridge = sizes(in.array<T>(n, true, tame));
  const Bounds<T> bounds(in, n, tame);
  const double tol = in.flag() ? 1e-3 : 1e-9;
  const std::uint64_t seed = in.byte();
  BoxJob<T> job{};
  Exactly<T> first(n);
  for (int time = 0; time < 2; ++time) {
    Exactly<T> x(n), w(m), curvature(n);
    Exactly<Index> order(n);
    for (Index i = 0; i < n; ++i) x[i] = bounds.start[i];
    job = {A.data(),
           target.data(),
           ridge.data(),
           bounds.lower.data(),
           bounds.upper.data(),
           static_cast<T>(tol),
           most,
           seed,
           n,
           m,
           x.data(),
           w.data(),
           curvature.data(),
           order.data(),
           0,
           T(0)};
    PROMISE(minimise_in_box(job, never), "interrupted by nobody");
    PROMISE(job.epochs <= most, "%lld epochs", static_cast<long long>(job.epochs));
    if (time == 1) PROMISE(first.same_bits(x), "box_cd: another answer to the same question");
    for (Index i = 0; i < n; ++i) first[i] = x[i];
    if (!tame) continue;
    check_within(x.data(), bounds.lower.data(), bounds.upper.data(), n, "box_cd");
    const Measured before = measure(A, n, m, ridge.data(), target.data(), bounds.start.data());
    const Measured after = measure(A, n, m, ridge.data(), target.data(), x.data());
    const Real eps = std::numeric_limits<T>::epsilon() * Real(64 + 4 * most);
    PROMISE(after.objective <= before.objective + eps * (before.size + after.size),
            "box_cd: %Lg after %Lg", after.objective, before.objective);
    if (most == 0 || job.epochs == most || n == 0) continue;
    for (Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Real g = after.gradient[at],
                 room = eps * (after.rounding[at] + before.rounding[at]) + tol;
      PROMISE(x[i] <= bounds.lower[i] || g <= room || curvature[i] == T(0),
              "box_cd: %Lg, may be %Lg", g, room);
      PROMISE(x[i] >= bounds.upper[i] || -g <= room || curvature[i] == T(0),
              "box_cd: %Lg, may be %Lg", g, room);
    }
  }
}

// The largest difference of two gradients that a pair could make smaller.
template <class T>
Real pair_violation(const Measured& at, const T* x, const Bounds<T>& bounds, Index n,
                    Real& rounding) {
  Real highest = -INFINITY, lowest = INFINITY;
  rounding = 0;
  for (Index i = 0; i < n; ++i) {
    const Real slope = -at.gradient[static_cast<std::size_t>(i)];
    if (x[i] < bounds.upper[i]) highest = std::max(highest, slope);
    if (x[i] > bounds.lower[i]) lowest = std::min(lowest, slope);
    rounding = std::max(rounding, at.rounding[static_cast<std::size_t>(i)]);
  }
  return highest > lowest ? highest - lowest : Real(0);
}

template <class T>
Real total(const T* x, Index n, Real& size) {
  Real sum = 0;
  size = 0;
  for (Index i = 0; i < n; ++i) sum += x[i], size += std::abs(Real(x[i]));
  return sum;
}

template <class T>
void pairs(Input& in, bool tame) {
  const Index n = in.up_to(24), m = in.up_to(12), most = in.up_to(400);
  const Exactly<T> Z = in.array<T>(n * m, true, tame), target = in.array<T>(n, true, tame);
  const Bounds<T> bounds(in, n, tame);
  const double tol = in.flag() ? 1e-3 : 1e-7;
  Exactly<T> G(n * n), x(n), gradient(n), diagonal(n), gain(n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      for (Index c = 0; c < m; ++c) G[i * n + j] += Z[i * m + c] * Z[j * m + c];
  for (Index i = 0; i < n; ++i) x[i] = bounds.start[i];
  PairJob<T> job{};
  job.G = G.data();
  job.target = target.data();
  job.lower = bounds.lower.data();
  job.upper = bounds.upper.data();
  job.tol = static_cast<T>(tol);
  job.tiny = std::numeric_limits<T>::min();
  job.max_iterations = most;
  job.n = n;
  job.x = x.data();
  job.gradient = gradient.data();
  job.diagonal = diagonal.data();
  job.gain = gain.data();
  PROMISE(minimise_in_pairs(job, never), "interrupted by nobody");
  PROMISE(job.iterations <= most, "%lld iterations", static_cast<long long>(job.iterations));
  if (!tame) return;
  check_within(x.data(), bounds.lower.data(), bounds.upper.data(), n, "pair_cd");
  const Measured before = measure<T>(Z, n, m, nullptr, target.data(), bounds.start.data());
  const Measured after = measure<T>(Z, n, m, nullptr, target.data(), x.data());
  const Real eps = std::numeric_limits<T>::epsilon() * Real(64 + 4 * most);
  Real size, start_size, rounding;
  const Real sum = total(x.data(), n, size), kept = total(bounds.start.data(), n, start_size);
  PROMISE(std::abs(sum - kept) <= eps * (size + start_size), "pair_cd: the sum was %Lg and is %Lg",
          kept, sum);
  PROMISE(after.objective <= before.objective + eps * (before.size + after.size),
          "pair_cd: %Lg after %Lg", after.objective, before.objective);
  const Real violation = pair_violation(after, x.data(), bounds, n, rounding);
  if (job.violation <= job.tol)
    PROMISE(violation <= tol + eps * rounding, "pair_cd: %Lg, may be %Lg", violation,
            tol + eps * rounding);
}

// The upper Cholesky factor of G at some rows; false if it has none to speak of.
bool factor_of(const Exactly<double>& G, Index n, const Exactly<Index>& rows, Index count,
               Exactly<double>& R) {
  for (Index k = 0; k < count; ++k)
    for (Index i = k; i < count; ++i) {
      double rest = G[rows[k] * n + rows[i]];
      for (Index c = 0; c < k; ++c) rest -= R[c * count + k] * R[c * count + i];
      if (i == k && !(rest > 1e-6 * G[rows[k] * n + rows[k]])) return false;
      R[k * count + i] = i == k ? std::sqrt(rest) : rest / R[k * count + k];
    }
  return true;
}

void active(Input& in, bool tame) {
  const Index n = in.up_to(40), m = in.up_to(12), looks = in.up_to(200);
  const Exactly<double> Z = in.array<double>(n * m, true, tame),
                        target = in.array<double>(n, true, tame);
  const Bounds<double> bounds(in, n, tame);
  const double tol = in.flag() ? 1e-3 : 1e-8;
  Exactly<double> G(n * n), x(n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      for (Index c = 0; c < m; ++c) G[i * n + j] += Z[i * m + c] * Z[j * m + c];
  Index count = 0;
  for (Index i = 0; i < n; ++i) {
    x[i] = bounds.start[i];
    count += x[i] > bounds.lower[i] && x[i] < bounds.upper[i];
  }
  Exactly<Index> inside(count);
  Exactly<double> factor(count * count);
  for (Index i = 0, k = 0; i < n; ++i)
    if (x[i] > bounds.lower[i] && x[i] < bounds.upper[i]) inside[k++] = i;
  if (!in.flag() || !factor_of(G, n, inside, count, factor)) count = 0;
  ActiveJob job{};
  job.most_free = std::max<Index>(2, count) + in.up_to(std::max<Index>(n, 2));
  Exactly<Index> free(job.most_free);
  for (Index k = 0; k < count; ++k) free[k] = inside[k];
  job.G = G.data();
  job.target = target.data();
  job.lower = bounds.lower.data();
  job.upper = bounds.upper.data();
  job.factor = factor.data();
  job.tol = tol;
  job.max_work = in.flag() ? 1e9 : 1e4;
  job.n = n;
  job.n_start = count;
  job.x = x.data();
  job.free = free.data();
  job.looks = looks;
  PROMISE(minimise_by_active_set(job, never), "interrupted by nobody");
  PROMISE(job.looks <= std::max<Index>(looks, 1), "%lld looks", static_cast<long long>(job.looks));
  if (!tame) return;
  for (Index i = 0; i < n; ++i) PROMISE(std::isfinite(x[i]), "active_set: an entry is %g", x[i]);
  if (!(job.violation <= tol)) return;
  const Measured after = measure<double>(Z, n, m, nullptr, target.data(), x.data());
  const Measured before = measure<double>(Z, n, m, nullptr, target.data(), bounds.start.data());
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Real g = after.gradient[at] + job.level;
    const Real room = 2 * tol + 1e-9L * (after.rounding[at] + before.rounding[at]);
    PROMISE(x[i] <= bounds.lower[i] || g <= room, "active_set: slope %Lg, may be %Lg", g, room);
    PROMISE(x[i] >= bounds.upper[i] || -g <= room, "active_set: slope %Lg, may be %Lg", g, room);
  }
}

void hinge(Input& in, bool tame) {
  const Index n = in.up_to(60), m = in.up_to(40), k = in.up_to(44);
  const Exactly<double> B = in.array<double>(n * m, true, tame),
                        scale = in.array<double>(k, true, tame);
  const Exactly<double> target = in.array<double>(n, true, tame);
  Exactly<double> upper = sizes(in.array<double>(n, true, tame));
  const double least = in.flag() ? 1e-6 : 1.0;  // bounds are positive
  for (Index i = 0; i < n; ++i) upper[i] = upper[i] > least ? upper[i] : least;
  const Exactly<double> start = in.array<double>(n, true, tame),
                        side = in.array<double>(n, true, true);
  Exactly<Index> columns(k);
  Exactly<double> sign(n), x(n), w(k), none(n), Z(n * k);
  for (Index j = 0; j < k; ++j) columns[j] = in.flag() ? j % (m + 1) : in.up_to(m);
  for (Index i = 0; i < n; ++i) {
    sign[i] = side[i] < 0 ? -1.0 : 1.0;
    x[i] = start[i];
    for (Index j = 0; j < k; ++j)
      Z[i * k + j] = sign[i] * (columns[j] < m ? B[i * m + columns[j]] : 1.0) * scale[j];
  }
  HingeJob job{};
  job.B = B.data();
  job.sign = sign.data();
  job.columns = columns.data();
  job.scale = scale.data();
  job.target = target.data();
  job.upper = upper.data();
  job.tol = in.flag() ? 1e-3 : 1e-8;
  job.max_cycles = in.up_to(60);
  job.n = n;
  job.m = m;
  job.k = k;
  job.x = x.data();
  job.w = w.data();
  PROMISE(minimise_hinge(job, never), "interrupted by nobody");
  // without the certificate of a gap the caller solves the problem by other means
  if (!tame || !(job.gap <= job.tol)) return;
  check_within(x.data(), none.data(), upper.data(), n, "scaled_hinge");
  const Measured after = measure<double>(Z, n, k, nullptr, target.data(), x.data());
  Real loss = 0, norm = 0, linear = 0, rounding = 0;
  for (Index i = 0; i < n; ++i) {
    loss += upper[i] * std::max(Real(0), -after.gradient[static_cast<std::size_t>(i)]);
    rounding += upper[i] * after.rounding[static_cast<std::size_t>(i)];
    linear += Real(target[i]) * x[i];
  }
  for (Index j = 0; j < k; ++j) {
    Real sum = 0, size = 0;
    for (Index i = 0; i < n; ++i)
      sum += Real(Z[i * k + j]) * x[i], size += std::abs(Real(Z[i * k + j]) * x[i]);
    PROMISE(std::abs(sum - w[j]) <= 1e-9L * size + 1e-300L, "scaled_hinge: w is %g, should be %Lg",
            w[j], sum);
    norm += sum * sum;
  }
  const Real primal = norm / 2 + loss, gap = primal - linear + norm / 2;
  // below 1e-300 the core calls a gap none, and numbers have few digits
  const Real error = 1e-14L * (rounding + after.size + primal) + 1e-300L;
  PROMISE(gap <= job.gap * primal + error, "scaled_hinge: a gap of %Lg of %Lg, said %g", gap,
          primal, job.gap);
}

// Whether it is the optimum the caller sees by the gap; here: within its limits, and repeatable.
void one_norm(Input& in, bool tame) {
  const Index n = in.up_to(16), m = in.up_to(12);
  const Exactly<double> B = in.array<double>(n * m, true, tame),
                        t = in.array<double>(n, true, tame);
  Exactly<double> c = sizes(in.array<double>(n, true, tame)),
                  free = in.array<double>(n, true, tame);
  for (Index i = 0; i < n; ++i) c[i] = c[i] > 0.0 ? c[i] : 1.0;
  const Index most = 1 + in.up_to(16), steps = in.up_to(200);
  const bool with_intercept = in.flag();
  Exactly<double> alpha(m), beta(n), first(m);
  Exactly<Index> active(most), elbow(most);
  OneNormJob job{};
  for (int time = 0; time < 2; ++time) {
    job = {};
    job.B = B.data();
    job.t = t.data();
    job.c = c.data();
    job.free = with_intercept ? free.data() : nullptr;
    job.n = n;
    job.m = m;
    job.most = most;
    job.pivots = steps;
    job.active = active.data();
    job.elbow = elbow.data();
    job.alpha = alpha.data();
    job.beta = beta.data();
    PROMISE(minimise_one_norm(job, never), "interrupted by nobody");
    PROMISE(job.pivots <= steps, "%lld steps", static_cast<long long>(job.pivots));
    if (time == 1) PROMISE(first.same_bits(alpha), "one_norm: another answer to the same question");
    for (Index j = 0; j < m; ++j) first[j] = alpha[j];
  }
  if (!tame) return;
  Index used = 0;
  for (Index j = 0; j < m; ++j) used += alpha[j] != 0.0;
  PROMISE(used <= most, "one_norm: %lld coefficients", static_cast<long long>(used));
  const Exactly<double> none(n);
  check_within(beta.data(), none.data(), c.data(), n, "one_norm");
}

}  // namespace
}  // namespace slimsvm

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace slimsvm;
  Input in(bytes, size);
  choose_set(in.byte());
  const unsigned what = in.byte();
  const bool tame = what & 1u, single = what & 2u;
  if (what & 0x80u) {
    one_norm(in, tame);
    return 0;
  }
  switch (what >> 2 & 3u) {
    case 0: single ? box<float>(in, tame) : box<double>(in, tame); break;
    case 1: single ? pairs<float>(in, tame) : pairs<double>(in, tame); break;
    case 2: active(in, tame); break;
    default: hinge(in, tame); break;
  }
  return 0;
}
