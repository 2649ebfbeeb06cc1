#include "snug/train/step_guard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/reduce.h"
#include "snug/ops/update_trial.h"

namespace snug {
namespace {

// Below, to call threads together takes longer than what they save.
constexpr int64_t kWorthThreads = 64 * 1024;

const std::string& name_of_input(const Node& node, int input) {
  const Value value = node.input(input);
  return value.name();
}

// Slots by the words of their rules, for messages.
const char* slot_word(const ops::UpdateRule& rule, int slot) {
  using Kind = ops::UpdateRule::Kind;
  switch (rule.kind) {
    case Kind::adam:
    case Kind::nadam:
      return slot == 0 ? "first moment" : "second moment";
    case Kind::rms_prop:
      return slot == 0 ? "second moment" : "momentum";
    case Kind::adagrad:
    case Kind::adadelta:
      return "accumulator";
    default:
      return "momentum";
  }
}

std::span<const float> scales_of(const Program& program, const Node& node,
                                 const ops::UpdateLayout& layout) {
  if (layout.scales < 0) return {};
  const void* scales = program.pending(node.input(layout.scales));
  SNUG_CHECK(scales != nullptr);
  return {static_cast<const float*>(scales), layout.places.size()};
}

}  // namespace

std::vector<StepGuard::Piece> StepGuard::pieces_of(const Node& node,
                                                   const ops::UpdateLayout& layout,
                                                   const Program& program) {
  std::vector<Piece> pieces;
  int64_t at = 0;
  for (const ops::UpdatePlace& place : layout.places) {
    for (int k = 0; k <= layout.rule.slots(); ++k) {
      const Tensor tensor = program.tensor(node.input(place.weight + k));
      pieces.push_back({tensor.as<float>().data(), at, at + tensor.size(), k > 0});
      at = pieces.back().last;
    }
  }
  return pieces;
}

StepGuard::StepGuard(Runner& runner, const GuardOptions& options)
    : runner_(runner), options_(options) {
  reaches_.resize(runner.step().updates.size());
  found_.resize(static_cast<size_t>(std::max(1, runner.threads())));
}

StepGuard::Reading& StepGuard::reading_of(Program& program) {
  if (std::exchange(bindings_, runner_.bindings()) != runner_.bindings()) readings_.clear();
  for (Reading& reading : readings_) {
    if (reading.program == &program) return reading;
  }
  const StepGraph& step = runner_.step();
  Reading reading{.program = &program, .updates = {}, .committed = {}};
  for (const StepUpdate& update : step.updates) {
    const Node& node = *update.nodes.reach.producer();
    const ops::UpdateLayout& layout = *ops::update_layout(node.op());
    const auto variable = [&](int input) { return program.tensor(node.input(input)).data; };
    reading.updates.push_back(
        {.node = &node,
         .layout = &layout,
         .learning_rate = program.tensor(update.nodes.learning_rate).as<float>().data(),
         .iterations = static_cast<const int64_t*>(variable(1)),
         .product = layout.product < 0 ? nullptr : static_cast<float*>(variable(layout.product)),
         .square_norms = program.tensor(update.nodes.square_norms).as<double>(),
         .largest = program.tensor(ops::largest_magnitudes(update.nodes.square_norms)).as<float>(),
         .scales = scales_of(program, node, layout),
         .reach = program.tensor(update.nodes.reach).as<float>().data(),
         .pieces = pieces_of(node, layout, program)});
  }
  if (step.largest_committed)
    reading.committed = program.tensor(step.largest_committed).as<float>();
  readings_.push_back(std::move(reading));
  return readings_.back();
}

// What the updates do not say: before the first of them, and when others may have written.
void StepGuard::look_at_variables(const Reading& reading) {
  for (size_t i = 0; i < reading.updates.size(); ++i) {
    const std::vector<Piece>& pieces = reading.updates[i].pieces;
    const int64_t elements = pieces.empty() ? 0 : pieces.back().last;
    const int parts = elements < kWorthThreads ? 1 : static_cast<int>(found_.size());
    parallel_parts(parts, [&](int part) {
      found_[part] = largest_of(pieces, elements * part / parts, elements * (part + 1) / parts);
    });
    Largest all;
    for (const Largest& found : std::span(found_).first(static_cast<size_t>(parts))) {
      all.weight = std::max(all.weight, found.weight);
      all.slot = std::max(all.slot, found.slot);
    }
    reaches_[i] = {.weight = std::bit_cast<float>(all.weight),
                   .slot = std::bit_cast<float>(all.slot)};
  }
  knows_variables_ = true;
}

StepGuard::Largest StepGuard::largest_of(std::span<const Piece> pieces, int64_t begin,
                                         int64_t end) {
  Largest largest;
  for (const Piece& piece : pieces) {
    const int64_t from = std::max(piece.first, begin), to = std::min(piece.last, end);
    if (from >= to) continue;
    const float found = kernels::magnitude(piece.from + (from - piece.first), to - from).largest;
    uint32_t& most = piece.is_slot ? largest.slot : largest.weight;
    most = std::max(most, std::bit_cast<uint32_t>(found));
  }
  return largest;
}

std::optional<GuardFinding> StepGuard::check(Program& program) {
  const Reading& reading = reading_of(program);
  if (!knows_variables_) look_at_variables(reading);
  double squares = 0;
  std::optional<GuardFinding> finding;
  for (size_t i = 0; i < reading.updates.size(); ++i) {
    for (const double square : reading.updates[i].square_norms) squares += square;
    if (!finding) finding = check_update(reading.updates[i], reaches_[i], program);
  }
  gradient_norm_ = std::sqrt(squares);
  learning_rate_ = reading.updates.empty() ? 0 : *reading.updates[0].learning_rate;
  if (!reading.updates.empty()) square_norms_ = reading.updates[0].square_norms;
  if (finding) return finding;
  for (size_t i = 0; i < reading.committed.size(); ++i) {
    if (std::isfinite(reading.committed[i])) continue;
    return GuardFinding{GuardFinding::Kind::not_finite,
                        fmt::format("{} is {}", runner_.step().committed[i].producer()->label(),
                                    reading.committed[i])};
  }
  return std::nullopt;
}

std::optional<GuardFinding> StepGuard::check_update(const Update& update,
                                                    ops::UpdateReaches& reaches,
                                                    const Program& program) const {
  using Kind = GuardFinding::Kind;
  const ops::UpdateLayout& layout = *update.layout;
  const float rate = *update.learning_rate;
  if (!std::isfinite(rate)) {
    return GuardFinding{Kind::not_finite, fmt::format("the learning rate is {}", rate)};
  }
  reaches.gradient = 0;
  for (size_t i = 0; i < update.largest.size(); ++i) {
    const float largest = update.largest[i];
    reaches.gradient = std::max(reaches.gradient, static_cast<double>(largest));
    // A NaN is not within either.
    if (largest <= static_cast<float>(options_.most_gradient) && std::isfinite(largest)) continue;
    const std::string& name = name_of_input(*update.node, layout.places[i].weight);
    if (!std::isfinite(largest))
      return GuardFinding{Kind::not_finite, fmt::format("the gradient of {} is {}", name, largest)};
    return GuardFinding{Kind::too_large,
                        fmt::format("the gradient of {} reaches {:.3g}, more than {:.3g}", name,
                                    largest, options_.most_gradient)};
  }
  // Clipping never enlarges.
  for (size_t i = 0; i < update.scales.size(); ++i) {
    const float scale = update.scales[i];
    if (scale >= 0 && scale <= 1) continue;
    return GuardFinding{std::isfinite(scale) ? Kind::too_large : Kind::not_finite,
                        fmt::format("the gradient of {} would be multiplied by {} to clip it",
                                    name_of_input(*update.node, layout.places[i].weight), scale)};
  }
  const double bound = ops::update_bound(layout.rule,
                                         {.learning_rate = rate,
                                          .iterations = *update.iterations,
                                          .product = update.product ? *update.product : 1,
                                          .clip_value = layout.clip_value,
                                          .weight_decay = layout.weight_decay},
                                         reaches);
  return bound < ops::kSafeUpdate ? std::nullopt : try_update(update, program);
}

// The bound cannot exclude an overflow: the update is tried.
std::optional<GuardFinding> StepGuard::try_update(const Update& update,
                                                  const Program& program) const {
  std::vector<const void*> in;
  for (size_t i = 0; i < update.node->in().size(); ++i) {
    in.push_back(program.pending(update.node->input(static_cast<int>(i))));
    if (in.back() == nullptr)
      return GuardFinding{GuardFinding::Kind::overflow, "the update may overflow"};
  }
  const std::optional<ops::UpdateFault> fault = ops::try_update(*update.node, in.data());
  if (!fault) return std::nullopt;
  const std::string& name = name_of_input(*update.node, fault->weight);
  const std::string what = fault->slot < 0
                               ? name
                               : fmt::format("the optimizer's {} of {}",
                                             slot_word(update.layout->rule, fault->slot), name);
  return GuardFinding{GuardFinding::Kind::overflow,
                      fmt::format("{} would become {} (its gradient is {:.3g})", what, fault->value,
                                  fault->gradient)};
}

void StepGuard::committed(Program& program) {
  const Reading& reading = reading_of(program);
  for (size_t i = 0; i < reading.updates.size(); ++i) {
    const float weight = reading.updates[i].reach[0], slot = reading.updates[i].reach[1];
    if (!std::isfinite(weight) || !std::isfinite(slot)) {
      throw NumericsError(
          "fit: an update wrote {} to a weight or {} to its optimizer's state: a callback has "
          "changed them since the last step; see what it writes",
          weight, slot);
    }
    // A table's update says nothing of the rows that it left alone.
    reaches_[i].weight = std::max(reaches_[i].weight, static_cast<double>(weight));
    reaches_[i].slot = std::max(reaches_[i].slot, static_cast<double>(slot));
  }
}

std::vector<std::string> StepGuard::weight_names() const {
  std::vector<std::string> names;
  if (runner_.step().updates.empty()) return names;
  const Node& node = *runner_.step().updates[0].nodes.reach.producer();
  for (const ops::UpdatePlace& place : ops::update_layout(node.op())->places)
    names.push_back(name_of_input(node, place.weight));
  return names;
}

}  // namespace snug
