// The parallel paths, for the thread sanitizer: expansion, finite_expansion and gram with several
// threads, several calls at a time as Python's threads make them, and calls that are interrupted.
// Every answer has the bits of one thread.
#include <atomic>
#include <thread>

#include "input.hpp"

namespace slimsvm {
namespace {

std::atomic<int> questions{0};

bool at_once() {
  ++questions;
  return true;
}

template <class T>
struct Case {
  Kind kind;
  Index n, m, d, k;
  Exactly<T> X, vectors, coef, intercept;
  Exactly<double> widths;

  Case(Kind kind, Index n, Index m, Index d, Index k)
      : kind(kind),
        n(n),
        m(m),
        d(d),
        k(k),
        X(n * d),
        vectors(m * d),
        coef(m * k),
        intercept(k),
        widths(d) {
    std::uint64_t state = 1;
    for (Exactly<T>* array : {&X, &vectors, &coef, &intercept})
      for (Index i = 0; i < array->size(); ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        (*array)[i] = static_cast<T>(static_cast<double>(state >> 33) / 4294967296.0 - 0.25);
      }
    for (Index j = 0; j < d; ++j) widths[j] = 0.5;
    for (Index i = 0; i < n; i += 50) X[i * d] = T(1e6);  // some rows that take the wide way
  }

  bool run(Exactly<T>& out, bool gram, int threads, Interrupted interrupted,
           int* not_finite = nullptr) const {
    Job<T> job{};
    job.kind = kind;
    job.gamma = kind == Kind::polynomial || kind == Kind::sigmoid ? 0.1 : 0.0;
    job.coef0 = job.gamma;
    job.degree = 3;
    job.X = X.data();
    job.vectors = vectors.data();
    job.coef = gram ? nullptr : coef.data();
    job.intercept = gram ? nullptr : intercept.data();
    job.out = out.data();
    job.n = n;
    job.m = m;
    job.d = d;
    job.k = gram ? m : k;
    job.not_finite = not_finite;
    return evaluate(job, widths.data(), threads, interrupted);
  }

  void check(int threads) const {
    for (const bool gram : {false, true}) {
      Exactly<T> alone(n * (gram ? m : k)), together(alone.size());
      PROMISE(run(alone, gram, 1, never), "interrupted by nobody");
      PROMISE(run(together, gram, threads, never), "interrupted by nobody");
      PROMISE(alone.same_bits(together), "kernel %d, %d threads: other bits",
              static_cast<int>(kind), threads);
    }
  }

  // Rows that are not finite, which several threads report.
  void check_report(int threads) {
    for (Index i = 0; i < n; i += 7) X[i * d] = std::numeric_limits<T>::quiet_NaN();
    Exactly<T> out(n * k);
    int not_finite = 0;
    PROMISE(run(out, false, threads, never, &not_finite), "interrupted by nobody");
    PROMISE(not_finite == 1, "rows that are not finite went unseen");
  }
};

template <class T>
void check_kernels() {
  for (const Kind kind :
       {Kind::rbf, Kind::linear, Kind::polynomial, Kind::sigmoid, Kind::laplacian})
    for (const int threads : {2, 5}) {
      Case<T>(kind, 700, 90, 11, 2).check(threads);  // tiles
      Case<T>(kind, 700, 5, 3, 1).check(threads);    // few vectors
      Case<T>(kind, 3, 90, 11, 2).check(threads);    // few rows
    }
  Case<T>(Kind::rbf, 60, 300, 900, 1).check(3);  // so many numbers that packing has threads too
  Case<T>(Kind::rbf, 700, 90, 11, 2).check_report(3);
}

void check_calls_at_once() {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([caller] {
      for (int time = 0; time < 3; ++time)
        Case<double>(static_cast<Kind>(caller), 500, 70, 9, 2).check(3);
    });
  for (auto& caller : callers) caller.join();
}

void check_interruption() {
  const Case<double> large(Kind::rbf, 20000, 200, 20, 1);
  Exactly<double> out(large.n);
  questions.store(0);
  PROMISE(!large.run(out, false, 4, at_once), "went on though it was interrupted");
  PROMISE(questions.load() == 1, "asked %d times", questions.load());
  PROMISE(large.run(out, false, 4, never), "interrupted by nobody");
}

}  // namespace
}  // namespace slimsvm

int main() {
  using namespace slimsvm;
  for (unsigned set = 0; set < available_instruction_sets().size(); ++set) {
    choose_set(set);
    check_kernels<float>();
    check_kernels<double>();
    check_calls_at_once();
    check_interruption();
    std::printf("%s: no race, the same bits for any number of threads\n", instruction_set().name);
  }
  return 0;
}
