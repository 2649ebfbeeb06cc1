// A run file: its tree, the model and the settings that it describes.

#include "snug/cli/run_file.h"
#include "tests/fuzz/fuzz.h"

void snug::fuzz::read_input(Input bytes) {
  cli::RunFile run{.file = "run.yaml", .name = "run"};
  run.tree = cli::parse_yaml(std::string(text_of(bytes)), "run.yaml");
  refused_or_read([&] { cli::compile_options(run); });
  refused_or_read([&] { cli::fit_options(run); });
  if (!run.has_model_file()) cli::make_model(run);
}
