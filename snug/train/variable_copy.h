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
    each(variables, [](const VariablePtr& variable, std::byte* kept) {
      std::memcpy(kept, variable->tensor().data, variable->type().bytes());
    });
  }

  void give_back(const Variables& variables) const {
    each(variables, [](const VariablePtr& variable, const std::byte* kept) {
      std::memcpy(variable->tensor().data, kept, variable->type().bytes());
    });
  }

  // Room for these variables, to be filled.
  void reserve(const Variables& variables) {
    if (is_empty()) block_ = Arena(bytes_for(variables));
  }

  void clear() { block_ = Arena(); }

  // Calls visit(variable, where its values are kept) for each.
  template <typename Visit>
  void each(const Variables& variables, const Visit& visit) const {
    std::byte* at = block_.data();
    for (const VariablePtr& variable : variables) {
      visit(variable, at);
      at += variable->type().bytes();
    }
  }

 private:
  Arena block_;
};

}  // namespace snug
