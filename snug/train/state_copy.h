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
  // A large state is copied by so many threads.
  void reserve(std::vector<CheckpointVariable> variables, int threads);
  // As they stand now.
  void take();
  // The same names, with the values that were taken last.
  const std::vector<CheckpointVariable>& variables() const { return copies_; }

 private:
  void take(size_t begin, size_t end);

  std::vector<CheckpointVariable> from_, copies_;
  Arena block_;
  int threads_ = 1;
};

}  // namespace snug
