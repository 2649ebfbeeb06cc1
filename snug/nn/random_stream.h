#pragma once

#include <cstdint>
#include <optional>

#include "snug/base/random.h"
#include "snug/nn/tracer.h"

namespace snug {

// The stream of draws of the layer that is being called: its own, and another for each seed.
inline uint64_t random_stream(Tracer& tracer, std::optional<int64_t> seed) {
  const uint64_t stream = tracer.next_stream();
  return seed ? stream ^ mix_bits(static_cast<uint64_t>(*seed) + 1) : stream;
}

}  // namespace snug
