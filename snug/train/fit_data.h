// The data of a run, as far as its checkpoints know it: a few rows of it.
#pragma once

#include "snug/data/data_print.h"
#include "snug/train/run_state.h"

namespace snug {

struct FitData {
  DataPrint training, validation;

  void visit(StateVisitor& visitor);
  // Warns of rows that are not what they were when a checkpoint was written. The sources are those
  // of this run; no validation: null.
  void compare(const FitData& saved, Source& training_source, Source* validation_source) const;
};

}  // namespace snug
