#include "dispatch.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#ifdef SLIMSVM_X86
#include "processor.hpp"
#endif

namespace slimsvm {
namespace {

const InstructionSet* chosen = nullptr;

template <class T>
const Table<T>& table();
template <>
const Table<float>& table<float>() {
  return instruction_set().single_precision;
}
template <>
const Table<double>& table<double>() {
  return instruction_set().double_precision;
}

constexpr std::align_val_t alignment{64};
constexpr Index packing_worth_threads = Index{1} << 18;

struct Release {
  void operator()(void* memory) const { ::operator delete[](memory, alignment); }
};

template <class T>
using Buffer = std::unique_ptr<T[], Release>;

template <class T>
Buffer<T> allocate(Index count) {
  const auto bytes = static_cast<std::size_t>(count > 0 ? count : 1) * sizeof(T);
  return Buffer<T>(static_cast<T*>(::operator new[](bytes, alignment)));
}

// Whether T holds a parameter to its last digits.
template <class T>
bool fits(double value) {
  const double size = std::abs(value);
  return size == 0 || (size >= static_cast<double>(std::numeric_limits<T>::min()) &&
                       size <= static_cast<double>(std::numeric_limits<T>::max()));
}

template <class T>
void evaluate_few(const Job<T>& job, const Table<T>& use, Progress& progress) {
  auto scratch = allocate<T>(use.few_scratch_size(job));
  for (Index row = 0; row < job.n && !progress.stopped(); ++row)
    use.few(job, row, scratch.get(), progress.caller());
}

template <class T>
void evaluate_many(Job<T> job, const Table<T>& use, int n_threads, Progress& progress) {
  auto centre = allocate<T>(job.d);
  if (job.scale) {
    use.centre(job, centre.get());
    job.centre = centre.get();
  }
  const Index panel_count = (job.m + use.panel_width - 1) / use.panel_width;
  const Index padded = panel_count * use.panel_width;
  auto panels = allocate<T>(padded * job.d);
  auto norms = allocate<T>(padded);
  auto coef = allocate<T>(job.coef ? padded * job.k : 0);
  job.panels = panels.get();
  job.panel_norms = norms.get();
  job.panel_coef = coef.get();

  const Index block = use.block_size(job.d);
  const Index blocks = (job.n + block - 1) / block;
  if (n_threads > blocks) n_threads = static_cast<int>(blocks);
  std::vector<Buffer<T>> scratch;
  for (int worker = 0; worker < n_threads; ++worker)
    scratch.push_back(allocate<T>(use.scratch_size(job)));

  // starting threads costs more than packing a few thousand numbers
  const int packers = padded * job.d < packing_worth_threads ? 1 : n_threads;
  parallel_for(panel_count, packers, progress, [&](Index panel, int, Poll poll) {
    use.pack(job, panel);
    poll(use.panel_width * job.d);
  });
  parallel_for(blocks, n_threads, progress, [&](Index piece, int worker, Poll poll) {
    const Index begin = piece * block;
    const Index end = begin + block < job.n ? begin + block : job.n;
    use.rows(job, begin, end, scratch[static_cast<std::size_t>(worker)].get(), poll);
  });
}

}  // namespace

std::vector<const InstructionSet*> available_instruction_sets() {
  std::vector<const InstructionSet*> sets{&baseline::instruction_set};
#ifdef SLIMSVM_X86
  const Processor processor;
  if (processor.avx2) sets.push_back(&avx2::instruction_set);
  if (processor.avx512) sets.push_back(&avx512::instruction_set);
#endif
  return sets;
}

void choose_instruction_set() {
  const auto sets = available_instruction_sets();
  chosen = sets.back();
  const char* wanted = std::getenv("SLIMSVM_ISA");
  if (!wanted || !*wanted) return;
  std::string names;
  for (const auto* set : sets) {
    if (std::string(set->name) == wanted) {
      chosen = set;
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string(set->name);
  }
  throw std::runtime_error("SLIMSVM_ISA=" + std::string(wanted) +
                           " is not available on this machine; choose one of: " + names +
                           ", or unset it.");
}

const InstructionSet& instruction_set() {
  return *chosen;
}

template <class T>
bool evaluate(Job<T> job, const double* widths, int n_threads, Interrupted interrupted) {
  const bool distances = job.kind == Kind::rbf || job.kind == Kind::laplacian;
  job.all_wide = !fits<T>(job.gamma) || !fits<T>(job.coef0);
  auto wide_scale = allocate<double>(distances ? 2 * job.d : 0);
  if (distances) {
    double* wide = wide_scale.get();
    T* scale = reinterpret_cast<T*>(wide + job.d);
    for (Index j = 0; j < job.d; ++j) {
      wide[j] = job.kind == Kind::rbf ? std::sqrt(widths[j]) : widths[j];
      scale[j] = static_cast<T>(wide[j]);
      if (!fits<T>(wide[j])) job.all_wide = true;
    }
    job.scale = scale;
    job.wide_scale = wide;
  }
  Progress progress(interrupted);
  const Table<T>& use = table<T>();
  if (job.n < use.few_rows)
    evaluate_few(job, use, progress);
  else
    evaluate_many(job, use, n_threads < 1 ? 1 : n_threads, progress);
  return !progress.stopped();
}

template <>
bool minimise_in_box(BoxJob<float>& job, Interrupted interrupted) {
  Progress progress(interrupted);
  instruction_set().box->single_precision(job, progress.caller());
  return !progress.stopped();
}

template <>
bool minimise_in_box(BoxJob<double>& job, Interrupted interrupted) {
  Progress progress(interrupted);
  instruction_set().box->double_precision(job, progress.caller());
  return !progress.stopped();
}

template <>
bool minimise_in_pairs(PairJob<float>& job, Interrupted interrupted) {
  Progress progress(interrupted);
  instruction_set().pair->single_precision(job, progress.caller());
  return !progress.stopped();
}

template <>
bool minimise_in_pairs(PairJob<double>& job, Interrupted interrupted) {
  Progress progress(interrupted);
  instruction_set().pair->double_precision(job, progress.caller());
  return !progress.stopped();
}

bool minimise_by_active_set(ActiveJob& job, Interrupted interrupted) {
  const ActiveSolver& solver = *instruction_set().active;
  auto scratch = allocate<double>(solver.scratch_size(job.n, job.most_free));
  auto numbers = allocate<Index>(2 * job.n);
  job.scratch = scratch.get();
  job.touched = numbers.get();
  job.is_free = numbers.get() + job.n;
  Progress progress(interrupted);
  solver.run(job, progress.caller());
  return !progress.stopped();
}

bool refine(RefineJob& job, Interrupted interrupted) {
  Progress progress(interrupted);
  const RefineSolver& use = *instruction_set().refine;
  auto scratch = allocate<double>(use.scratch_size(job));
  job.scratch = scratch.get();
  use.run(job, progress.caller());
  return !progress.stopped();
}

bool minimise_hinge(HingeJob& job, Interrupted interrupted) {
  const HingeSolver& solver = *instruction_set().hinge;
  auto scratch = allocate<double>(solver.scratch_size(job));
  auto numbers = allocate<Index>(solver.number_size(job));
  job.scratch = scratch.get();
  job.numbers = numbers.get();
  Progress progress(interrupted);
  solver.run(job, progress.caller());
  return !progress.stopped();
}

bool minimise_one_norm(OneNormJob& job, Interrupted interrupted) {
  const OneNormSolver& solver = *instruction_set().one_norm;
  auto scratch = allocate<double>(solver.scratch_size(job.n, job.m, job.most));
  auto numbers = allocate<Index>(solver.number_size(job.n, job.m, job.most));
  job.scratch = scratch.get();
  job.numbers = numbers.get();
  Progress progress(interrupted);
  solver.run(job, progress.caller());
  return !progress.stopped();
}

template bool evaluate<float>(Job<float>, const double*, int, Interrupted);
template bool evaluate<double>(Job<double>, const double*, int, Interrupted);

}  // namespace slimsvm
