// Finds the node of a step that first gives a number that is not finite.

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/exec/bound.h"
#include "snug/plan/fused_op.h"

namespace snug {
namespace {

constexpr size_t kMostRows = 5;  // That a report names.

template <typename T>
void add_bad_rows(const T* values, int64_t size, int64_t rows, int64_t first_row, BadNode& bad) {
  for (int64_t i = 0; i < size; ++i) {
    if (std::isfinite(values[i])) continue;
    if (std::isfinite(bad.value)) bad.value = static_cast<float>(values[i]);
    if (rows == 0) return;
    const int64_t row = first_row + i / (size / rows);
    if (!std::ranges::count(bad.rows, row)) bad.rows.push_back(row);
    if (bad.rows.size() >= kMostRows) return;
  }
}

}  // namespace

// One run over the stages that compute; it ends with the stage of the first finding.
class Program::Watch {
 public:
  Watch(Program& program, const StepInfo& step) : program_(program), step_(step) {}

  std::optional<BadNode> run() {
    const FlushDenormals flush;
    for (const BoundStage& stage : program_.stages_) {
      if (stage.shape.commits) continue;
      for (int lane = 0; lane < stage.shape.lanes; ++lane) run_lane(stage, lane);
      if (stage.shape.lanes > 1) {
        program_.add_partials(stage);
        look_at_sums(stage);
      }
      program_.rethrow_feed_error();
      if (found_) return bad_;
    }
    return std::nullopt;
  }

 private:
  void run_lane(const BoundStage& stage, int lane) {
    const int begin = stage.first_part(lane), end = stage.first_part(lane + 1);
    for (int part = begin; part < end; ++part) {
      for (int node = stage.first; node < stage.last; ++node) {
        run_node(stage, node, lane, part);
      }
    }
  }

  // Once something is found, only the nodes up to it are of interest: for its other rows.
  void run_node(const BoundStage& stage, int node, int lane, int part) {
    Bound& bound = *program_.bound_[node];
    const Task& task = *bound.task;
    if (task.what == Task::What::transfer) return program_.transfer(bound);
    if (found_ && node > *found_) return;
    const bool is_rest = stage.rest_rows > 0 && part == stage.shape.parts - 1;
    const Kernel* kernel = is_rest ? task.rest.get() : task.kernel.get();
    const auto* watched = dynamic_cast<const WatchedKernel*>(kernel);
    std::string label = task.node->label();
    if (watched != nullptr && task.what == Task::What::run && !task.sums) {
      const auto inner = run_fused(*watched, bound, stage, lane, part);
      if (inner) label = fused_label(task.node->op(), inner->step);
      if (inner) return take(node, label, inner->value, bound, stage, lane, part);
    } else {
      program_.run_node(bound, stage, lane, part, step_);
      if (task.what != Task::What::run) return;
    }
    take(node, label, 0, bound, stage, lane, part);
  }

  std::optional<WatchedKernel::Bad> run_fused(const WatchedKernel& kernel, Bound& bound,
                                              const BoundStage& stage, int lane, int part) const {
    if (stage.shape.parts > 1) bound.place(part, lane, lane);
    return kernel.run_watched({.in = bound.in_pointers.data() + lane * bound.in.size(),
                               .out = bound.out_pointers.data() + lane * bound.out.size(),
                               .scratch = bound.scratch + lane * bound.scratch_lane_stride,
                               .prepared = bound.prepared,
                               .step = &step_,
                               .first_row = part * stage.shape.part_rows,
                               .lane = lane});
  }

  // Looks at what the node has just written; `value` is one that is known to be bad.
  void take(int node, const std::string& label, float value, const Bound& bound,
            const BoundStage& stage, int lane, int part) {
    BadNode bad{.label = label, .value = value, .rows = {}};
    const bool is_rest = stage.rest_rows > 0 && part == stage.shape.parts - 1;
    const int64_t part_rows = stage.shape.parts == 1 ? program_.instance_.rows
                              : is_rest              ? stage.rest_rows
                                                     : stage.shape.part_rows;
    if (bound.task->node->op().traits().row_gradient) {
      look_at_listed_rows(bound, part_rows, lane, part, bad);
      if (!std::isfinite(bad.value)) keep(node, std::move(bad));
      return;
    }
    for (size_t i = 0; i < bound.out.size(); ++i) {
      const Type& type = program_.graph_->type(bound.task->out[i].value);
      const bool has_rows = type.shape.has_rows();
      const std::byte* data = bound.task->sums ? bound.sum(i, stage.sum_place(part, lane))
                                               : bound.out[i].at(part, lane);
      look_at(type.at(part_rows), data, has_rows ? part_rows : 0, part * stage.shape.part_rows,
              bad);
    }
    if (!std::isfinite(bad.value)) keep(node, std::move(bad));
  }

  // Behind the rows that are counted stands whatever stood there before; and they are a table's,
  // not the data's.
  void look_at_listed_rows(const Bound& bound, int64_t part_rows, int lane, int part,
                           BadNode& bad) const {
    Type type = program_.graph_->type(bound.task->out[0].value).at(part_rows);
    const int64_t count = *reinterpret_cast<const int32_t*>(bound.out[2].at(part, lane));
    type.shape.set(0, Extent(count));
    look_at(type, bound.out[0].at(part, lane), 0, 0, bad);
  }

  static void look_at(const Type& type, const std::byte* data, int64_t rows, int64_t first_row,
                      BadNode& bad) {
    const int64_t size = type.shape.size();
    if (type.dtype == DType::float32) {
      add_bad_rows(reinterpret_cast<const float*>(data), size, rows, first_row, bad);
    } else if (type.dtype == DType::float64) {
      add_bad_rows(reinterpret_cast<const double*>(data), size, rows, first_row, bad);
    }
  }

  void keep(int node, BadNode bad) {
    if (found_ && node == *found_) {
      for (const int64_t row : bad.rows) {
        if (bad_.rows.size() < kMostRows && !std::ranges::count(bad_.rows, row))
          bad_.rows.push_back(row);
      }
      return;
    }
    found_ = node;
    bad_ = std::move(bad);
  }

  // Sums of lanes that overflow only together.
  void look_at_sums(const BoundStage& stage) {
    for (int node = stage.first; node < stage.last && !found_; ++node) {
      const Bound& bound = *program_.bound_[node];
      if (bound.task->sums) take(node, bound.task->node->label(), 0, bound, stage, 0, 0);
    }
  }

  Program& program_;
  const StepInfo& step_;
  std::optional<int> found_;  // The step of the plan.
  BadNode bad_;
};

std::optional<BadNode> Program::find_bad_node(const StepInfo& step) {
  return Watch(*this, step).run();
}

const void* Program::pending(Value value) const {
  const int placed = instance_.value_of[value.id()];
  if (placed < 0) return outside_.at(value.id());
  int first_commit = static_cast<int>(plan_.steps.size());
  for (const BoundStage& stage : stages_) {
    if (stage.shape.commits) first_commit = std::min(first_commit, stage.first);
  }
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.value != placed || buffer.local) continue;
    if (buffer.first_step <= first_commit && first_commit <= buffer.last_step)
      return arena_ + buffer.offset;
  }
  return nullptr;
}

}  // namespace snug
