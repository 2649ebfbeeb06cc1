#include "snug/cli/trained_session.h"

#include <algorithm>
#include <charconv>

#include "snug/base/log.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/run_directory.h"
#include "snug/cli/run_rows.h"
#include "snug/data/ordered.h"
#include "snug/interop/keras_file.h"
#include "snug/train/fit.h"
#include "snug/train/room.h"

namespace snug::cli {
namespace {

// runs/NAME/N/best.keras with the largest N, or with the one that is given; or last.keras there.
std::string newest_model(const RunFile& run, const Arguments& arguments) {
  const Path folder = arguments.runs / run.name;
  const int64_t own = RunDirectory::number_of(arguments.runs, run.name, run.file);
  const int64_t wanted = arguments.run_number > 0 ? arguments.run_number : own;
  int64_t newest = 0;
  if (std::filesystem::is_directory(folder)) {
    for (const std::string& name : real_files().list(folder)) {
      int64_t number = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      const bool is_number = error == std::errc() && end == name.data() + name.size();
      const bool has_model = real_files().size(folder / name / "best.keras") ||
                             real_files().size(folder / name / "last.keras");
      const bool is_wanted = wanted == 0 || wanted == number;
      if (is_number && has_model && is_wanted) newest = std::max(newest, number);
    }
  }
  const Path chosen = folder / std::to_string(wanted);
  if (newest == 0 && wanted > 0 && !std::filesystem::exists(chosen))
    throw Error("{}: there is no such run; see which numbers there are, or leave --run out",
                chosen.string());
  if (newest == 0 && wanted > 0)
    throw Error("{}: this run has left no model; {}", chosen.string(),
                arguments.run_number > 0
                    ? "see which runs there are, or leave --run out"
                    : "go on with it: " + remembered_suggestion(arguments, "fit") + " --resume");
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
  if (const auto split = split_by_name(run, chosen.source, fit, model)) {
    chosen.source = split->validation;
  } else if (first < *rows) {
    chosen.source = data::ordered(chosen.source, RowOrder(*rows).skip(first));
  } else {
    return chosen;
  }
  chosen.name = "rows of validation_split";
  return chosen;
}

// Whether the command line says something at this path.
bool names(const std::vector<Override>& settings, const std::string& path) {
  return std::ranges::any_of(settings, [&](const Override& setting) {
    return setting.path == path || setting.path.starts_with(path + ".");
  });
}

// Another folder than that of the run file is read whole, unless a part of it is asked for.
void take_whole_folders(RunFile& run, const std::vector<Override>& settings) {
  YamlValue* data = run.tree.find("data");
  for (const std::string side : {"train", "validation"}) {
    const auto is_given = [&](std::string_view key) {
      return names(settings, fmt::format("data.{}.{}", side, key));
    };
    YamlValue* files = data != nullptr ? data->find(side) : nullptr;
    if (files == nullptr || !(is_given("image_folder") || is_given("text_folder"))) continue;
    if (is_given("validation_split") || is_given("subset")) continue;
    std::erase_if(files->items, [](const YamlItem& item) {
      return item.key == "validation_split" || item.key == "subset";
    });
  }
}

// Other rows than those of the run file: what it sets aside of its own is not meant then.
void leave_out_validation(RunFile& run, const std::vector<Override>& settings) {
  const bool other_rows =
      names(settings, "data.train") || names(settings, "data.x") || names(settings, "data.images");
  YamlValue* data = run.tree.find("data");
  if (data == nullptr || !other_rows || names(settings, "data.validation")) return;
  std::erase_if(data->items, [](const YamlItem& item) { return item.key == "validation"; });
  if (names(settings, "fit.validation_split")) return;
  run.tree.at("fit", run.file).at("validation_split", run.file).set_text("0");
}

// It would be that model all the same.
void refuse_run_number(const Arguments& arguments, const std::string& file) {
  if (arguments.run_number == 0) return;
  throw Error(
      "--run {}: the model is the file {}, whatever runs there are; leave --run out, or give the "
      "model file that the run has left",
      arguments.run_number, file);
}

// Its layers are those that were trained: other ones would have no weights.
void refuse_other_layers(const Arguments& arguments, const std::string& file) {
  const auto found = std::ranges::find_if(arguments.settings, [](const Override& setting) {
    return setting.path.starts_with("model.");
  });
  if (found == arguments.settings.end()) return;
  throw PlacedError(found->place,
                    fmt::format("{} was trained with the layers that it has, and is used with "
                                "them; leave it out, or train another: {}",
                                file, suggestion(arguments, "fit")));
}

// Whether the command line, or the run file of a model file, says how to measure.
bool names_measures(const RunFile& run, const Arguments& arguments) {
  const auto is_given = [&](std::string_view key) {
    if (run.has_model_file()) return run.section("fit")->find(key) != nullptr;
    const std::string path = fmt::format("fit.{}", key);
    return std::ranges::any_of(arguments.settings, [&](const Override& setting) {
      return setting.path == path || setting.path.starts_with(path + ".");
    });
  };
  return is_given("loss") || is_given("metrics") || is_given("weighted_metrics");
}

// As it was compiled for training, but for what is said otherwise.
void compile(Model& model, const RunFile& run, const Arguments& arguments) {
  if (!model.is_compiled()) return model.compile(compile_options(run));
  if (!names_measures(run, arguments)) return;
  placed(place_of(run, "loss"),
         [&] { model.compile(compile_options(run, model.compiled().options())); });
}

// Out of the cache, in which files of processes that have ended are removed.
void keep_rejected(const Path& rejected, const Path& to) {
  if (rejected.empty() || !real_files().size(rejected)) return;
  real_files().rename(rejected, to);
  log_message(LogLevel::info, "the bad rows are in {}", to.string());
}

}  // namespace

TrainedSession open_trained(const Arguments& arguments, DataNeed need) {
  const ResidentLimit limit(room_of_machine().bytes);
  RunFile run = read_run_file(arguments.run_file, arguments.settings);
  std::string file;
  if (run.has_model_file()) {
    file = run.path(*run.section("model")).string();
    refuse_run_number(arguments, file);
  } else {
    file = newest_model(run, arguments);
    refuse_other_layers(arguments, file);
    // With the settings that it was trained with.
    run = read_run_file(arguments.run_file,
                        merged(remembered_settings(Path(file).parent_path()), arguments.settings));
  }
  leave_out_validation(run, arguments.settings);
  take_whole_folders(run, arguments.settings);
  FitOptions fit = fit_options(run);
  KerasFile(file).expect_model();
  const RunData data = open_data(run, {.cache = arguments.cache(),
                                       .inputs_only = need == DataNeed::inputs,
                                       .trained = true,
                                       .fitted = KerasFile(file).columns(),
                                       .trained_by = run_file_of(file)});
  Model model = load_model(file, {.compile = need == DataNeed::targets});
  placed(run.file, [&] { expect_one_of_each(model, need == DataNeed::targets); });
  if (need == DataNeed::targets) compile(model, run, arguments);
  EvaluateOptions options{.batch_size = fit.batch_size,
                          .verbose = arguments.is_watched() ? 1 : 0,
                          .memory = fit.memory,
                          .whole_process = true,
                          .threads = fit.threads,
                          .reproducible = fit.reproducible};
  if (need == DataNeed::inputs) fit.validation_split = 0;  // All rows are wanted.
  ChosenRows rows = chosen_rows(run, data, fit, model);
  keep_rejected(data.bad_rows.rejected, arguments.runs / (run.name + ".rejected.csv"));
  const YamlValue* files = run.section("data")->find(data.validation ? "validation" : "train");
  const bool are_pictures = files != nullptr && is_folder(*files);
  return {.run = std::move(run),
          .model_file = file,
          .trained_by = run_file_of(file),
          .model = std::move(model),
          .data = std::move(rows.source),
          .rows_name = rows.name,
          .left_out = rows.left_out,
          .are_pictures = are_pictures,
          .options = options};
}

}  // namespace snug::cli
