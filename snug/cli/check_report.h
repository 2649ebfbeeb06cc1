// What `snug check` prints about arrays, pictures and texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/cli/command.h"
#include "snug/data/source_report.h"
#include "snug/data/text_report.h"

namespace snug::cli {

constexpr int kBadData = 4;

// "1 row", "7 rows".
std::string count_text(int64_t count, std::string_view what);
// "0 to 1484705, mean 7.5": whole numbers as a person writes them.
std::string range_text(double min, double max, double mean);

// What can be done about bad rows, all of which can be imputed where `imputable`.
std::string way_out(int64_t bad_rows, int64_t rows, bool imputable = false);

// An array or a set of arrays that belong together.
struct NamedReport {
  std::string name;
  SourceReport report;
};

// Each prints what was found, with --json as one object, and returns the exit code.
int print_arrays(const Arguments& arguments, const std::vector<NamedReport>& reports,
                 const std::vector<std::string>& notes);
int print_texts(const Arguments& arguments, const TextReport& report);

}  // namespace snug::cli
