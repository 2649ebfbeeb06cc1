// How sums over rows are added up: part by part or block by block, then lane by lane or group by
// group.

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/exec/bound.h"

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

// Rows of a part that are added up in blocks: the same blocks whatever the part.
void Program::run_sum(Bound& bound, const BoundStage& stage, int lane, int part, Run run) const {
  const int64_t rows = stage.rows_of(part);
  const int64_t block = stage.shape.block_rows > 0 ? stage.shape.block_rows : stage.shape.part_rows;
  const void** in = bound.in_pointers.data() + lane * bound.in.size();
  const int place = stage.sum_place(part, lane);
  bool first = stage.begins_sum(part, lane);
  for (int64_t row = 0; row < rows; row += block) {
    const Task& task = *bound.task;
    add_term(bound, rows - row < block ? *task.rest : *task.kernel, run, place, first);
    first = false;
    run.first_row += block;
    for (size_t i = 0; i < bound.block_strides.size(); ++i)
      in[i] = static_cast<const std::byte*>(in[i]) + bound.block_strides[i];
  }
  if (!stage.ends_later_group(part)) return;
  for (size_t i = 0; i < bound.out.size(); ++i) {
    add_to(bound.sum(i, 0), bound.sum(i, 1), bound.out_bytes[i],
           graph_->type(bound.task->out[i].value).dtype);
  }
}

// The first term is written, each other one added.
void Program::add_term(Bound& bound, const Kernel& kernel, Run run, int place, bool first) const {
  if (first) return kernel.run(run);
  if (kernel.accumulates()) {
    run.accumulate = true;
    return kernel.run(run);
  }
  void** out = bound.out_pointers.data() + run.lane * bound.out.size();
  auto* term = static_cast<std::byte*>(run.scratch) + bound.task->own_scratch_bytes;
  for (size_t i = 0; i < bound.out.size(); ++i) {
    out[i] = term;
    term += (bound.out_bytes[i] + kAlignment - 1) / kAlignment * kAlignment;
  }
  kernel.run(run);
  for (size_t i = 0; i < bound.out.size(); ++i) {
    add_to(bound.sum(i, place), static_cast<const std::byte*>(out[i]), bound.out_bytes[i],
           graph_->type(bound.task->out[i].value).dtype);
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

}  // namespace snug
