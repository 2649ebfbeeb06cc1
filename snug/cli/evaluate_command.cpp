#include <cmath>
#include <cstdio>

#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/refusing.h"
#include "snug/cli/trained_session.h"
#include "snug/train/fit.h"
#include "snug/train/progress.h"

namespace snug::cli {

int evaluate_command(const Arguments& arguments) {
  TrainedSession session = open_trained(arguments, DataNeed::targets);
  const Logs logs =
      refusing(session.run, [&] { return session.model.evaluate(session.data, session.options); });
  for (const auto& [name, value] : logs) {
    if (std::isfinite(value)) continue;
    log_message(LogLevel::warning,
                "{} is not finite; whether predictions are, and which of them are not: {} --output "
                "predictions.csv",
                name, suggestion(arguments, "predict"));
    break;
  }
  if (arguments.json) {
    nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
    for (const auto& [name, value] : logs) metrics[name] = value;
    const nlohmann::ordered_json json = {
        {"command", "evaluate"},       {"exit", 0},
        {"model", session.model_file}, {"rows", session.data->rows().value_or(0)},
        {"metrics", metrics},          {"peak_resident_bytes", peak_resident_bytes()}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}, {} {}{}\n", session.model_file, session.data->rows().value_or(0),
               session.rows_name, logs_text(logs));
  }
  return 0;
}

}  // namespace snug::cli
