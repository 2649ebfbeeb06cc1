#include "snug/cli/trained_session.h"

#include <algorithm>
#include <charconv>

#include "snug/base/log.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/run_rows.h"
#include "snug/data/ordered.h"
#include "snug/interop/keras_file.h"
#include "snug/train/fit.h"
#include "snug/train/room.h"

namespace snug::cli {
namespace {

// runs/NAME/N/best.keras with the largest N, or last.keras there.
std::string newest_model(const RunFile& run, const Arguments& arguments) {
  const Path folder = arguments.runs / run.name;
  int64_t newest = 0;
  if (std::filesystem::is_directory(folder)) {
    for (const std::string& name : real_files().list(folder)) {
      int64_t number = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      const bool is_number = error == std::errc() && end == name.data() + name.size();
      const bool has_model = real_files().size(folder / name / "best.keras") ||
                             real_files().size(folder / name / "last.keras");
      if (is_number && has_model) newest = std::max(newest, number);
    }
  }
  if (newest == 0)
    throw Error("{}: no run of it has left a model in {}; train it first: {}", run.file,
                folder.string(), suggestion(arguments, "fit"));
  const Path last = folder / std::to_string(newest);
  const bool has_best = real_files().size(last / "best.keras").has_value();
  return (last / (has_best ? "best.keras" : "last.keras")).string();
}

// Of the run that has left the model, where it has.
Path run_file_of(const std::string& model) {
  const Path folder = Path(model).parent_path();
  const bool is_of_a_run = real_files().size(folder / "report.txt").has_value();
  return is_of_a_run ? folder / "run.yaml" : Path();
}

struct ChosenRows {
  SourcePtr source;
  std::string name;
  int64_t left_out = 0;
};

// What the model was not trained on, where the run file says so.
ChosenRows chosen_rows(const RunFile& run, const RunData& data, const FitOptions& fit,
                       const Model& model) {
  const SourcePtr source = data.validation ? data.validation : data.train;
  const data::CheckedData checked =
      placed(run.section("data")->where, [&] { return without_bad_rows(source, data, model); });
  ChosenRows chosen{checked.source, "rows", data.left_out + checked.bad_rows};
  if (data.validation) chosen.name = "rows of validation data";
  const std::optional<int64_t> rows = chosen.source->rows();
  if (data.validation || fit.validation_split <= 0 || !rows ||
      chosen.source->access() != Access::random)
    return chosen;
  const int64_t first = first_validation_row(*rows, fit.validation_split);
  if (const auto split = split_by_name(run, chosen.source, fit)) {
    chosen.source = split->validation;
  } else if (first < *rows) {
    chosen.source = data::ordered(chosen.source, RowOrder(*rows).skip(first));
  } else {
    return chosen;
  }
  chosen.name = "rows of validation_split";
  return chosen;
}

// Other rows than those of the run file: what it sets aside of its own is not meant then.
void leave_out_validation(RunFile& run, const std::vector<Override>& settings) {
  const auto names = [&](std::string_view path) {
    return std::ranges::any_of(settings, [&](const Override& setting) {
      return setting.path == path || setting.path.starts_with(std::string(path) + ".");
    });
  };
  const bool other_rows = names("data.train") || names("data.x") || names("data.images");
  YamlValue* data = run.tree.find("data");
  if (data == nullptr || !other_rows || names("data.validation")) return;
  std::erase_if(data->items, [](const YamlItem& item) { return item.key == "validation"; });
  if (names("fit.validation_split")) return;
  run.tree.at("fit", run.file).at("validation_split", run.file).set_text("0");
}

}  // namespace

TrainedSession open_trained(const Arguments& arguments, DataNeed need) {
  const ResidentLimit limit(room_of_machine().bytes);
  RunFile run = read_run_file(arguments.run_file, arguments.settings);
  std::string file;
  if (run.has_model_file()) {
    file = run.path(*run.section("model")).string();
  } else {
    file = newest_model(run, arguments);
    // With the settings that it was trained with.
    run = read_run_file(arguments.run_file,
                        merged(remembered_settings(Path(file).parent_path()), arguments.settings));
  }
  leave_out_validation(run, arguments.settings);
  FitOptions fit = fit_options(run);
  const RunData data = open_data(run, {.cache = arguments.cache(),
                                       .inputs_only = need == DataNeed::inputs,
                                       .trained = true,
                                       .fitted = KerasFile(file).columns(),
                                       .trained_by = run_file_of(file)});
  Model model = load_model(file, {.compile = need == DataNeed::targets});
  if (need == DataNeed::targets && !model.is_compiled()) model.compile(compile_options(run));
  EvaluateOptions options{.batch_size = fit.batch_size,
                          .verbose = arguments.is_watched() ? 1 : 0,
                          .memory = fit.memory,
                          .whole_process = true,
                          .threads = fit.threads,
                          .reproducible = fit.reproducible};
  if (need == DataNeed::inputs) fit.validation_split = 0;  // All rows are wanted.
  ChosenRows rows = chosen_rows(run, data, fit, model);
  if (!data.bad_rows.rejected.empty() && real_files().size(data.bad_rows.rejected))
    log_message(LogLevel::info, "the bad rows are in {}", data.bad_rows.rejected.string());
  const YamlValue* files = run.section("data")->find(data.validation ? "validation" : "train");
  const bool are_pictures = files != nullptr && is_folder(*files);
  return {.run = std::move(run),
          .model_file = file,
          .model = std::move(model),
          .data = std::move(rows.source),
          .rows_name = rows.name,
          .left_out = rows.left_out,
          .are_pictures = are_pictures,
          .options = options};
}

}  // namespace snug::cli
