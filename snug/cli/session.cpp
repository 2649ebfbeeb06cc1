#include "snug/cli/session.h"

#include <algorithm>

#include "snug/train/fit.h"

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

}  // namespace

PlanOptions Session::plan_options() const {
  const int64_t batch_size = fit.batch_size.value_or(32);
  return {.batch_size = std::min(batch_size, data->rows().value_or(batch_size)),
          .memory = fit.memory,
          .whole_process = true,
          .threads = fit.threads,
          .target_rows = target_rows(*data)};
}

Session open_session(const Arguments& arguments) {
  RunFile run = read_run_file(arguments.run_file, arguments.settings);
  FitOptions fit = fit_options(run);
  CompileOptions compile = compile_options(run);
  const RunData data = open_data(run, arguments.cache());
  fit.validation_data = data.validation;
  Sequential model = make_model(run, *data.train);
  Session session{std::move(run), std::move(fit), data.train, std::move(model)};
  placed(session.run.file, [&] { fit_network_to(session.model.network(), *session.data); });
  placed(place_of(session.run, "loss"), [&] {
    session.model.compile(std::move(compile));
    check_targets(session);
  });
  return session;
}

}  // namespace snug::cli
