// The file that predictions go to.
#pragma once

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
  virtual void add(int output, const Tensor& rows) = 0;
  virtual std::vector<std::string> finish() = 0;  // The files.
};

// By the end of its name: .npy, a file for each output; .csv, a line for each row, with the
// elements of all outputs behind each other and, where there are classes, the name of the row's
// class as the last. The file appears when it is finished. Throws Error for another end, and
// FileError.
std::unique_ptr<PredictionSink> open_sink(const Path& path, const Network& network,
                                          const NamedClasses& classes);

}  // namespace snug::cli
