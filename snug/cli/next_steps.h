// What a user may do when a run is done.
#pragma once

#include <string>

#include "snug/cli/command.h"
#include "snug/cli/epoch_table.h"
#include "snug/cli/session.h"

namespace snug::cli {

// Lines of commands to copy: longer training where the loss still falls, and which epoch was the
// best where it does not; predictions; larger batches where there are rows for them. Where no loss
// is a number, how to find out why. `directory` is the run's.
std::string next_steps(const Arguments& arguments, const Session& session, const EpochTable& epochs,
                       const Path& directory);

// Of a run that had nothing to do: why, and what would make it train. Else nothing.
std::string idle_text(const Arguments& arguments, const Session& session, const FitRun& fit,
                      const EpochTable& epochs, const Path& directory);

}  // namespace snug::cli
