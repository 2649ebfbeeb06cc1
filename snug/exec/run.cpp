// How a bound program runs.

#include <chrono>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/exec/bound.h"
#include "snug/exec/spill_queue.h"

namespace snug {
namespace {

template <typename T>
void add_elements(std::byte* sum, const std::byte* term, int64_t bytes) {
  T* d = reinterpret_cast<T*>(sum);
  const T* s = reinterpret_cast<const T*>(term);
  const int64_t count = bytes / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; ++i) d[i] += s[i];
}

}  // namespace

void add_to(std::byte* sum, const std::byte* term, int64_t bytes, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return add_elements<float>(sum, term, bytes);
    case DType::float64:
      return add_elements<double>(sum, term, bytes);
    case DType::int32:
      return add_elements<int32_t>(sum, term, bytes);
    case DType::int64:
      return add_elements<int64_t>(sum, term, bytes);
    case DType::uint8:
    case DType::boolean:
      break;
  }
  SNUG_CHECK(false, "a sum of {}", name_of(dtype));
}

std::byte* Program::Bound::sum(size_t output, int lane) const {
  if (lane == 0) return out[output].base;
  const int64_t stride = (out_bytes[output] + kAlignment - 1) / kAlignment * kAlignment;
  return partials[output] + (lane - 1) * stride;
}

void Program::Bound::place(int part, int lane) {
  for (size_t i = 0; i < in.size(); ++i) in_pointers[lane * in.size() + i] = in[i].at(part, lane);
  for (size_t i = 0; i < out.size(); ++i) {
    out_pointers[lane * out.size() + i] = task->sums ? sum(i, lane) : out[i].at(part, lane);
  }
}

void Program::compute(const StepInfo& step, Mode mode) { run_stages(false, step, mode); }
void Program::commit(const StepInfo& step, Mode mode) { run_stages(true, step, mode); }

void Program::run_stages(bool commits, const StepInfo& step, Mode mode) {
  // Inside a parallel region oneDNN would do nothing, and say so to nobody.
  if (instance_.threads > 1 && in_parallel_region()) {
    throw Error(
        "run: the step was planned for {} threads and is called inside a parallel region; plan it "
        "with threads = 1, or inside the region",
        instance_.threads);
  }
  const FlushDenormals flush;
  if (spill_ != nullptr && !commits) spill_->settle();
  if (mode == Mode::checked && !commits) fill_dead(-1, 0, false);
  for (const BoundStage& stage : stages_) {
    if (stage.shape.commits != commits) continue;
    if (spill_ != nullptr) spill_->poll();
    switch (mode) {
      case Mode::plain:
        run_stage(stage, step);
        break;
      case Mode::checked:
        run_checked(stage, step);
        break;
      case Mode::profiled:
        run_profiled(stage, step);
        break;
    }
  }
}

void Program::run_stage(const BoundStage& stage, const StepInfo& step) {
  parallel_parts(stage.shape.lanes, instance_.threads,
                 [&](int lane) { run_lane(stage, lane, step); });
  if (stage.shape.lanes > 1) add_partials(stage);
}

void Program::run_lane(const BoundStage& stage, int lane, const StepInfo& step) {
  const int begin = stage.first_part(lane), end = stage.first_part(lane + 1);
  for (int part = begin; part < end; ++part) {
    for (int node = stage.first; node < stage.last; ++node) {
      run_node(*bound_[node], stage, lane, part, part == begin, step);
    }
  }
}

