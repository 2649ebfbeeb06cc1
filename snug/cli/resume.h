// What `snug fit --resume` goes on with.
#pragma once

#include "snug/cli/command.h"
#include "snug/cli/session.h"

namespace snug::cli {

// The settings that the newest run of the file was started with, unless they are given again.
// Throws Error where that run has trained another model file, or one of layers where this is a
// file.
Arguments with_remembered(Arguments arguments);

// Warns that a run which was stopped before its first checkpoint begins anew. Throws Error where it
// came to its end, which would be lost, or does not save.
void expect_checkpoint(const Arguments& arguments, const Session& session, const Path& directory);

}  // namespace snug::cli
