// The values of several variables, kept aside in one block.
#pragma once

#include <cstring>

#include "snug/nn/variable.h"

namespace snug {

class VariableCopy {
 public:
  static size_t bytes_for(const Variables& variables) {
    size_t bytes = 0;
    for (const VariablePtr& variable : variables) bytes += variable->type().bytes();
    return bytes;
  }

  bool is_empty() const { return block_.data() == nullptr; }

  void take(const Variables& variables) {
    reserve(variables);
    copy(variables, [](std::byte* kept, const Tensor& tensor) {
      std::memcpy(kept, tensor.data, tensor.bytes());
    });
  }

  void give_back(const Variables& variables) const {
    copy(variables, [](const std::byte* kept, const Tensor& tensor) {
      std::memcpy(tensor.data, kept, tensor.bytes());
    });
  }

  // Room for these variables, to be filled.
  void reserve(const Variables& variables) {
    if (is_empty()) block_ = Arena(bytes_for(variables));
    bytes_ = bytes_for(variables);
  }
  std::span<std::byte> bytes() const { return {block_.data(), is_empty() ? 0 : bytes_}; }

  void clear() { block_ = Arena(); }

 private:
  template <typename Copy>
  void copy(const Variables& variables, const Copy& copy_one) const {
    std::byte* at = block_.data();
    for (const VariablePtr& variable : variables) {
      copy_one(at, variable->tensor());
      at += variable->type().bytes();
    }
  }

  Arena block_;
  size_t bytes_ = 0;
};

}  // namespace snug
