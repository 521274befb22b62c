// parallel_for over numbered pieces of work, with std::thread: threads are made and joined inside
// the call, so nothing survives it and a fork() afterwards is safe.
#pragma once

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "core.hpp"

namespace slimsvm {

// Asks the interpreter whether a signal handler wants the call to end. May take the GIL.
using Interrupted = bool (*)();

class Progress {
 public:
  explicit Progress(Interrupted interrupted) : interrupted_(interrupted) {}

  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  // The calling thread asks the interpreter, the others only look at the flag.
  Poll caller() { return {ask, this}; }
  Poll worker() { return {look, this}; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Index work_between_looks = Index{1} << 23;  // below a few ms on any machine
  static constexpr std::chrono::milliseconds time_between_questions{20};

  static bool look(void* state, Index) { return static_cast<Progress*>(state)->stopped(); }

  static bool ask(void* state, Index work) {
    auto& self = *static_cast<Progress*>(state);
    self.work_ += work;
    if (self.work_ < work_between_looks) return self.stopped();
    self.work_ = 0;
    const auto now = Clock::now();
    if (now - self.last_ >= time_between_questions) {
      self.last_ = now;
      if (self.interrupted_()) self.stop_.store(true, std::memory_order_relaxed);
    }
    return self.stopped();
  }

  Interrupted interrupted_;
  std::atomic<bool> stop_{false};
  Index work_ = 0;
  Clock::time_point last_ = Clock::now();
};

// Calls body(piece, worker, poll) for each piece in [0, count); which worker gets a piece does not
// matter to the result. The caller is worker 0.
template <class Body>
void parallel_for(Index count, int n_threads, Progress& progress, const Body& body) {
  std::atomic<Index> next{0};
  const auto work = [&](int worker, Poll poll) {
    for (Index piece; !progress.stopped() && (piece = next.fetch_add(1)) < count;)
      body(piece, worker, poll);
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(n_threads));
  try {
    for (int worker = 1; worker < n_threads && worker < count; ++worker)
      threads.emplace_back(work, worker, progress.worker());
  } catch (const std::system_error&) {
    // the system has no more threads to give: the ones already running and this one do the work
  }
  work(0, progress.caller());
  for (auto& thread : threads) thread.join();
}

}  // namespace slimsvm
