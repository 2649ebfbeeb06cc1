// How a bound program runs.

#include <chrono>
#include <cstring>
#include <utility>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/exec/bound.h"
#include "snug/exec/spill_queue.h"

namespace snug {
void Program::Bound::place(int part, int lane, int sum_place) {
  for (size_t i = 0; i < in.size(); ++i) in_pointers[lane * in.size() + i] = in[i].at(part, lane);
  for (size_t i = 0; i < out.size(); ++i) {
    out_pointers[lane * out.size() + i] = task->sums ? sum(i, sum_place) : out[i].at(part, lane);
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
    rethrow_feed_error();
  }
}

void Program::feed(const Bound& bound, int64_t rows, int64_t first_row, void* slot) const {
  const int input = bound.task->out[0].value;
  const std::scoped_lock one_at_a_time(feed_errors_->mutex);
  if (!feeder_ || feed_errors_->first) return;
  try {
    feeder_(input, first_row, {graph_->type(input).at(rows), slot});
  } catch (...) {
    feed_errors_->first = std::current_exception();
  }
}

void Program::rethrow_feed_error() const {
  if (feed_errors_->first) std::rethrow_exception(std::exchange(feed_errors_->first, nullptr));
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
      run_node(*bound_[node], stage, lane, part, step);
    }
  }
}

void Program::run_node(Bound& bound, const BoundStage& stage, int lane, int part,
                       const StepInfo& step) const {
  const Task& task = *bound.task;
  if (task.what == Task::What::transfer) return transfer(bound);
  if (stage.shape.parts > 1) bound.place(part, lane, stage.sum_place(part, lane));
  void** out = bound.out_pointers.data() + lane * bound.out.size();
  Run run{.in = bound.in_pointers.data() + lane * bound.in.size(),
          .out = out,
          .scratch = bound.scratch + lane * bound.scratch_lane_stride,
          .prepared = bound.prepared,
          .step = &step,
          .first_row = part * stage.shape.part_rows,
          .lane = lane};
  if (task.what == Task::What::prepare) return task.kernel->prepare(run, out[0]);
  if (task.what == Task::What::feed) return feed(bound, stage.rows_of(part), run.first_row, out[0]);
  if (task.sums) return run_sum(bound, stage, lane, part, run);
  const bool is_rest = stage.rest_rows > 0 && part == stage.shape.parts - 1;
  (is_rest ? *task.rest : *task.kernel).run(run);
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

void Program::run_profiled(const BoundStage& stage, const StepInfo& step) {
  using Clock = std::chrono::steady_clock;
  if (profile_.empty()) {
    for (const auto& bound : bound_) {
      const Task& task = *bound->task;
      profile_.push_back({.name = instance_.problem.nodes[&task - instance_.tasks.data()].name});
      if (task.what == Task::What::feed)
        profile_.back().bytes = static_cast<double>(bound->out_bytes[0]);
      if (task.node == nullptr || task.what == Task::What::feed) continue;
      Types types = task.node->input_types();
      for (Type& type : types) type = type.at(instance_.rows);
      profile_.back().bytes = task.node->op().cost(types).bytes;
    }
  }
  for (int lane = 0; lane < stage.shape.lanes; ++lane) {
    const int begin = stage.first_part(lane), end = stage.first_part(lane + 1);
    for (int part = begin; part < end; ++part) {
      for (int node = stage.first; node < stage.last; ++node) {
        const Clock::time_point start = Clock::now();
        run_node(*bound_[node], stage, lane, part, step);
        profile_[node].nanoseconds +=
            std::chrono::duration<double, std::nano>(Clock::now() - start).count();
        profile_[node].runs += 1;
      }
    }
  }
  if (stage.shape.lanes > 1) add_partials(stage);
}

void Program::compute_each(const StepInfo& step, const Visit& visit) {
  run_each(false, step, visit);
}
void Program::commit_each(const StepInfo& step, const Visit& visit) { run_each(true, step, visit); }

void Program::run_each(bool commits, const StepInfo& step, const Visit& visit) {
  const FlushDenormals flush;
  for (const BoundStage& stage : stages_) {
    if (stage.shape.commits != commits) continue;
    SNUG_CHECK(stage.shape.parts == 1, "compute_each needs an instance that keeps all");
    for (int node = stage.first; node < stage.last; ++node) {
      run_node(*bound_[node], stage, 0, 0, step);
      if (bound_[node]->task->what == Task::What::run) visit(*bound_[node]->task->node);
    }
  }
}

}  // namespace snug