void Program::run_node(Bound& bound, const BoundStage& stage, int lane, int part, bool first,
                       const StepInfo& step) const {
  const Task& task = *bound.task;
  if (task.what == Task::What::transfer) return transfer(bound);
  if (stage.shape.parts > 1) bound.place(part, lane);
  void** out = bound.out_pointers.data() + lane * bound.out.size();
  Run run{.in = bound.in_pointers.data() + lane * bound.in.size(),
          .out = out,
          .scratch = bound.scratch + lane * bound.scratch_lane_stride,
          .prepared = bound.prepared,
          .step = &step,
          .first_row = part * stage.shape.part_rows,
          .lane = lane};
  if (task.what == Task::What::prepare) return task.kernel->prepare(run, out[0]);
  const bool is_rest = stage.rest_rows > 0 && part == stage.shape.parts - 1;
  const Kernel& kernel = is_rest ? *task.rest : *task.kernel;
  if (!task.sums || first) return kernel.run(run);
  if (kernel.accumulates()) {
    run.accumulate = true;
    return kernel.run(run);
  }
  auto* term = static_cast<std::byte*>(run.scratch) + task.own_scratch_bytes;
  for (size_t i = 0; i < bound.out.size(); ++i) {
    out[i] = term;
    term += (bound.out_bytes[i] + kAlignment - 1) / kAlignment * kAlignment;
  }
  kernel.run(run);
  for (size_t i = 0; i < bound.out.size(); ++i) {
    add_to(bound.sum(i, lane), static_cast<const std::byte*>(out[i]), bound.out_bytes[i],
           graph_->type(task.out[i].value).dtype);
  }
}

void Program::transfer(const Bound& bound) const {
  const ProblemNode& node = instance_.problem.nodes[bound.task - instance_.tasks.data()];
  const bool reads = node.transfer == Transfer::start_read;
  const int64_t bytes = instance_.problem.values[reads ? node.out[0] : node.in[0]].bytes;
  switch (node.transfer) {
    case Transfer::start_write:
    case Transfer::start_read:
      return spill_->start(bound.task->trip, {.writes = !reads,
                                              .memory = (reads ? bound.out : bound.in)[0].base,
                                              .bytes = whole_pages(bytes),
                                              .offset = node.file_offset});
    case Transfer::end_write:
    case Transfer::end_read:
      return spill_->wait(bound.task->trip);
    case Transfer::none:
      break;
  }
}

void Program::add_partials(const BoundStage& stage) {
  for (int node = stage.first; node < stage.last; ++node) {
    const Bound& bound = *bound_[node];
    if (!bound.task->sums) continue;
    for (size_t i = 0; i < bound.out.size(); ++i) {
      const DType dtype = graph_->type(bound.task->out[i].value).dtype;
      // Split over elements, so that each is added up in the order of the lanes on any number of
      // threads.
      constexpr int64_t kWorthThreadsBytes = 256 << 10;
      const int parts = bound.out_bytes[i] > kWorthThreadsBytes ? instance_.threads : 1;
      parallel_ranges(bound.out_bytes[i], parts, kAlignment, [&](int64_t begin, int64_t end) {
        for (int lane = 1; lane < stage.shape.lanes; ++lane) {
          add_to(bound.sum(i, 0) + begin, bound.sum(i, lane) + begin, end - begin, dtype);
        }
      });
    }
  }
}

void Program::run_profiled(const BoundStage& stage, const StepInfo& step) {
  using Clock = std::chrono::steady_clock;
  if (profile_.empty()) {
    for (const auto& bound : bound_) {
      profile_.push_back(
          {.name = instance_.problem.nodes[bound->task - instance_.tasks.data()].name});
      if (bound->task->node == nullptr) continue;
      Types types = bound->task->node->input_types();
      for (Type& type : types) type = type.at(instance_.rows);
      profile_.back().bytes = bound->task->node->op().cost(types).bytes;
    }
  }
  for (int lane = 0; lane < stage.shape.lanes; ++lane) {
    const int begin = stage.first_part(lane), end = stage.first_part(lane + 1);
    for (int part = begin; part < end; ++part) {
      for (int node = stage.first; node < stage.last; ++node) {
        const Clock::time_point start = Clock::now();
        run_node(*bound_[node], stage, lane, part, part == begin, step);
        profile_[node].nanoseconds +=
            std::chrono::duration<double, std::nano>(Clock::now() - start).count();
        profile_[node].runs += 1;
      }
    }
  }
  if (stage.shape.lanes > 1) add_partials(stage);
}

void Program::run_each(const StepInfo& step, const std::function<void(const Node&)>& visit) {
  const FlushDenormals flush;
  for (const BoundStage& stage : stages_) {
    SNUG_CHECK(stage.shape.parts == 1, "run_each needs an instance that keeps all");
    for (int node = stage.first; node < stage.last; ++node) {
      run_node(*bound_[node], stage, 0, 0, true, step);
      if (bound_[node]->task->what == Task::What::run) visit(*bound_[node]->task->node);
    }
  }
}

}  // namespace snug
