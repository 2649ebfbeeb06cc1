#include "snug/cli/run_rows.h"

#include "snug/base/log.h"
#include "snug/cli/class_names.h"
#include "snug/train/id_range.h"
#include "snug/train/step_graph.h"

namespace snug::cli {

std::optional<int64_t> classes_of(const Model& model) {
  if (!model.is_compiled()) return {};
  const Types predictions = model.network().output_types();
  if (model.compiled().loss(0)->class_name() != "SparseCategoricalCrossentropy") return {};
  return predictions[0].shape[-1];
}

void expect_one_of_each(Model& model, bool targets) {
  const size_t inputs = model.inputs().size(), outputs = model.outputs().size();
  if (inputs <= 1 && (outputs <= 1 || !targets)) return;
  throw Error(
      "the model has {} input{} and {} output{}, but a run file has data for one of each; use it "
      "in C++, as docs/cpp.md shows (functional)",
      inputs, inputs == 1 ? "" : "s", outputs, outputs == 1 ? "" : "s");
}

namespace {

data::RowRules rules_of(const Model& model) {
  data::RowRules rules{.classes = classes_of(model)};
  const StepGraph step = prediction_step(model.network());
  for (const Value& input : step.inputs) rules.ids_below.push_back(ids_below(*step.graph, input));
  return rules;
}

}  // namespace

data::CheckedData without_bad_rows(const SourcePtr& source, const RunData& data,
                                   const Model& model) {
  data::CheckOptions options{.bad_rows = data.bad_rows, .rules = {}};
  // What a column could not mend was refused when it was read.
  if (data.columns && options.bad_rows.policy == BadRowPolicy::impute)
    options.bad_rows.policy = BadRowPolicy::stop;
  if (options.bad_rows.policy == BadRowPolicy::stop) return {.source = source};
  options.rules = rules_of(model);
  data::CheckedData checked = data::checked(source, options);
  if (checked.bad_rows > 0) {
    log_message(LogLevel::warning, "{}: {} bad rows are left out", source->fields()[0].name,
                checked.bad_rows);
  }
  return checked;
}

std::optional<data::SplitData> split_by_name(const RunFile& run, const SourcePtr& source,
                                             const FitOptions& fit, const Model& model) {
  const YamlValue* word = run.section("data")->find("split");
  if (word == nullptr) return std::nullopt;
  return placed(word->where, [&]() -> std::optional<data::SplitData> {
    const SplitKind kind = split_kind(word->as_text());
    if (kind == SplitKind::tail) return std::nullopt;
    return data::split(source, {.share = fit.validation_split,
                                .kind = kind,
                                .seed = fit.seed,
                                .class_names = class_names_of(model.columns)});
  });
}

}  // namespace snug::cli
