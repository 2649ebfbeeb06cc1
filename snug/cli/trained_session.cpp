#include "snug/cli/trained_session.h"

#include <charconv>

#include "snug/data/ordered.h"
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
      const bool has_model = real_files().size(folder / name / "best.keras") ||
                             real_files().size(folder / name / "last.keras");
      if (is_number && has_model)
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

struct ChosenRows {
  SourcePtr source;
  std::string name;
};

// What the model was not trained on, where the run file says so.
ChosenRows chosen_rows(const RunData& data, double validation_split) {
  if (data.validation) return {data.validation, "rows of validation data"};
  const std::optional<int64_t> rows = data.train->rows();
  if (validation_split > 0 && rows && data.train->access() == Access::random) {
    const int64_t first = first_validation_row(*rows, validation_split);
    if (first < *rows)
      return {data::ordered(data.train, RowOrder(*rows).skip(first)), "rows of validation_split"};
  }
  return {data.train, "rows"};
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
  ChosenRows rows = chosen_rows(data, need == DataNeed::targets ? fit.validation_split : 0);
  return {std::move(run), file, std::move(model), std::move(rows.source), rows.name, options};
}

}  // namespace snug::cli
