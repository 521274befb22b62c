// expansion, finite_expansion and gram: right up to rounding at every finite row, the same bits for
// any number of threads, a row alone as among others, rows that are not finite reported.
#include "input.hpp"

namespace slimsvm {
namespace {

using Real = long double;

// A kernel value, how far rounding may take it, and the largest number on the way to it.
struct Value {
  Real value, error, largest;
};

template <class T>
class Case {
 public:
  explicit Case(Input& in)
      : kind(static_cast<Kind>(in.byte() % 5)),
        n(in.flag() ? in.up_to(12) : in.up_to(300)),
        m(in.up_to(in.flag() ? 40 : 130)),
        d(in.up_to(in.flag() ? 9 : 70)),
        k(1 + in.up_to(3)),
        gamma(in.finite()),
        coef0(in.finite()),
        degree(static_cast<int>(in.up_to(6))),
        finite(in.flag()),
        widths(in.array<double>(d)),
        X(in.array<T>(n * d, finite)),
        vectors(in.array<T>(m * d)),
        coef(in.array<T>(m * k)),
        intercept(in.array<T>(k)) {
    for (Index j = 0; j < d; ++j) widths[j] = std::abs(widths[j]);
    if (in.flag())  // rows that are vectors, and others far away beside them
      for (Index i = 0; i < n && m > 0; i += 3)
        for (Index j = 0; j < d; ++j) X[i * d + j] = vectors[i % m * d + j];
  }

  bool distances() const { return kind == Kind::rbf || kind == Kind::laplacian; }

  // The outputs (or, for no outputs, kernel values) of `count` rows from `first` on.
  Exactly<T> run(Index first, Index count, bool gram, int threads,
                 int* not_finite = nullptr) const {
    Exactly<T> rows(count * d), out(count * (gram ? m : k));
    for (Index i = 0; i < count * d; ++i) rows[i] = X[first * d + i];
    Job<T> job{};
    job.kind = kind;
    job.gamma = distances() ? 0.0 : gamma;
    job.coef0 = distances() ? 0.0 : coef0;
    job.degree = degree;
    job.X = rows.data();
    job.vectors = vectors.data();
    job.coef = gram ? nullptr : coef.data();
    job.intercept = gram ? nullptr : intercept.data();
    job.out = out.data();
    job.n = count;
    job.m = m;
    job.d = d;
    job.k = gram ? m : k;
    job.not_finite = not_finite;
    if (count > 0 && job.k > 0)
      PROMISE(evaluate(job, widths.data(), threads, never), "interrupted by nobody");
    return out;
  }

  bool is_finite_row(Index i) const {
    for (Index j = 0; j < d; ++j)
      if (!std::isfinite(X[i * d + j])) return false;
    return true;
  }

  // The kernel's value at row i and vector v in extended precision.
  Value exact(Index i, Index v) const {
    constexpr Real eps = std::numeric_limits<T>::epsilon(), least = std::numeric_limits<T>::min();
    Real sum = 0, size = 0;
    for (Index j = 0; j < d; ++j) {
      const Real x = X[i * d + j], z = vectors[v * d + j], width = widths[j];
      const Real term = kind == Kind::rbf         ? width * (x - z) * (x - z)
                        : kind == Kind::laplacian ? width * std::abs(x - z)
                                                  : x * z;
      sum += term;
      size += std::abs(term);
    }
    if (distances()) {
      const Real value = std::exp(-sum);
      // kernels.hpp: 3e-5 and 6e-13 for the exponents of packed rows, eps for each digit of others
      const Real share = (sizeof(T) == 4 ? 6e-5L : 2e-12L) + 4 * eps * (sum + static_cast<Real>(d));
      return {value, value * share + 8 * least, 1};
    }
    const Real rounding = eps * static_cast<Real>(d + 8);
    if (kind == Kind::linear) return {sum, rounding * size + 8 * least, size};
    const Real g = gamma, t = g * sum + coef0;
    const Real error = rounding * (std::abs(g) * size + std::abs(static_cast<Real>(coef0))) +
                       (8 * least * static_cast<Real>(d + 1)) * (std::abs(g) + 1);
    const Real reach = std::abs(t) + error, through = size + std::abs(g) * size + reach;
    if (kind == Kind::sigmoid) return {std::tanh(t), error + 8 * eps, through};
    const Real value = std::pow(t, static_cast<Real>(degree)), top = std::pow(reach, degree);
    return {value, top - std::abs(value) + 16 * eps * top + 8 * least, through + top};
  }

