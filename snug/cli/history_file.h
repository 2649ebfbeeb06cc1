// history.csv of a run, which grows with it.
#pragma once

#include <memory>
#include <string>

#include "snug/base/file.h"
#include "snug/base/repeated_warning.h"
#include "snug/cli/epoch_table.h"

namespace snug::cli {

class HistoryFile {
 public:
  HistoryFile(FileSystem& files, Path path) : files_(files), path_(std::move(path)) {}

  // After each epoch: adds its line. All lines are written anew where the file does not hold what
  // the table holds: at first, so that what a killed run has written twice stands there once, and
  // where there is a new column. A disk that fails is warned of and does not end the run.
  void follow(const EpochTable& epochs);
  // All of it, on the disk when it returns. Throws FileError.
  void write(const EpochTable& epochs);

 private:
  void add_line(const EpochTable& epochs);

  FileSystem& files_;
  Path path_;
  std::unique_ptr<File> file_;  // Open at its end, while it holds all epochs but the last.
  std::string header_;
  int64_t written_ = 0;     // Epochs in it.
  int64_t not_before_ = 0;  // After a failure: so many epochs, until all is tried again.
  RepeatedWarning trouble_;
};

}  // namespace snug::cli
