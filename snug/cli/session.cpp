#include "snug/cli/session.h"

#include <algorithm>
#include <array>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/cli/class_names.h"
#include "snug/cli/own_files.h"
#include "snug/cli/refusing.h"
#include "snug/cli/run_rows.h"
#include "snug/data/block_shuffle.h"
#include "snug/data/preprocessed.h"
#include "snug/interop/keras_file.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/room.h"

namespace snug::cli {
namespace {

std::vector<Shape> target_rows(const Source& data) {
  std::vector<Shape> rows;
  for (const Field& field : data.fields()) {
    if (field.role == FieldRole::target) rows.push_back(field.row);
  }
  return rows;
}

// Labels that do not fit the loss are found here, where the line of the loss is known.
void check_targets(const Session& session) {
  const Types predictions = session.model.network().output_types();
  const Compiled& compiled = session.model.compiled();
  const std::vector<Shape> rows = target_rows(*session.data);
  for (size_t i = 0; i < std::min(rows.size(), predictions.size()); ++i) {
    compiled.loss(i)->target_type(predictions[i], rows[i]);
  }
}

bool is_binary(const Model& model) {
  return model.compiled().loss(0)->class_name() == "BinaryCrossentropy" &&
         model.network().output_types()[0].shape[-1] == 1;
}

// The classes that the model tells apart, where its loss is about classes.
std::optional<int64_t> told_apart(const Model& model) {
  return is_binary(model) ? 2 : classes_of(model);
}

// Classes become numbers in the order of their names, of which these losses make amounts.
void warn_of_amounts(const Model& model, const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 7> kOfAmounts = {"MeanSquaredError",
                                                          "MeanAbsoluteError",
                                                          "MeanAbsolutePercentageError",
                                                          "MeanSquaredLogarithmicError",
                                                          "Huber",
                                                          "LogCosh",
                                                          "Poisson"};
  const Loss loss = model.compiled().loss(0);
  const bool of_amounts = std::ranges::find(kOfAmounts, loss->class_name()) != kOfAmounts.end();
  if (!of_amounts || names.size() <= 2 || model.network().output_types()[0].shape[-1] != 1) return;
  log_message(LogLevel::warning,
              "the labels are names of {} classes, and {} takes their numbers, 0 to {}, for "
              "amounts; give the last layer {} units, softmax, and sparse_categorical_crossentropy",
              names.size(), loss->name, names.size() - 1, names.size());
}

// A class that no label can have is a mistake; so is to weigh all of them by 0.
void check_class_weights(const Session& session) {
  const std::map<int64_t, double>& weights = session.fit.class_weight;
  const std::optional<int64_t> classes = told_apart(session.model);
  if (!classes || weights.empty()) return;
  const YamlValue& place = *session.run.section("fit")->find("class_weight");
  int64_t zeros = 0;
  for (const auto& [label, weight] : weights) {
    if (label < 0 || label >= *classes)
      place.fail(
          "class_weight names the class {}, but the model tells {} apart, 0 to {}; leave it out, "
          "or "
          "give the last layer a unit for it",
          label, *classes, *classes - 1);
    zeros += weight == 0 ? 1 : 0;
  }
  if (zeros == *classes)
    place.fail("class_weight is 0 for every class, so nothing would be learned; give some more");
}

// Labels that are names have a class for each, all of which the model must tell apart. A row whose
// label has too great a number would say less.
void check_classes(const Session& session) {
  const std::vector<std::string> names = class_names_of(session.model.columns);
  warn_of_amounts(session.model, names);
  const bool binary = is_binary(session.model);
  const std::optional<int64_t> outputs = told_apart(session.model);
  if (!outputs || std::ssize(names) <= *outputs) return;
  constexpr size_t kMostNamed = 5;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    list += fmt::format("{}\"{}\"", i > 0 ? ", " : "", names[i]);
  const bool named = session.columns && !session.columns->labels.empty();
  throw Error(
      "{} {} classes ({}{}), but the model tells {} apart; give the last layer {} units{}, or mend "
      "classes that are one",
      named ? session.columns->labels[0] + " has" : "the labels have", names.size(), list,
      names.size() > kMostNamed ? ", ..." : "", *outputs, names.size(),
      binary ? ", softmax, and sparse_categorical_crossentropy" : "");
}

// Bad rows are left out before the first step, where the file says so.
void check_rows(Session& session, const RunData& data) {
  session.left_out = data.left_out;
  const auto checked = [&](const SourcePtr& source) {
    if (!source) return source;
    const data::CheckedData result = without_bad_rows(source, data, session.model);
    session.left_out += result.bad_rows;
    return result.source;
  };
  const YamlValue* section = session.run.section("data");
  placed(section->where, [&] {
    session.data = checked(data.train);
    session.fit.validation_data = checked(data.validation);
  });
}

// `split` says which rows validation_split takes; the tail is fit's own.
void split_rows(Session& session) {
  const YamlValue* word = session.run.section("data")->find("split");
  const double share = session.fit.validation_split;
  if (word != nullptr && (share == 0 || session.fit.validation_data)) {
    word->fail("split says which rows fit.validation_split takes; give that, and no validation");
  }
  if (share > 0 && session.fit.validation_data)
    log_message(LogLevel::warning,
                "fit.validation_split takes no rows: data.validation has those to validate with");
  if (share <= 0 || share >= 1 || session.fit.validation_data) return;
  const std::optional<data::SplitData> split =
      split_by_name(session.run, session.data, session.fit, session.model);
  if (!split) {
    const auto rows = static_cast<double>(*session.data->rows());
    data::warn_of_missing_classes(*session.data, static_cast<int64_t>(rows * (1 - share)),
                                  class_names_of(session.model.columns));
    return;
  }
  session.data = split->train;
  session.fit.validation_data = split->validation;
  session.fit.validation_split = 0;
}

// Pictures of one channel often come without the axis for it, which layers for pictures need.
SourcePtr augmented(const SourcePtr& data, data::PreprocessOptions options) {
  const Shape row = data->fields()[0].row;
  try {
    return data::preprocessed(data, options);
  } catch (const Error&) {
    if (row.rank() != 2) throw;
  }
  const Shape picture{row[0], row[1], 1};
  options.layers.insert(options.layers.begin(), Reshape({row[0], row[1], 1}));
  SourcePtr with_axis = data::preprocessed(data, options);
  if (with_axis->fields()[0].row != picture) return with_axis;
  options.layers.push_back(Reshape({row[0], row[1]}));
  return data::preprocessed(data, options);
}

// Layers that change the training rows, and no others, each time they are read.
void augment_rows(Session& session) {
  const YamlValue* list = session.run.section("data")->find("augment");
  if (list == nullptr) return;
  const Shape row = session.data->fields()[0].row;
  // The rows of validation_split would be changed with the others.
  if (session.fit.validation_split > 0)
    list->fail(
        "augment needs validation rows of their own: give data.split: random, or validation");
  session.data = placed(list->where, [&] {
    return augmented(
        session.data,
        {.layers = read_layers(*list), .seed = session.fit.seed, .threads = session.fit.threads});
  });
  const Shape changed = session.data->fields()[0].row;
  if (changed != row) {
    list->fail("augment makes {} of rows of {}; put layers that change the shape into the model",
               changed.text(), row.text());
  }
}

// `shuffle: blocks` reads stretches of rows and mixes those of a window, for disks on which single
// rows take long. The window is the same under any budget that has room for it, so that the order
// of the rows is.
void shuffle_by_blocks(Session& session) {
  constexpr int64_t kPart = 8, kWindow = 32_MiB;
  const YamlValue* word = session.run.section("fit")->find("shuffle");
  if (word == nullptr || !word->is_scalar() || word->text != "blocks") return;
  FitOptions& fit = session.fit;
  if (fit.validation_split > 0 && !fit.validation_data) {
    const data::SplitData split =
        data::split(session.data, {.share = fit.validation_split, .warns = false});
    session.data = split.train;
    fit.validation_data = split.validation;
    fit.validation_split = 0;
  }
  const int64_t window = fit.memory > 0 ? std::min(fit.memory / kPart, kWindow) : kWindow;
  session.data = data::block_shuffled(session.data, {.seed = fit.seed, .window_bytes = window});
}

// A model from a file goes on as it was compiled, but for what the run says otherwise.
void compile(Session& session) {
  Model& model = session.model;
  if (!model.is_compiled()) return model.compile(compile_options(session.run));
  const YamlValue* fit = session.run.section("fit");
  for (const char* key : {"loss", "optimizer", "metrics", "weighted_metrics"}) {
    if (fit->find(key) != nullptr)
      return model.compile(compile_options(session.run, model.compiled().options()));
  }
}

}  // namespace

std::unique_ptr<FitRun> make_fit(Session& session) {
  return refusing(session.run, [&] {
    return std::make_unique<FitRun>(session.model, session.data, session.fit);
  });
}

FitPlan plan_of(Session& session) {
  return refusing(session.run, [&] { return session.model.plan(session.data, session.fit); });
}

Session open_session(const Arguments& arguments) {
  const ResidentLimit limit(room_of_machine().bytes);
  RunFile run = read_run_file(arguments.run_file, arguments.settings);
  FitOptions fit = fit_options(run);
  refuse_callbacks_over_own_files(run);
  // A model that goes on reads what it has read before.
  DataRequest request{.cache = arguments.cache()};
  if (run.has_model_file()) {
    const KerasFile model(run.path(*run.section("model")));
    model.expect_model();
    request.fitted = model.columns();
  }
  check_model_early(run);
  RunData data = open_data(run, request);
  if (data.columns) set_columns(run, *data.columns);
  Model model = make_model(run, data.train->fields()[0]);
  if (!data.fitted.empty()) model.columns = data.fitted;
  Session session{.run = std::move(run),
                  .fit = std::move(fit),
                  .data = data.train,
                  .model = std::move(model),
                  .columns = data.columns,
                  .rejected = data.bad_rows.rejected};
  placed(session.run.file, [&] {
    if (session.run.has_model_file()) expect_one_of_each(session.model, /*targets=*/true);
    fit_network_to(session.model.network(), *session.data);
  });
  placed(place_of(session.run, "loss"), [&] {
    compile(session);
    check_targets(session);
    check_classes(session);
  });
  check_class_weights(session);
  check_rows(session, data);
  split_rows(session);
  augment_rows(session);
  shuffle_by_blocks(session);
  return session;
}

}  // namespace snug::cli
