#include "snug/train/runner.h"

#include <algorithm>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/exec/calibration.h"
#include "snug/exec/disk_speed.h"
#include "snug/exec/spill_file.h"
#include "snug/plan/fuse.h"
#include "snug/plan/transfers.h"

namespace snug {

CostModel known_costs(int threads) {
  return stored_costs(real_files(), cache_folder(), threads)
      .value_or(CostModel{.threads = threads});
}

DiskSpeed known_disk(const SpillOptions& spill, int threads) {
  if (spill.speed) return *spill.speed;
  return stored_disk(real_files(), cache_folder(), spill.folder, threads).value_or(DiskSpeed());
}

CostModel measured_costs(int threads, const SpillOptions& spill, bool spills) {
  CostModel costs = calibrated_costs(real_files(), cache_folder(), threads);
  if (spills) {
    costs.disk = spill.speed ? *spill.speed
                             : calibrated_disk(real_files(), cache_folder(), spill.folder, threads);
  }
  return costs;
}

SpillLimits spill_limits(SpillOptions& options) {
  if (!options.allowed) return {};
  try {
    options.folder = spill_folder(options.file_system(), options.folder);
  } catch (const FileError&) {
    if (!options.folder.empty()) throw;
    return {};
  }
  // Others write there, too.
  const int64_t free_bytes = options.file_system().free_bytes(options.folder) / 10 * 9;
  const int64_t most_bytes =
      options.most_bytes > 0 ? std::min(options.most_bytes, free_bytes) : free_bytes;
  return {.allowed = most_bytes > 0, .most_bytes = most_bytes};
}

Runner::Runner(StepGraph step, const std::vector<int64_t>& rows, const RunnerOptions& options)
    : step_(std::move(step)), options_(options) {
  if (options.fuse) fused_ = snug::fuse(*step_.graph, step_.results());
  const auto planned = [&](int64_t count) {
    PlannedStep step = plan(count, options.budget_bytes, options.spill, options.wanted);
    is_rough_ = is_rough_ || step.is_rough;
    return step;
  };
  for (const int64_t count : rows) {
    PlannedStep step = planned(count);
    cuts_.push_back(step.cut);
    programs_.push_back(make_program(std::move(step)));
  }
  if (options.spare_rows > 0) late_ = make_program(planned(options.spare_rows));
}

InstantiateOptions Runner::instantiate_options() const {
  InstantiateOptions options;
  options.keep_all = options_.keep_all;
  options.partition = options_.partition;
  options.partition.reproducible = options_.reproducible;
  if (options_.costs) options.costs = *options_.costs;
  options.spill = options_.spill;
  if (options_.borrow_inputs) {
    options.borrowed = step_.inputs;
    options.borrowed.insert(options.borrowed.end(), step_.targets.begin(), step_.targets.end());
  } else if (options_.feed_inputs && !options_.keep_all) {
    options.fed = step_.inputs;
  }
  return options;
}

CostSource Runner::cost_source(int64_t budget_bytes) const {
  if (options_.costs) return {};
  return [this, threads = options_.target.threads, budget_bytes] {
    // Measuring needs memory itself: where it would be what passes the budget, it waits for a run
    // that has more.
    constexpr int64_t kForMeasuring = 24_MiB;
    const SpillOptions& spill = options_.spill_file;
    if (options_.measures && budget_bytes >= kForMeasuring)
      return measured_costs(threads, spill, options_.spill.allowed);
    CostModel costs = known_costs(threads);
    if (options_.spill.allowed) costs.disk = known_disk(spill, threads);
    return costs;
  };
}

PlannedStep Runner::plan(int64_t rows, int64_t budget_bytes, const SpillLimits& spill,
                         Wanted wanted) const {
  InstantiateOptions options = instantiate_options();
  options.spill = spill;
  return plan_within(graph(), step_.results(), rows, options_.target, budget_bytes, options,
                     cost_source(budget_bytes), wanted);
}

CurvePoint Runner::point() const {
  const Program& program = *programs_.at(0);
  const Problem& problem = program.problem();
  const Plan& plan = program.plan();
  CurvePoint point{.step_ns = plan.step_ns,
                   .part_rows = cuts_[0].forced_part_rows,
                   .again = static_cast<int>(plan.steps.size() - problem.nodes.size()),
                   .spilled_bytes = spilled_bytes(problem, plan).written,
                   .node_by_node = !cuts_[0].parts && options_.partition.parts};
  if (point.step_ns > 0) return point;
  // No budget binds it, and nothing was weighed yet. Its rows are brought before it runs.
  InstantiateOptions options = instantiate_options();
  for (const Value& input : std::exchange(options.fed, {}))
    point.step_ns += feed_ns(graph(), input, program.rows());
  if (const CostSource costs = cost_source(0)) options.costs = costs();
  const Instance weighed =
      instantiate(graph(), step_.results(), program.rows(), options_.target, options);
  point.step_ns += predicted_ns(weighed.problem, plan);
  return point;
}

std::unique_ptr<Program> Runner::make_program(PlannedStep planned) const {
  return std::make_unique<Program>(graph(), std::move(planned.instance), std::move(planned.plan));
}

size_t Runner::arena_bytes() const {
  size_t bytes = 0;
  for (const auto& program : programs_) bytes = std::max(bytes, program->arena_bytes());
  return late_ ? std::max(bytes, late_->arena_bytes()) : bytes;
}

int64_t Runner::bytes_to_bind() const {
  int64_t bytes = late_ ? late_->bytes_to_bind() : 0;
  for (const auto& program : programs_) bytes += program->bytes_to_bind();
  return bytes;
}

int64_t Runner::file_bytes() const {
  int64_t bytes = 0;
  for (const auto& program : programs_) bytes = std::max(bytes, program->plan().file_bytes);
  return late_ ? std::max(bytes, late_->plan().file_bytes) : bytes;
}

Program& Runner::program(int64_t rows) {
  for (const auto& program : programs_) {
    if (program->rows() == rows) return *program;
  }
  throw InternalError("no program was planned for {} rows", rows);
}

Program& Runner::program_for(int64_t rows) {
  for (const auto& program : programs_) {
    if (program->rows() == rows) return *program;
  }
  if (!late_ || late_->rows() != rows) {
    const SpillLimits spill{.allowed = spill_ != nullptr, .most_bytes = file_bytes()};
    late_.reset();  // Its kernels make room for the others.
    ++bindings_;
    late_ = make_program(plan(rows, programs_.at(0)->plan().total_bytes(), spill));
    late_->bind(arena_, outside(), spill_);
  }
  return *late_;
}

std::vector<void*> Runner::outside() const {
  std::vector<void*> outside(step_.graph->value_count());
  for (const auto& [variable, value] : step_.variables)
    outside[value.id()] = variable->tensor().data;
  return outside;
}

bool Runner::compile(const std::function<bool()>& goes_on) {
  for (const auto& program : programs_) {
    if (!program->compile(goes_on)) return false;
  }
  return !late_ || late_->compile(goes_on);
}

size_t Runner::kernel_count() const {
  size_t count = late_ ? late_->kernel_count() : 0;
  for (const auto& program : programs_) count += program->kernel_count();
  return count;
}

int64_t Runner::kernel_bytes() const {
  int64_t bytes = late_ ? late_->kernel_bytes() : 0;
  for (const auto& program : programs_) bytes += program->kernel_bytes();
  return bytes;
}

void Runner::bind(std::byte* arena, SpillQueue* spill) {
  ++bindings_;
  arena_ = arena;
  spill_ = spill;
  const std::vector<void*> memory = outside();
  for (const auto& program : programs_) program->bind(arena, memory, spill);
  if (late_) late_->bind(arena, memory, spill);
  bound_.clear();
  for (const auto& [variable, value] : step_.variables) bound_.push_back(memory[value.id()]);
}

void Runner::forget_borrowed() {
  if (!options_.borrow_inputs) return;
  for (const Values& values : {step_.inputs, step_.targets}) {
    for (const Value& value : values) {
      for (const auto& program : programs_) program->bind_borrowed(value, nullptr);
    }
  }
}

void Runner::rest() {
  forget_borrowed();
  for (const auto& program : programs_) program->rest();
  if (late_) late_->rest();
}

void Runner::wake() {
  for (const auto& program : programs_) program->wake();
  if (late_) late_->wake();
}

bool Runner::stands_where_bound() const {
  for (size_t i = 0; i < step_.variables.size(); ++i) {
    const Variable& variable = *step_.variables[i].first;
    if (!variable.has_values() || variable.tensor().data != bound_[i]) return false;
  }
  return true;
}

}  // namespace snug
