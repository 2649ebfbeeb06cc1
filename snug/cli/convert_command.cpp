#include <cstdio>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/train/model.h"

namespace snug::cli {

int convert_command(const Arguments& arguments) {
  Model model = load_model(arguments.run_file);
  model.save(arguments.output);
  if (arguments.output.ends_with(".weights.h5"))
    log_message(LogLevel::warning,
                "{}: these are weights alone: layers, how the model was compiled and what its data "
                "was fitted to are in {} only",
                arguments.output, arguments.run_file);
  const std::optional<int64_t> bytes = real_files().size(arguments.output);
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"command", "convert"},
                                         {"exit", 0},
                                         {"output", arguments.output},
                                         {"bytes", bytes.value_or(0)}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}: {} layers, {} weights, {}\n", arguments.output, model.network().layers().size(),
               model.weights().size(), bytes_text(bytes.value_or(0)));
  }
  return 0;
}

}  // namespace snug::cli
