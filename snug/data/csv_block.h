// Many records of a text file at once, so that several threads can take them apart.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "snug/base/threads.h"
#include "snug/data/csv_reader.h"
#include "snug/data/csv_table.h"

namespace snug {

// A table's records in blocks that do not depend on the number of threads. Each thread reads a
// block, works on it and takes the next one; what comes out of a block is kept in a slot until all
// slots are full, and is collected in the order of the table.
class CsvBlocks {
 public:
  // With more slots a thread waits less often for the others.
  CsvBlocks(CsvTable& table, int threads, size_t slots_a_thread = 4)
      : table_(table),
        blocks_(static_cast<size_t>(threads)),
        errors_(blocks_.size() * slots_a_thread) {}

  // Calls work(lane, slot, block) for the next blocks, then collect(slot) for each of them in
  // order; false at the end. What either throws is thrown here, that of the first block first.
  template <typename Work, typename Collect>
  bool next(const Work& work, const Collect& collect);

  size_t lanes() const { return blocks_.size(); }
  size_t slots() const { return errors_.size(); }

 private:
  // Reads the next block and says which slot it has; nullopt where there is none.
  std::optional<size_t> read(CsvBlock& block);

  CsvTable& table_;
  std::mutex mutex_;
  size_t filled_ = 0;                       // Slots.
  std::vector<CsvBlock> blocks_;            // Of each lane.
  std::vector<std::exception_ptr> errors_;  // Of each slot.
  std::exception_ptr read_error_;
};

// As many threads as parsing makes good use of; 0: those of the machine.
int csv_threads(int wished);

template <typename Work, typename Collect>
bool CsvBlocks::next(const Work& work, const Collect& collect) {
  filled_ = 0;
  parallel_parts(static_cast<int>(lanes()), [&](int part) {
    const auto lane = static_cast<size_t>(part);
    const FlushDenormals flush;  // On one thread too.
    while (const std::optional<size_t> slot = read(blocks_[lane])) {
      try {
        work(lane, *slot, blocks_[lane]);
      } catch (...) {
        errors_[*slot] = std::current_exception();
      }
    }
  });
  for (size_t slot = 0; slot < filled_; ++slot) {
    if (errors_[slot]) std::rethrow_exception(errors_[slot]);
    collect(slot);
  }
  if (read_error_) std::rethrow_exception(read_error_);
  return filled_ > 0;
}

}  // namespace snug
