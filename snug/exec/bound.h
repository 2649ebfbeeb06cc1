// The inside of Program: nodes with their addresses filled in.
#pragma once

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
  std::byte* scratch = nullptr;
  int64_t scratch_lane_stride = 0;
  const std::byte* prepared = nullptr;
  // The pointers that a kernel is handed, for each lane.
  std::vector<const void*> in_pointers;
  std::vector<void*> out_pointers;

  // Where lane adds up its sum of an output.
  std::byte* sum(size_t output, int lane) const;
  void place(int part, int lane);
};

struct Program::BoundStage {
  int first = 0, last = 0;  // Steps.
  StageShape shape;
  int64_t rest_rows = 0;  // Of the last part, where it is smaller; otherwise 0.

  int first_part(int lane) const { return shape.parts * lane / shape.lanes; }
};

// d += s, element by element.
void add_to(std::byte* sum, const std::byte* term, int64_t bytes, DType dtype);

}  // namespace snug
