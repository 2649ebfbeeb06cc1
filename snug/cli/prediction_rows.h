// The rows that predictions are of: what they are called, and that they are not written over.
#pragma once

#include <vector>

#include "snug/cli/prediction_sink.h"
#include "snug/cli/trained_session.h"

namespace snug::cli {

// A picture's file; the position of a row ("line 19") where others were left out, so that lines of
// the predictions are not lines of the data; else none.
RowNames row_names(const TrainedSession& session);

// Throws Error where one of the files is one that the run's data is read from.
void refuse_own_data(const RunFile& run, const std::vector<Path>& files);

}  // namespace snug::cli
