// A few rows of a source as checksums: whether data is still what it was, without reading all of
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "snug/data/source.h"

namespace snug {

// Whole numbers, in the form in which checkpoints hold them.
struct DataPrint {
  static constexpr double kUnknown = -1;

  std::vector<double> rows;  // Their numbers in the source. Empty: it cannot be read at random.
  std::vector<double> sums;  // 52 bits of a checksum: all fields of the first row, of the next, ...

  friend bool operator==(const DataPrint&, const DataPrint&) = default;
};

struct DataPrintOptions {
  std::vector<Type> slots;  // Of one row of each field; a field without elements is not looked at.
  int64_t first = 0, count = 0;  // The rows that it is of.
  std::span<std::byte> memory;   // For one row of one field, which may be written to.
  bool twice = false;  // A row that is not the same when it is read again is not known, either.
};

// Of up to 32 rows, 8 at least, from the first to the last with as many between each two; of large
// rows fewer. A number counts as a slot holds it: where and in which type it is stored does not
// matter. The rows are those of pass 0, which this begins. Rows that cannot be read are not known,
// nor are those that find no room in `memory` and cannot be borrowed, nor what is left after a
// second of reading. Any other source than one with random access is left alone.
DataPrint data_print_of(Source& source, const DataPrintOptions& options);

// "x.npy: row 17 has other numbers, and so have 3 more (of the 32 rows that are compared)"; empty
// where nothing that both know differs.
std::string change_between(const DataPrint& before, const DataPrint& now, Source& source);

}  // namespace snug
