// What the programs of this folder share: their size, rows to train on, and promises that are kept
// or end the program.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "snug/base/memory.h"
#include "snug/snug.h"

namespace seed {

using namespace snug;

// `small` as the argument of a program: a size for tests.
inline bool is_small(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "small";
}

// Ends the program when it does not hold.
inline void promise(bool holds, const std::string& what) {
  fmt::print("{}: {}\n", holds ? "kept" : "BROKEN", what);
  if (!holds) std::exit(1);
}

// Promises that the process has grown by at most so many bytes.
inline void promise_growth(int64_t before, int64_t most, std::string_view since) {
  const int64_t growth = std::max<int64_t>(0, resident_bytes() - before);
  promise(growth <= most, fmt::format("{} more than {}, at most {} were promised",
                                      bytes_text(growth), since, bytes_text(most)));
}

// Promises that it has allocated at most so many bytes more, whatever code has come into memory.
inline void promise_allocations(int64_t before, int64_t most, std::string_view since) {
  const int64_t growth = std::max<int64_t>(0, allocated_bytes() - before);
  promise(growth <= most, fmt::format("{} allocated since {}, at most {} were promised",
                                      bytes_text(growth), since, bytes_text(most)));
}

// Numbers from 0 to 1, as np.random.rand gives them.
template <typename T>
std::vector<T> random_numbers(int64_t count, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T& number : numbers) number = static_cast<T>(random() >> 40) / static_cast<T>(1 << 24);
  return numbers;
}

inline std::vector<int32_t> random_labels(int64_t count, int32_t classes, uint64_t seed = 2) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> labels(static_cast<size_t>(count));
  for (int32_t& label : labels) label = static_cast<int32_t>(random() % classes);
  return labels;
}

}  // namespace seed
