// What evaluate and predict have in common: a trained model and data for it.
#pragma once

#include "snug/cli/command.h"
#include "snug/cli/run_file.h"

namespace snug::cli {

struct TrainedSession {
  RunFile run;
  std::string model_file;
  Path trained_by;  // The run file of the run that has left it; empty: it is not known.
  Model model;
  SourcePtr data;
  std::string rows_name;      // "rows of validation data"
  int64_t left_out = 0;       // Bad rows that are not among them.
  bool are_pictures = false;  // Each row is a file.
  EvaluateOptions options;
};

enum class DataNeed { targets, inputs };

// The model of a file, or the best one of a run of a run file, the newest if none is given; its
// validation data, or the run file, or the rows of its validation_split, or else all rows. Throws
// Error where there is none.
TrainedSession open_trained(const Arguments& arguments, DataNeed need);

}  // namespace snug::cli
