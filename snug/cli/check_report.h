// What `snug check` prints about arrays, pictures and texts.
#pragma once

#include <string>
#include <vector>

#include "snug/cli/command.h"
#include "snug/data/source_report.h"
#include "snug/data/text_report.h"

namespace snug::cli {

constexpr int kBadData = 4;

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
