// The values of a checkpoint's variables, copied aside so that they can be written while training
// goes on.
#pragma once

#include <vector>

#include "snug/nn/variable.h"
#include "snug/tensor/arena.h"
#include "snug/train/checkpoint_file.h"

namespace snug {

class StateCopy {
 public:
  // What a copy of these takes.
  static int64_t bytes_for(const Variables& variables);

  bool is_empty() const { return from_.empty(); }
  // Room for these variables, resident from now on so that take() meets no page for the first time.
  void reserve(std::vector<CheckpointVariable> variables);
  // As they stand now.
  void take();
  // The same names, with the values that were taken last.
  const std::vector<CheckpointVariable>& variables() const { return copies_; }

 private:
  std::vector<CheckpointVariable> from_, copies_;
  Arena block_;
};

}  // namespace snug
