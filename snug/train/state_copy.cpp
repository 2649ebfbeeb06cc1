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
  from_ = std::move(variables);
  copies_ = from_;
  size_t bytes = 0;
  for (const CheckpointVariable& variable : from_) bytes += aligned(variable.tensor.bytes());
  block_ = Arena(bytes);
  block_.touch();
  threads_ = static_cast<int64_t>(bytes) < kLeastForThreads ? 1 : threads;
  std::byte* at = block_.data();
  for (CheckpointVariable& copy : copies_) {
    copy.tensor.data = at;
    at += aligned(copy.tensor.bytes());
  }
}

void StateCopy::take() {
  parallel_ranges(static_cast<int64_t>(block_.bytes()), threads_, kAlignment,
                  [&](int64_t begin, int64_t end) { take(begin, end); });
}

// The bytes that stand there in the block.
void StateCopy::take(size_t begin, size_t end) {
  for (size_t i = 0; i < from_.size(); ++i) {
    auto* copy = static_cast<std::byte*>(copies_[i].tensor.data);
    const size_t first = copy - block_.data(), last = first + from_[i].tensor.bytes();
    const size_t from = std::max(first, begin), to = std::min(last, end);
    if (from >= to) continue;
    kernels::stream_copy(block_.data() + from,
                         static_cast<const std::byte*>(from_[i].tensor.data) + (from - first),
                         to - from);
  }
  kernels::stream_end();
}

}  // namespace snug
