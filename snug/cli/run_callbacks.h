// What watches every run of `snug fit`. They are part of what a run needs, so plan has them too.
#pragma once

#include <memory>

#include "snug/cli/run_models.h"
#include "snug/cli/run_watch.h"
#include "snug/cli/session.h"
#include "snug/train/tensor_board.h"

namespace snug::cli {

struct RunCallbacks {
  std::shared_ptr<RunWatch> watch;
  std::shared_ptr<RunModels> models;
  std::shared_ptr<TensorBoardCallback> events;

  // Where they write; known only when the run has been planned.
  void save_to(const Path& directory) const;
};

// Adds them to the session's fit.
RunCallbacks add_callbacks(Session& session);

}  // namespace snug::cli
