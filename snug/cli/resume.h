// What `snug fit --resume` goes on with.
#pragma once

#include "snug/cli/command.h"
#include "snug/cli/session.h"

namespace snug::cli {

// With the number of the run that is gone on with, which is chosen here and nowhere else: a newer
// one may begin at any time. And with the settings that it was started with, unless they are given
// again. Throws Error where that run has trained another model file, or one of layers where this is
// a file.
Arguments with_remembered(Arguments arguments);

// Whether there is a checkpoint that a run in this directory could go on from.
bool can_go_on(const Session& session, const Path& directory);

// The same of a run that is to go on. Warns that one which was stopped before its first
// begins anew, in another directory. Throws Error where it came to its end, or does not save.
bool has_checkpoint(const Arguments& arguments, const Session& session, const Path& directory);

// What callbacks carry from step to step is in the checkpoints, one after the other: throws Error
// where the run file has other callbacks now.
void expect_same_callbacks(const Arguments& arguments, const RunFile& run, const Path& directory);

// The command that trains the model, which a run has left, further in a new run.
std::string further_suggestion(const Arguments& arguments, const Path& model);
// The last model that the run has left, or its best; empty: none.
Path model_left(const Path& directory);

// Warns of what the run file says now (`resolved`) and did not say when the run was started last,
// but for what is given on the command line and what may change from start to start: where the
// project's folder is, too. What was found out about the columns of a table is told apart.
void warn_of_changes(const Arguments& arguments, const Path& directory, const std::string& resolved,
                     const std::vector<Override>& given);

}  // namespace snug::cli
