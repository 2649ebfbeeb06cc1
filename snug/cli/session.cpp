#include "snug/cli/session.h"

#include <algorithm>

#include "snug/train/refusal.h"

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

// In the words of the command line.
template <typename Plan>
auto refusing(const Session& session, const Plan& plan) {
  try {
    return placed(session.run.file, plan);
  } catch (const FitRefused& error) {
    const RefusalWords words{
        .memory = "--memory ", .batch_size = "--batch-size ", .sgd = "fit.optimizer=sgd"};
    throw BudgetError("{}: {}", place_of(session.run, "memory"), error.refusal().text(words));
  }
}

}  // namespace

std::unique_ptr<FitRun> make_fit(Session& session) {
  return refusing(
      session, [&] { return std::make_unique<FitRun>(session.model, session.data, session.fit); });
}

FitPlan plan_of(Session& session) {
  return refusing(session, [&] { return session.model.plan(session.data, session.fit); });
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
