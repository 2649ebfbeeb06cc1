// What is done with rows that cannot be trained on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "snug/base/file.h"

namespace snug {

enum class BadRowPolicy {
  stop,        // The run ends when the first is found; for tables before its first step.
  skip,        // They are left out.
  quarantine,  // They are left out and written to a file, with the reason.
  impute,      // Cells become missing ones, which the column has a rule for; else as stop.
};
// Throws Error, which names the nearest right word.
BadRowPolicy bad_row_policy(std::string_view word);

struct BadRowOptions {
  BadRowPolicy policy = BadRowPolicy::stop;
  double most = 0.05;  // The share of the rows that may be left out; more is no accident.
  Path rejected;       // Of quarantine: a CSV file that is made, or appended to.
  std::string check;   // The command that lists them all; empty: snug check FILE.
};

struct BadRow {
  static constexpr size_t kMostText = 4096;  // Of a value or a record that is written down.

  std::string file;
  std::string position;  // "line 18", "row 17".
  std::string column;    // Empty: the row itself.
  std::string value;
  std::string problem;  // "a number was expected", "it has 3 cells, ...".
  std::string record;   // As it stands in the file; empty where that is no text.

  // "adult.csv: line 18, column age is "abc", but a number was expected".
  std::string text() const;
};

// Counts the bad rows of one source and writes them down, some hundred at a time; all of them are
// in the file before finish() returns or throws, and when this is gone.
class BadRows {
 public:
  BadRows(FileSystem& files, BadRowOptions options);
  ~BadRows();
  BadRows(const BadRows&) = delete;
  BadRows& operator=(const BadRows&) = delete;

  // Throws FileError when the quarantine cannot be written, as finish() does.
  void add(const BadRow& row);
  // Rows of which nothing is written down, after the first one.
  void count_more(int64_t rows) { count_ += rows; }
  // When all rows have been seen. Throws DataError, which names the first bad row: where the policy
  // is to stop, and where more than the share that is allowed are bad.
  void finish(int64_t rows, std::string_view file);

  int64_t count() const { return count_; }
  const std::string& first() const { return first_; }
  BadRowPolicy policy() const { return options_.policy; }

 private:
  void write_down(const BadRow& row);
  // Writes what waits.
  void flush();

  FileSystem& files_;
  BadRowOptions options_;
  int64_t count_ = 0;
  std::string first_;
  std::unique_ptr<File> rejected_;
  std::string waiting_;  // Lines of the file that are not written yet.
};

}  // namespace snug