  // Row i of X, whose outputs and kernel values are those of row `at` of what was computed.
  void check_row(const Exactly<T>& out, const Exactly<T>& block, Index i, Index at_row) const {
    if (!is_finite_row(i)) return;
    constexpr Real eps = std::numeric_limits<T>::epsilon(), least = std::numeric_limits<T>::min();
    // sums of products in float32 that overflow are taken again in double precision
    const Real most = 1e300L, top = std::numeric_limits<T>::max() / Real(4);
    std::vector<Real> sums(static_cast<std::size_t>(k)), errors(sums), sizes(sums);
    Real largest = 0;
    for (Index v = 0; v < m; ++v) {
      const Value want = exact(i, v);
      largest = std::max(largest, want.largest);
      for (Index o = 0; o < k; ++o) {
        const auto at = static_cast<std::size_t>(o);
        const Real c = coef[v * k + o];
        sums[at] += c * want.value;
        sizes[at] += std::abs(c) * (std::abs(want.value) + want.error);
        errors[at] += std::abs(c) * want.error;
      }
      if (!(want.largest < most) || !(std::abs(want.value) + want.error < top)) continue;
      const Real got = block[at_row * m + v];
      PROMISE(std::abs(got - want.value) <= want.error,
              "kernel %d, float%d, row %lld, vector %lld of %lld: %.17Lg instead of %.17Lg, may be "
              "off by %Lg",
              static_cast<int>(kind), static_cast<int>(8 * sizeof(T)), static_cast<long long>(i),
              static_cast<long long>(v), static_cast<long long>(m), got, want.value, want.error);
    }
    for (Index o = 0; o < k; ++o) {
      const auto at = static_cast<std::size_t>(o);
      const Real b = intercept[o], size = sizes[at] + std::abs(b);
      if (!(largest < most) || !(size < top) || !(largest * size < most)) continue;
      const Real error =
          errors[at] + eps * static_cast<Real>(m + 8) * size + 8 * least * static_cast<Real>(m + 1);
      const Real got = out[at_row * k + o], want = sums[at] + b;
      PROMISE(std::abs(got - want) <= error,
              "kernel %d, float%d, row %lld of %lld, output %lld: %.17Lg instead of %.17Lg, may be "
              "off by %Lg",
              static_cast<int>(kind), static_cast<int>(8 * sizeof(T)), static_cast<long long>(i),
              static_cast<long long>(n), static_cast<long long>(o), got, want, error);
    }
  }

  void check() const {
    const Exactly<T> out = run(0, n, false, 1), block = run(0, n, true, 1);
    if (n > 96) {
      PROMISE(out.same_bits(run(0, n, false, 3)), "expansion: three threads give other bits");
      PROMISE(block.same_bits(run(0, n, true, 3)), "gram: three threads give other bits");
    }
    bool all_finite = true;
    for (Index i = 0; i < n; ++i) all_finite = all_finite && is_finite_row(i);
    if (kind == Kind::rbf && m > 0 && n > 0) {
      int not_finite = 0;
      const Exactly<T> same = run(0, n, false, n > 96 ? 3 : 1, &not_finite);
      PROMISE(not_finite == !all_finite, "a row that is not finite: reported %d", not_finite);
      PROMISE(same.same_bits(out), "finite_expansion and expansion differ");
    }
    // a few rows of a large case are enough: the last ones, where blocks and tiles end, among them
    const Index step = 1 + n * m * d / 20000;
    for (Index i = n - 1; i >= 0; i -= step) {
      check_row(out, block, i, i);
      // alone it is exact too, by whichever way it is taken
      check_row(run(i, 1, false, 1), run(i, 1, true, 1), i, 0);
    }
  }

 private:
  Kind kind;
  Index n, m, d, k;
  double gamma, coef0;
  int degree;
  bool finite;
  Exactly<double> widths;
  Exactly<T> X, vectors, coef, intercept;
};

}  // namespace
}  // namespace slimsvm

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace slimsvm;
  Input in(bytes, size);
  choose_set(in.byte());
  if (in.flag())
    Case<float>(in).check();
  else
    Case<double>(in).check();
  return 0;
}
