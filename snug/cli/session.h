// What fit and plan have in common: a run file made into a compiled model with its data.
#pragma once

#include <memory>

#include "snug/cli/command.h"
#include "snug/cli/run_file.h"
#include "snug/train/fit.h"

namespace snug::cli {

struct Session {
  RunFile run;
  FitOptions fit;  // With the validation data.
  SourcePtr data;
  Model model;                     // Compiled.
  std::optional<Columns> columns;  // Of CSV files.
  Path rejected;                   // Bad rows that were put in quarantine; may not exist.
  int64_t left_out = 0;            // Bad rows that are not trained on.
};

// Throws Error for whatever is wrong in the run file, or between the model, the loss and the data.
Session open_session(const Arguments& arguments);

// The fit of a session, bound and measured. Throws BudgetError in the words of the command line:
// what is largest, the least budget that works, and changes that would fit.
std::unique_ptr<FitRun> make_fit(Session& session);
// Only planned.
FitPlan plan_of(Session& session);

}  // namespace snug::cli
