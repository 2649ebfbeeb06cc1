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

  bool is_empty() const { return pieces_.empty(); }
  // Room for these variables, resident from now on so that take() meets no page for the first time.
  // A large state is copied by so many threads.
  void reserve(std::vector<CheckpointVariable> variables, int threads);
  // As they stand now.
  void take();
  // The same names, with the values that were taken last.
  const std::vector<CheckpointVariable>& variables() const { return copies_; }

 private:
  // Bytes of a variable and their place in the block. All that a copy looks at stands in one list:
  // a state of hundreds of variables is not waited for longer than its bytes take.
  struct Piece {
    const std::byte* from;
    size_t first, last;
  };
  void take(size_t begin, size_t end);

  std::vector<CheckpointVariable> copies_;
  std::vector<Piece> pieces_;
  Arena block_;
  int threads_ = 1;
};

}  // namespace snug
