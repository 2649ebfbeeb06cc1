// A run that does not fit, refused in the words of the command line.
#pragma once

#include "snug/cli/command.h"
#include "snug/cli/run_file.h"
#include "snug/train/refusal.h"

namespace snug::cli {

template <typename Call>
auto refusing(const RunFile& run, const Call& call) {
  try {
    return placed(run.file, call);
  } catch (const FitRefused& error) {
    const RefusalWords words{
        .memory = "--memory ", .batch_size = "--batch-size ", .sgd = "fit.optimizer=sgd"};
    throw BudgetError("{}: {}", place_of(run, "memory"), error.refusal().text(words));
  }
}

}  // namespace snug::cli
