// The cases of ops_bench: every op of the library at a size that says something about it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "snug/graph/graph.h"
#include "snug/kernels/onednn_convolution.h"

namespace snug::bench {

// Rows of a batch in every case.
inline constexpr int64_t kRowsHeld = 64;

struct OpCase {
  std::string name;
  Types inputs;
  std::function<Value(const Values&)> build;
  bool gradient = true;
  // A convolution as the library sees it, to be timed beside the node.
  std::optional<OnednnConvolutionShape> convolution = std::nullopt;
  // Of the values of the inputs, the highest is 1.2 above it.
  float lowest = -0.5f;
};

// Values of 32 MiB, which leave the caches: what counts is the bandwidth.
std::vector<OpCase> streaming_cases();
// What counts is arithmetic.
std::vector<OpCase> arithmetic_cases();

}  // namespace snug::bench
