// What a run reads is not written over by what it writes.
#pragma once

#include <string>
#include <vector>

#include "snug/cli/run_file.h"

namespace snug::cli {

// Throws Error where one of the files is one that the run reads: of its data, also of that which
// the run file names and the command line does not, its run file or its model. `place` is where the
// user named it: "--output".
void refuse_own_files(const RunFile& run, const std::string& place, const std::vector<Path>& files);
// The same for the data that a model was trained on, by the run file of that run.
void refuse_trained_on(const Path& run_file, const std::string& place,
                       const std::vector<Path>& files);

// The same for the files that callbacks write: csv_logger, and model_checkpoint, which may write
// over the model, as Keras does.
void refuse_callbacks_over_own_files(const RunFile& run);

}  // namespace snug::cli
