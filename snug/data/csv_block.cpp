#include "snug/data/csv_block.h"

#include <algorithm>

namespace snug {

int csv_threads(int wished) {
  constexpr int kMost = 8;
  return std::clamp(wished > 0 ? wished : hardware_threads(), 1, kMost);
}

// An error behind some blocks waits until these have been looked at.
size_t CsvBlocks::read() {
  std::ranges::fill(errors_, nullptr);
  size_t count = 0;
  try {
    while (count < blocks_.size() && table_.next_block(blocks_[count])) ++count;
  } catch (...) {
    read_error_ = std::current_exception();
  }
  return count;
}

}  // namespace snug
