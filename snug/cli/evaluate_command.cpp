#include <cstdio>

#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/trained_session.h"
#include "snug/train/fit.h"
#include "snug/train/progress.h"

namespace snug::cli {

int evaluate_command(const Arguments& arguments) {
  TrainedSession session = open_trained(arguments, DataNeed::targets);
  const Logs logs = placed(session.run.file,
                           [&] { return session.model.evaluate(session.data, session.options); });
  if (arguments.json) {
    nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
    for (const auto& [name, value] : logs) metrics[name] = value;
    const nlohmann::ordered_json json = {{"command", "evaluate"},
                                         {"exit", 0},
                                         {"model", session.model_file},
                                         {"rows", session.data->rows().value_or(0)},
                                         {"metrics", metrics}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}, {} {}{}\n", session.model_file, session.data->rows().value_or(0),
               session.rows_name, logs_text(logs));
  }
  return 0;
}

}  // namespace snug::cli
