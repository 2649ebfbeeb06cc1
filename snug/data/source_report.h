// What is to be known about the rows of arrays and pictures before one trains on them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "snug/data/bad_rows.h"
#include "snug/data/source.h"

namespace snug {

struct SourceReportOptions {
  // The last rows, which a validation split would take; 0: the rows are in no order of their own,
  // and nobody asks which classes the last of them have.
  double tail = 0.2;
  size_t most_listed = 20;  // Bad rows that are listed; all are counted.
};

// A field of the good rows.
struct FieldReport {
  Field field;
  int64_t numbers = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  // Rows of each class, by its number: of a target, or the only field, that is one whole number a
  // row with at most 1000 different values, half as many as rows; else empty.
  std::map<std::string, int64_t> classes;

  double mean() const { return numbers > 0 ? sum / static_cast<double>(numbers) : 0; }
};

struct SourceReport {
  int64_t rows = 0;
  std::vector<FieldReport> fields;
  int64_t bad_rows = 0;
  std::vector<BadRow> listed;
  std::vector<std::string> wrong;  // A class that only one side of a split has; no rows.

  bool is_clean() const { return bad_rows == 0 && wrong.empty(); }
};

// Reads all rows of a source with random access once or twice, in fixed memory.
SourceReport report_on(Source& source, const SourceReportOptions& options = {});

}  // namespace snug
