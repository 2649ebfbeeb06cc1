#include "snug/train/state_copy.h"

#include <algorithm>

#include "snug/base/bytes.h"
#include "snug/base/threads.h"
#include "snug/kernels/stream_copy.h"
#include "snug/train/checkpoint_layout.h"

namespace snug {

using checkpoint_layout::aligned;
using checkpoint_layout::kAlignment;

// Below, to call threads together takes longer than what they save.
static constexpr int64_t kLeastForThreads = 8_MiB;

int64_t StateCopy::bytes_for(const Variables& variables) {
  uint64_t bytes = 0;
  for (const VariablePtr& variable : variables) bytes += aligned(variable->type().bytes());
  return static_cast<int64_t>(bytes);
}

void StateCopy::reserve(std::vector<CheckpointVariable> variables, int threads) {
  copies_ = std::move(variables);
  size_t bytes = 0;
  for (const CheckpointVariable& variable : copies_) bytes += aligned(variable.tensor.bytes());
  block_ = Arena(bytes);
  block_.touch();
  threads_ = static_cast<int64_t>(bytes) < kLeastForThreads ? 1 : threads;
  pieces_.clear();
  size_t at = 0;
  for (CheckpointVariable& copy : copies_) {
    pieces_.push_back(
        {static_cast<const std::byte*>(copy.tensor.data), at, at + copy.tensor.bytes()});
    copy.tensor.data = block_.data() + at;
    at += aligned(copy.tensor.bytes());
  }
}

void StateCopy::take() {
  if (threads_ == 1) return take(0, block_.bytes());
  parallel_ranges(static_cast<int64_t>(block_.bytes()), threads_, kAlignment,
                  [&](int64_t begin, int64_t end) { take(begin, end); });
}

// The bytes that stand there in the block.
void StateCopy::take(size_t begin, size_t end) {
  for (const Piece& piece : pieces_) {
    const size_t from = std::max(piece.first, begin), to = std::min(piece.last, end);
    if (from >= to) continue;
    kernels::stream_copy(block_.data() + from, piece.from + (from - piece.first), to - from);
  }
  kernels::stream_end();
}

}  // namespace snug
