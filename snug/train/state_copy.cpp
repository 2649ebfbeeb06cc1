#include "snug/train/state_copy.h"

#include <cstring>

#include "snug/train/checkpoint_layout.h"

namespace snug {

using checkpoint_layout::aligned;

int64_t StateCopy::bytes_for(const Variables& variables) {
  uint64_t bytes = 0;
  for (const VariablePtr& variable : variables) bytes += aligned(variable->type().bytes());
  return static_cast<int64_t>(bytes);
}

void StateCopy::reserve(std::vector<CheckpointVariable> variables) {
  from_ = std::move(variables);
  copies_ = from_;
  size_t bytes = 0;
  for (const CheckpointVariable& variable : from_) bytes += aligned(variable.tensor.bytes());
  block_ = Arena(bytes);
  block_.touch();
  std::byte* at = block_.data();
  for (CheckpointVariable& copy : copies_) {
    copy.tensor.data = at;
    at += aligned(copy.tensor.bytes());
  }
}

void StateCopy::take() {
  for (size_t i = 0; i < from_.size(); ++i)
    std::memcpy(copies_[i].tensor.data, from_[i].tensor.data, from_[i].tensor.bytes());
}

}  // namespace snug
