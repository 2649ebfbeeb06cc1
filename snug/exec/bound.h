// The inside of Program: nodes with their addresses filled in.
#pragma once

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include "snug/exec/program.h"

namespace snug {

// Where an argument stands for a part and a lane: base + part * part_stride + lane * lane_stride.
struct BoundArgument {
  std::byte* base = nullptr;
  int64_t part_stride = 0;
  int64_t lane_stride = 0;

  std::byte* at(int part, int lane) const {
    return base == nullptr ? nullptr : base + part * part_stride + lane * lane_stride;
  }
};

struct Program::Bound {
  const Task* task = nullptr;
  std::vector<BoundArgument> in, out;
  std::vector<std::byte*> partials;  // Of each output: where lane 1 stands; the others follow.
  std::vector<int64_t> out_bytes;
  std::vector<int64_t> block_strides;  // Of each input of a sum that is added up in blocks.
  std::byte* scratch = nullptr;
  int64_t scratch_lane_stride = 0;
  const std::byte* prepared = nullptr;
  // The pointers that a kernel is handed, for each lane.
  std::vector<const void*> in_pointers;
  std::vector<void*> out_pointers;

  // Where lane adds up its sum of an output.
  std::byte* sum(size_t output, int lane) const;
  void place(int part, int lane, int sum_place);
};

struct Program::BoundStage {
  int first = 0, last = 0;  // Steps.
  StageShape shape;
  int64_t rest_rows = 0;  // Of the last part, where it is smaller; otherwise 0.

  int first_part(int lane) const {
    if (shape.group_parts > 0 && shape.lanes > 1)
      return std::min(shape.group_parts * lane, shape.parts);
    return shape.parts * lane / shape.lanes;
  }
  // One lane takes groups of parts one after the other.
  bool folds() const { return shape.group_parts > 0 && shape.lanes == 1; }
  // Whether a lane's sums begin anew with this part.
  bool begins_sum(int part, int lane) const {
    return folds() ? part % shape.group_parts == 0 : part == first_part(lane);
  }
  // Whether the sums of this part's group are complete, and stand beside the outputs.
  bool ends_later_group(int part) const {
    if (!folds() || part < shape.group_parts) return false;
    return part + 1 == shape.parts || (part + 1) % shape.group_parts == 0;
  }
  // Where the sums of a part are added up: the outputs, or a partial result.
  int sum_place(int part, int lane) const {
    return folds() ? (part < shape.group_parts ? 0 : 1) : lane;
  }
  int64_t rows_of(int part) const {
    return rest_rows > 0 && part == shape.parts - 1 ? rest_rows : shape.part_rows;
  }
};

// What a feeder threw on one of the lanes.
struct Program::FeedErrors {
  std::mutex mutex;  // Feeders are called by one lane at a time.
  std::exception_ptr first;
};

// d += s, element by element.
void add_to(std::byte* sum, const std::byte* term, int64_t bytes, DType dtype);

}  // namespace snug
