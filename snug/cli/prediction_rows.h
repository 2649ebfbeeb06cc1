// The rows that predictions are of: what they are called.
#pragma once

#include "snug/cli/prediction_sink.h"
#include "snug/cli/trained_session.h"

namespace snug::cli {

// A picture's file; the position of a row ("line 19") where others were left out, so that lines of
// the predictions are not lines of the data; else none.
RowNames row_names(const TrainedSession& session);

}  // namespace snug::cli
