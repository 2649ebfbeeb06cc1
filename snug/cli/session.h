// What fit and plan have in common: a run file made into a compiled model with its data.
#pragma once

#include "snug/cli/command.h"
#include "snug/cli/run_file.h"

namespace snug::cli {

struct Session {
  RunFile run;
  FitOptions fit;  // With the validation data.
  SourcePtr data;
  Sequential model;  // Compiled.

  // What Model::plan is to be asked: the batch of this run, and the targets of its data.
  PlanOptions plan_options() const;
};

// Throws Error for whatever is wrong in the run file, or between the model, the loss and the data.
Session open_session(const Arguments& arguments);

}  // namespace snug::cli
