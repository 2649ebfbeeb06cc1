// Moves of bytes within one stretch of memory, as if all were done at once.
#pragma once

#include <cstddef>
#include <vector>

namespace snug {

struct BlockMove {
  std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t bytes = 0;
};

// What is moved may overlap where others go, in any way; the sources do not overlap each other, nor
// do the targets. Whatever stands between the lowest and the highest of all these bytes, and is no
// target, is lost. Takes no memory beside the list.
void move_blocks(std::vector<BlockMove> moves);

}  // namespace snug
