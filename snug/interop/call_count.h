// A bound on the calls of a network that is read. A small file can nest models of which each calls
// the next several times: what it flattens to grows with the power of its depth.
#pragma once

#include <cstdint>

#include "snug/nn/layer.h"

namespace snug {

class CallCount {
 public:
  static constexpr int64_t kMost = 100'000;

  // One call of this layer; of a model: of all the layers that it calls. Throws Error beyond kMost.
  void add(const LayerDefinition& layer);

 private:
  int64_t calls_ = 0;
};

}  // namespace snug
