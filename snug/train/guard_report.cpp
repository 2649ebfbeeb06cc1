#include "snug/train/guard_report.h"

#include <fmt/format.h>

#include <cmath>

namespace snug {
namespace {

std::string rows_text(const std::vector<int64_t>& rows, const GuardScene& scene) {
  constexpr std::string_view kRow = "row ";
  std::vector<std::string> places, numbers;
  for (const int64_t row : rows) {
    if (row >= std::ssize(scene.rows)) continue;
    places.push_back(scene.place(scene.rows[row]));
    if (places.back().starts_with(kRow)) numbers.push_back(places.back().substr(kRow.size()));
  }
  if (places.empty()) return "";
  if (numbers.size() < places.size()) return fmt::format(" for {}", fmt::join(places, ", "));
  return fmt::format(" for {} {} of the data", numbers.size() == 1 ? "row" : "rows",
                     fmt::join(numbers, ", "));
}

// Without the sign that a NaN may have.
std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.3g}", value);
}

std::string advice(const GuardFinding& finding, const GuardScene& scene, bool has_rows) {
  using Policy = GuardOptions::Policy;
  std::vector<std::string> all;
  if (has_rows) all.emplace_back("look at these rows for values far from the others'");
  if (finding.kind == GuardFinding::Kind::not_finite && scene.step == 0 && scene.epoch == 0)
    all.emplace_back("scale the inputs to about 1");
  all.push_back(
      fmt::format("lower the learning rate (it is {:.3g}), or clip the gradients (clipnorm: 1)",
                  scene.learning_rate));
  // Gradients do not depend on the rate of the step that they are for.
  if (finding.kind != GuardFinding::Kind::overflow && (scene.step > 0 || scene.epoch > 0))
    all.emplace_back(
        "should the same step fail again, its weights are too far off already: start anew");
  if (scene.policy && *scene.policy != Policy::skip)
    all.emplace_back("`guard: skip` leaves such batches out");
  if (scene.policy && *scene.policy != Policy::rollback)
    all.emplace_back("`guard: rollback` goes back and lowers the rate by itself");
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace

std::string guard_report(const GuardFinding& finding, Program& program, const GuardScene& scene) {
  std::optional<BadNode> node;
  if (finding.kind == GuardFinding::Kind::not_finite) node = program.find_bad_node(scene.info);
  std::string cause = finding.what, rows;
  if (node) {
    rows = rows_text(node->rows, scene);
    cause = fmt::format("{} gave {}{}, the first of the step's nodes to do so, and {}", node->label,
                        number_text(node->value), rows, finding.what);
  }
  return fmt::format(
      "step {} of epoch {} was not committed: {}. The gradient norm is {}; weights, optimizer, "
      "averages and metrics are as after the step before. Try: {}",
      scene.step + 1, scene.epoch + 1, cause, number_text(scene.gradient_norm),
      advice(finding, scene, !rows.empty()));
}

}  // namespace snug
