#include "snug/cli/trained_session.h"

#include <charconv>

#include "snug/interop/keras_file.h"
#include "snug/train/fit.h"

namespace snug::cli {
namespace {

// runs/NAME/N/best.keras with the largest N, or last.keras there.
std::string newest_model(const RunFile& run, const Path& runs) {
  const Path folder = runs / run.name;
  int64_t newest = 0;
  if (std::filesystem::is_directory(folder)) {
    for (const std::string& name : real_files().list(folder)) {
      int64_t number = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      const bool is_number = error == std::errc() && end == name.data() + name.size();
      if (is_number && real_files().size(folder / name / "last.keras"))
        newest = std::max(newest, number);
    }
  }
  if (newest == 0)
    throw Error("{}: no run of it has left a model in {}; train it first: snug fit {}", run.file,
                folder.string(), run.file);
  const Path last = folder / std::to_string(newest);
  const bool has_best = real_files().size(last / "best.keras").has_value();
  return (last / (has_best ? "best.keras" : "last.keras")).string();
}

}  // namespace

TrainedSession open_trained(const Arguments& arguments, DataNeed need) {
  RunFile run = read_run_file(arguments.run_file, arguments.settings);
  const FitOptions fit = fit_options(run);
  const std::string file = run.has_model_file() ? run.path(*run.section("model")).string()
                                                : newest_model(run, arguments.runs);
  const RunData data = open_data(run, {.cache = arguments.cache(),
                                       .inputs_only = need == DataNeed::inputs,
                                       .fitted = KerasFile(file).columns()});
  Model model = load_model(file);
  if (need == DataNeed::targets && !model.is_compiled()) model.compile(compile_options(run));
  EvaluateOptions options{.batch_size = fit.batch_size,
                          .memory = fit.memory,
                          .whole_process = true,
                          .threads = fit.threads,
                          .reproducible = fit.reproducible};
  SourcePtr source = data.validation ? data.validation : data.train;
  return {std::move(run), file, std::move(model), std::move(source), options};
}

}  // namespace snug::cli
