// The file that predictions go to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/cli/class_names.h"
#include "snug/nn/network.h"

namespace snug::cli {

// Receives the rows of every output, batch by batch.
class PredictionSink {
 public:
  virtual ~PredictionSink() = default;
  // The rows from number `first` on.
  virtual void add(int output, int64_t first, const Tensor& rows) = 0;
  virtual void finish() = 0;
  // What it writes.
  virtual const std::vector<Path>& files() const = 0;
};

// What predictions are of, as a column before them: "file" with the path of a picture. Without a
// title: none.
struct RowNames {
  std::string title;
  std::function<std::string(int64_t row)> name;
};

// By the end of its name: .npy, a file for each output; .csv, a line for each row, with the
// elements of all outputs behind each other, the name of the row before them, if it has one, and,
// where there are classes, the name of the row's class as the last. The file appears when it is
// finished. Throws Error for another end, and FileError.
std::unique_ptr<PredictionSink> open_sink(const Path& path, const Network& network,
                                          const NamedClasses& classes, RowNames names = {});

}  // namespace snug::cli
