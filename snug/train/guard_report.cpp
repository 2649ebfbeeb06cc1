#include "snug/train/guard_report.h"

#include <fmt/format.h>

#include <cmath>

namespace snug {
namespace {

std::string rows_text(const std::vector<int64_t>& rows, std::span<const int64_t> numbers) {
  std::vector<int64_t> named;
  for (const int64_t row : rows) {
    if (row < std::ssize(numbers)) named.push_back(numbers[row]);
  }
  if (named.empty()) return "";
  return fmt::format(" for {} {} of the data", named.size() == 1 ? "row" : "rows",
                     fmt::join(named, ", "));
}

// Without the sign that a NaN may have.
std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.3g}", value);
}

std::string advice(const GuardFinding& finding, const GuardScene& scene, bool has_rows) {
  std::string text;
  if (has_rows) text += "look at these rows for values far from the others'; ";
  if (finding.kind == GuardFinding::Kind::not_finite && scene.step == 0 && scene.epoch == 0) {
    text += "scale the inputs to about 1; ";
  }
  text +=
      fmt::format("lower the learning rate (it is {:.3g}), or clip the gradients (clipnorm: 1); ",
                  scene.learning_rate);
  // Gradients do not depend on the rate of the step that they are for.
  if (finding.kind != GuardFinding::Kind::overflow && (scene.step > 0 || scene.epoch > 0))
    text += "should the same step fail again, its weights are too far off already: start anew; ";
  return text +
         "`guard: skip` leaves such batches out, `guard: rollback` goes back and lowers the rate "
         "by "
         "itself";
}

}  // namespace

std::string guard_report(const GuardFinding& finding, Program& program, const GuardScene& scene) {
  std::optional<BadNode> node;
  if (finding.kind == GuardFinding::Kind::not_finite) node = program.find_bad_node(scene.info);
  std::string cause = finding.what, rows;
  if (node) {
    rows = rows_text(node->rows, scene.rows);
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
