// How a fit comes to its first step: planned, compiled, bound, measured.

#include <algorithm>
#include <chrono>
#include <vector>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/data/read_probe.h"
#include "snug/train/fit.h"
#include "snug/train/progress.h"
#include "snug/train/refusal.h"
#include "snug/train/step_cache.h"

namespace snug {
namespace {

void warn_of_slow_disk(const FitPlan& fit, const SpillOptions& options, int threads) {
  constexpr double kSlow = 3;
  const Plan& plan = fit.training->programs().at(0)->plan();
  if (plan.step_ns <= kSlow * plan.fastest_ns) return;
  const SpilledBytes bytes = fit.spilled_bytes();
  const DiskSpeed disk = known_disk(options, threads);
  log_message(LogLevel::warning,
              "a step will take about {:.1f} times as long as without a budget: it writes {} to "
              "the disk of {}, which takes {:.0f} MB/s, and reads {} from it, at {:.0f} MB/s; give "
              "more memory, or a folder on a faster disk (`spill: FOLDER`)",
              plan.step_ns / plan.fastest_ns, bytes_text(bytes.written), options.folder.string(),
              disk.write * 1e3, bytes_text(bytes.read), disk.read * 1e3);
}

// Where single rows take long, steps would wait for a shuffle; stretches of rows are offered then.
void warn_of_slow_rows(const SourcePtr& data, const FitPlan& fit, uint64_t seed) {
  ReadProbe probe;
  try {
    const SourcePtr twin = data->twin();
    probe = probe_reads(twin ? *twin : *data, seed);
  } catch (const Error&) {
    return;  // A row that cannot be read is named when its turn comes.
  }
  const double step = fit.training->programs().at(0)->plan().step_ns * 1e-9;
  if (!probe.starves(fit.batch_size, step)) return;
  const auto rows = static_cast<double>(fit.batch_size);
  log_message(LogLevel::warning,
              "{}: rows that are read one by one take {:.1f} ms a batch, so steps would wait for "
              "the disk; `shuffle: blocks` (Dataset::shuffle_blocks) reads stretches of rows, in "
              "{:.1f} ms, and mixes those of a window",
              data->fields()[0].name, rows * probe.single * 1e3, rows * probe.stretch * 1e3);
}

}  // namespace

void FitRun::start() {
  if (!of_many_) step_cache().drop(model_.network());
  const PlanningNotice notice = planning_notice(options_.verbose);
  budget_ = fit_budget(model_, data_, options_);
  if (options_.memory > 0) limit_to_machine(budget_);
  prepare();
  if (!plan_.fits_if_saved_in_place() && !plan_.is_smallest) {
    // The first run took more than was left for it: once more, within what that leaves.
    release();
    prepare();
  }
  if (!plan_.fits_if_saved_in_place()) {
    release();
    throw FitRefused(explain_refusal(model_, data_, options_, budget_));
  }
  if (options_.shuffle && data_->access() == Access::random && data_->batches_ahead() != 0)
    warn_of_slow_rows(data_, plan_, options_.seed);
}

// Back to where this process stood before it was bound, with what was measured.
void FitRun::release() {
  budget_.reserve_bytes = plan_.reserve_bytes;
  guard_.reset();
  training_.reset();
  validation_.reset();
  spill_.reset();
  arena_ = Arena();
  plan_ = {};
  release_unused(budget_);
}

void FitRun::prepare() {
  FitSetup setup = compile_fit(model_, data_, options_, budget_, alone_);
  batch_size_ = setup.batch_size;
  training_rows_ = setup.training_rows;
  training_ = std::move(setup.training);
  validation_ = std::move(setup.validation);
  plan_ = std::move(setup.plan);
  if (options_.whole_process) describe_step();
  bind();
  if (setup.training_ahead) training_->read_ahead(*setup.training_ahead);
  if (setup.validation_ahead) validation_->read_ahead(*setup.validation_ahead);
  guard_.emplace(model_.compiled(), *plan_.training, options_.guard);
  warm_up();
}

// A program that owns its process says how it runs: in the memory that the arena has next.
void FitRun::describe_step() {
  plan_.describe_step();
  release_unused(budget_);
}

void FitRun::bind() {
  model_.ensure_weights(options_.seed);
  allocate(model_.compiled().slots(), options_.seed);
  arena_ = Arena(static_cast<size_t>(plan_.arena_bytes));
  arena_.touch();
  for (Runner* runner : {plan_.training.get(), plan_.validation.get()}) {
    if (runner == nullptr) continue;
    Variables state;
    for (const auto& [variable, value] : runner->step().variables) state.push_back(variable);
    allocate(state, options_.seed);
    runner->bind(arena_.data(), runner == plan_.training.get() ? open_spill_file() : nullptr);
  }
}

// A disk that is full, or none, is found here, before the first step; one that is slow is known
// from its calibration.
SpillQueue* FitRun::open_spill_file() {
  const int64_t bytes = plan_.training->file_bytes();
  if (bytes == 0) return nullptr;
  const SpillOptions& options = plan_.training->spill_options();
  spill_.emplace(options.file_system(), options.folder, bytes, options.use_ring);
  warn_of_slow_disk(plan_, options, machine().threads);
  return &spill_->queue();
}

// Runs every program once without committing anything: what the process adds while it runs (pages
// of code, stacks of threads) is resident from now on, so it can be measured instead of guessed.
void FitRun::warm_up() {
  training_->warm_up(*plan_.training);
  if (validation_) validation_->warm_up(*plan_.validation);
  if (!alone_.was_alone()) return;
  plan_.reserve_bytes = measured_reserve(plan_, budget_, kForRest);
  plan_.is_measured = true;
  if (budget_.whole_process) plan_.kernel_bytes = kernel_bytes();
}

// The median of what is still short, or the first step of what is not.
void FitRun::time_steps() {
  constexpr double kMostNs = 300e6;
  constexpr size_t kMostSteps = 31;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  };
  try {
    training_->begin_pass(pass_);
    while (times.size() < kMostSteps && since(begin) < kMostNs) {
      const Clock::time_point start = Clock::now();
      const std::optional<Stager::Batch> batch = training_->next(*plan_.training);
      if (!batch || batch->rows < batch_size_) break;
      feed_learning_rates(plan_.training->step(), *batch->program);
      batch->program->run(batch->info);
      times.push_back(since(start));
    }
  } catch (const DataError&) {
    // A row that is bad is named by the fit, when its turn comes.
  } catch (const FileError&) {
    // So is a file that cannot be read.
  }
  if (times.empty()) return;
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  plan_.tried_ns = *middle;
}

}  // namespace snug
