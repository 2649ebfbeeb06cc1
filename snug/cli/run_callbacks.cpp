#include "snug/cli/run_callbacks.h"

namespace snug::cli {

RunCallbacks add_callbacks(Session& session) {
  const RunCallbacks callbacks{
      .watch = std::make_shared<RunWatch>(session.fit.epochs, session.fit.checkpoint.is_on()),
      .models = std::make_shared<RunModels>(),
      .events = std::make_shared<TensorBoardCallback>(
          "", TensorBoardOptions{.left_out_rows = session.left_out}, real_files())};
  session.fit.callbacks.push_back(callbacks.watch);
  session.fit.callbacks.push_back(callbacks.models);
  session.fit.callbacks.push_back(callbacks.events);
  return callbacks;
}

void RunCallbacks::save_to(const Path& directory) const {
  watch->save_to(directory);
  models->save_to(directory);
  events->set_log_dir((directory / "events").string());
}

}  // namespace snug::cli
