#include "snug/data/csv_block.h"

#include <algorithm>

namespace snug {

int csv_threads(int wished) {
  constexpr int kMost = 8;
  return std::clamp(wished > 0 ? wished : hardware_threads(), 1, kMost);
}

// An error behind some blocks waits until these have been looked at.
std::optional<size_t> CsvBlocks::read(CsvBlock& block) {
  const std::lock_guard lock(mutex_);
  if (filled_ == slots() || read_error_) return std::nullopt;
  try {
    if (!table_.next_block(block)) return std::nullopt;
  } catch (...) {
    read_error_ = std::current_exception();
    return std::nullopt;
  }
  return filled_++;
}

}  // namespace snug
