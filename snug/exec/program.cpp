#include "snug/exec/program.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/exec/bound.h"
#include "snug/exec/connect_magnitudes.h"
#include "snug/exec/spill_queue.h"

namespace snug {

Program::Program(const Graph& graph, Instance instance, Plan plan)
    : graph_(&graph),
      instance_(std::move(instance)),
      plan_(std::move(plan)),
      feed_errors_(std::make_unique<FeedErrors>()) {
  validate(instance_.problem, plan_);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

void Program::bind(std::byte* arena, const std::vector<void*>& outside, SpillQueue* spill) {
  const int64_t alignment = plan_.transfers.empty() ? kAlignment : kPageBytes;
  SNUG_CHECK(reinterpret_cast<uintptr_t>(arena) % alignment == 0, "an arena at {}",
             fmt::ptr(arena));
  SNUG_CHECK(plan_.transfers.empty() || spill != nullptr, "a plan with transfers and no queue");
  arena_ = arena;
  spill_ = plan_.transfers.empty() ? nullptr : spill;
  if (spill_ != nullptr) spill_->reserve(static_cast<int>(plan_.transfers.size()));
  outside_ = outside;
  outside_.resize(static_cast<size_t>(graph_->value_count()));  // Passes add values at the end.
  bound_.clear();
  stages_.clear();
  find_addresses();
  for (const PlanStage& stage : plan_.stages) {
    const Task& task = instance_.tasks[plan_.steps[stage.first_step].node];
    const StageShape& shape = instance_.stages[task.stage];
    const int64_t rest = shape.parts > 1 ? instance_.rows % shape.part_rows : 0;
    stages_.push_back(
        {.first = stage.first_step, .last = stage.last_step, .shape = shape, .rest_rows = rest});
  }
  for (int step = 0; step < static_cast<int>(plan_.steps.size()); ++step)
    bind_node(step, arena, outside);
  connect_magnitudes(instance_);
  compile();
}

size_t Program::kernel_count() const {
  return std::ranges::count(instance_.tasks, Task::What::run, &Task::what);
}

// Once each, however often the plan runs a node.
bool Program::compile(const std::function<bool()>& goes_on) {
  if (compiled_) return true;
  for (Task& task : instance_.tasks) {
    if (task.what != Task::What::run) continue;
    if (goes_on && !goes_on()) return false;
    const int lanes = instance_.stages[task.stage].lanes;
    task.kernel->compile(lanes);
    if (task.rest) task.rest->compile(lanes);
  }
  return compiled_ = true;
}

int64_t Program::kernel_bytes() const {
  constexpr int64_t kOfAKernel = 16 << 10;
  int64_t bytes = 0;
  for (const Task& task : instance_.tasks) {
    for (const Kernel* kernel : {task.kernel.get(), task.rest.get()})
      bytes += kernel != nullptr ? kOfAKernel + kernel->compiled_bytes() : 0;
  }
  return bytes;
}

void Program::rest() {
  for (const Task& task : instance_.tasks) {
    if (task.kernel) task.kernel->rest();
    if (task.rest) task.rest->rest();
  }
}

void Program::wake() {
  for (const Task& task : instance_.tasks) {
    if (task.kernel) task.kernel->wake();
    if (task.rest) task.rest->wake();
  }
}

int64_t Program::bytes_to_bind() const {
  constexpr int64_t kOfAStep = 640;  // Measured on nets of 20 to 120 layers, two lanes.
  int64_t bytes = 0;
  for (const PlanStep& step : plan_.steps) {
    const int64_t lanes = instance_.stages[instance_.tasks[step.node].stage].lanes;
    const auto arguments = static_cast<int64_t>(step.in.size() + step.out.size());
    bytes += kOfAStep + lanes * arguments * static_cast<int64_t>(sizeof(void*));
  }
  return bytes;
}

void Program::bind_node(int index, std::byte* arena, const std::vector<void*>& outside) {
  const PlanStep& step = plan_.steps[index];
  const Task& task = instance_.tasks[step.node];
  const ProblemNode& problem_node = instance_.problem.nodes[step.node];
  const StageShape& shape = instance_.stages[task.stage];
  const auto stage =
      std::ranges::find_if(plan_.stages, [&](const PlanStage& s) { return index < s.last_step; });
  std::byte* lane_block = arena + stage->lane_offset;

  const auto locate = [&](int buffer_index, bool rows) {
    const Buffer& buffer = plan_.buffers[buffer_index];
    if (buffer.local)
      return BoundArgument{.base = lane_block + buffer.offset, .lane_stride = stage->lane_bytes};
    const ProblemValue& value = instance_.problem.values[buffer.value];
    const int64_t row_bytes =
        rows && shape.parts > 1 ? value.bytes / instance_.rows * shape.part_rows : 0;
    return BoundArgument{.base = arena + buffer.offset, .part_stride = row_bytes};
  };

  auto bound = std::make_unique<Bound>();
  bound->task = &task;
  size_t next = 0;
  for (const Argument& argument : task.in) {
    if (argument.problem_value >= 0) {
      bound->in.push_back(locate(step.in[next++], argument.has_rows));
    } else if (argument.value >= 0) {
      const Type& type = graph_->type(argument.value);
      const bool split = argument.has_rows && shape.parts > 1;
      const int64_t stride = split ? static_cast<int64_t>(type.at(shape.part_rows).bytes()) : 0;
      bound->in.push_back(
          {.base = static_cast<std::byte*>(outside.at(argument.value)), .part_stride = stride});
    } else {
      bound->in.push_back({});
    }
  }
  if (task.what == Task::What::run && task.prepared >= 0)
    bound->prepared = locate(step.in[next++], false).base;
  SNUG_CHECK(next == problem_node.in.size());
  next = 0;
  for (const Argument& argument : task.out) {
    bound->out.push_back(locate(step.out[next++], argument.has_rows));
    bound->out_bytes.push_back(instance_.problem.values[argument.problem_value].bytes);
  }
  for (const Argument& argument : task.in) {
    if (!task.sums || shape.block_rows == 0) break;
    const bool has_rows = argument.value >= 0 && argument.has_rows;
    bound->block_strides.push_back(
        has_rows ? static_cast<int64_t>(graph_->type(argument.value).at(shape.block_rows).bytes())
                 : 0);
  }
  for (size_t i = 0; i < task.partials.size(); ++i)
    bound->partials.push_back(locate(step.out[next++], false).base);
  const bool in_lanes = shape.parts > 1;
  bound->scratch = (in_lanes ? lane_block : arena) + step.scratch_offset;
  bound->scratch_lane_stride = in_lanes ? stage->lane_bytes : 0;
  bound->in_pointers.resize(bound->in.size() * shape.lanes);
  bound->out_pointers.resize(bound->out.size() * shape.lanes);
  for (int lane = 0; lane < shape.lanes; ++lane) bound->place(0, lane, lane);
  bound_.push_back(std::move(bound));
}

void Program::bind_borrowed(Value input, const void* memory) {
  outside_[input.id()] = const_cast<void*>(memory);
  address_[input.id()] = static_cast<std::byte*>(const_cast<void*>(memory));
  for (const auto& bound : bound_) {
    for (size_t i = 0; i < bound->in.size(); ++i) {
      const Argument& argument = bound->task->in[i];
      if (argument.value != input.id()) continue;
      bound->in[i].base = static_cast<std::byte*>(const_cast<void*>(memory));
      const size_t lanes = bound->in_pointers.size() / bound->in.size();
      for (size_t lane = 0; lane < lanes; ++lane)
        bound->in_pointers[lane * bound->in.size() + i] = memory;
    }
  }
}

void Program::find_addresses() {
  std::vector<std::byte*> of_problem(instance_.problem.values.size());
  for (const Buffer& buffer : plan_.buffers) {
    const bool lives = buffer.last_step == static_cast<int>(plan_.steps.size()) ||
                       instance_.problem.values[buffer.value].given;
    if (lives && !buffer.local) of_problem[buffer.value] = arena_ + buffer.offset;
  }
  address_.assign(instance_.value_of.size(), nullptr);
  for (size_t value = 0; value < address_.size(); ++value) {
    const int placed = instance_.value_of[value];
    address_[value] =
        placed >= 0 ? of_problem[placed] : static_cast<std::byte*>(outside_.at(value));
  }
}

Tensor Program::tensor(Value value) const {
  const bool outside = instance_.value_of[value.id()] < 0;
  if (!outside && address_[value.id()] == nullptr) {
    throw InternalError("{}: it does not outlive the step; name it as a result", value.name());
  }
  return {value.type().at(instance_.rows), address_[value.id()]};
}

Program make_program(const Graph& graph, const Values& results, int64_t rows, const Target& target,
                     int64_t budget_bytes, const InstantiateOptions& options) {
  Instance instance = instantiate(graph, results, rows, target, options);
  Plan plan = make_plan(instance.problem, budget_bytes);
  return Program(graph, std::move(instance), std::move(plan));
}

}  // namespace snug
