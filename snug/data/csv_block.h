// Many records of a text file at once, so that several threads can take them apart.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/threads.h"
#include "snug/data/csv_reader.h"
#include "snug/data/csv_table.h"

namespace snug {

// A file's records as lines, cut into blocks that do not depend on the number of threads; calls
// work(lane, block) for several blocks at once, then collect(lane, block) for each of them in
// order. What either throws is thrown here, that of the first block first.
class CsvBlocks {
 public:
  CsvBlocks(CsvTable& table, int threads)
      : table_(table), blocks_(static_cast<size_t>(threads)), errors_(blocks_.size()) {}

  // The next blocks, one a lane at most; false at the end.
  template <typename Work, typename Collect>
  bool next(const Work& work, const Collect& collect);

  int lanes() const { return static_cast<int>(blocks_.size()); }

 private:
  size_t read();

  CsvTable& table_;
  std::vector<CsvBlock> blocks_;
  std::vector<std::exception_ptr> errors_;
  std::exception_ptr read_error_;
};

// As many threads as parsing makes good use of; 0: those of the machine.
int csv_threads(int wished);

template <typename Work, typename Collect>
bool CsvBlocks::next(const Work& work, const Collect& collect) {
  const size_t count = read();
  parallel_parts(static_cast<int>(count), [&](int lane) {
    const auto i = static_cast<size_t>(lane);
    try {
      work(lane, blocks_[i]);
    } catch (...) {
      errors_[i] = std::current_exception();
    }
  });
  for (size_t i = 0; i < count; ++i) {
    if (errors_[i]) std::rethrow_exception(errors_[i]);
    collect(static_cast<int>(i), blocks_[i]);
  }
  if (read_error_) std::rethrow_exception(read_error_);
  return count > 0;
}

}  // namespace snug
