#include "snug/train/move_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

namespace snug::testing {
namespace {

// Places for blocks of these sizes in so many bytes, in a random order with random gaps.
std::vector<size_t> places(const std::vector<size_t>& sizes, size_t room, std::mt19937_64& random) {
  std::vector<size_t> order(sizes.size()), at(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  size_t free = room - std::accumulate(sizes.begin(), sizes.end(), size_t{0}), next = 0;
  for (const size_t i : order) {
    const size_t gap = random() % (free + 1);
    free -= gap;
    at[i] = next + gap;
    next = at[i] + sizes[i];
  }
  return at;
}

TEST(MoveBlocks, MovesAllAtOnce) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<size_t> sizes(random() % 6);
    for (size_t& size : sizes) size = random() % 9;
    const size_t room = std::accumulate(sizes.begin(), sizes.end(), size_t{0}) + random() % 12;
    const std::vector<size_t> from = places(sizes, room, random), to = places(sizes, room, random);
    std::vector<std::byte> memory(room);
    for (size_t i = 0; i < room; ++i) memory[i] = static_cast<std::byte>(i);
    const std::vector<std::byte> before = memory;
    std::vector<BlockMove> moves;
    for (size_t i = 0; i < sizes.size(); ++i)
      moves.push_back({memory.data() + from[i], memory.data() + to[i], sizes[i]});
    move_blocks(moves);
    for (size_t i = 0; i < sizes.size(); ++i) {
      for (size_t k = 0; k < sizes[i]; ++k)
        ASSERT_EQ(memory[to[i] + k], before[from[i] + k]) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace snug::testing
