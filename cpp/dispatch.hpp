// Which instruction set serves this process, and the drivers that allocate, pack and start threads.
#pragma once

#include <string>
#include <vector>

#include "core.hpp"
#include "parallel.hpp"

namespace slimsvm {

// The sets this machine can run, best last.
std::vector<const InstructionSet*> available_instruction_sets();

// The set in use: the best one, or the one named by the environment variable SLIMSVM_ISA when the
// module is imported. Throws std::runtime_error when that name is not available here.
void choose_instruction_set();
const InstructionSet& instruction_set();

// Fills job.out; `widths` is the kernel's gamma for each input (rbf and laplacian). Returns false
// when the call was interrupted.
template <class T>
bool evaluate(Job<T> job, const double* widths, int n_threads, Interrupted interrupted);

// Fills job.x, job.w, job.epochs and job.violation. Returns false when the call was interrupted.
template <class T>
bool minimise_in_box(BoxJob<T>& job, Interrupted interrupted);

// Fills job.x, job.gradient, job.iterations and job.violation. Returns false when interrupted.
template <class T>
bool minimise_in_pairs(PairJob<T>& job, Interrupted interrupted);

// Fills job.x and the job's outputs. Returns false when interrupted.
bool minimise_by_active_set(ActiveJob& job, Interrupted interrupted);

// Fills the job's outputs. Returns false when interrupted; they then hold the best so far.
bool refine(RefineJob& job, Interrupted interrupted);

// Fills job.x, job.w, job.cycles and job.gap. Returns false when interrupted.
bool minimise_hinge(HingeJob& job, Interrupted interrupted);

// Fills job.alpha, job.beta and the job's outputs. Returns false when interrupted.
bool minimise_one_norm(OneNormJob& job, Interrupted interrupted);

}  // namespace slimsvm
