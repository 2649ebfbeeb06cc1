#include "snug/optim/optimizer_definition.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "snug/base/error.h"
#include "snug/base/log.h"

namespace snug {
namespace {

std::string slot_name(std::string weight, std::string_view slot) {
  std::ranges::replace(weight, '/', '_');
  return fmt::format("{}_{}", weight, slot);
}

void expect_above_zero(std::string_view where, std::string_view setting,
                       const std::optional<double>& value) {
  if (!value || *value > 0) return;
  throw Error("{}: {} is {}; it must be above 0", where, setting, *value);
}

// What no rule is meant for: moments that grow by themselves, divisions by zero.
void check_numbers(std::string_view where, const ops::UpdateRule& rule) {
  using Kind = ops::UpdateRule::Kind;
  const auto expect = [&](const char* setting, double value, bool holds, const char* wanted) {
    if (!holds) throw Error("{}: {} is {}; it must be {}", where, setting, value, wanted);
  };
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  const bool has_epsilon = rule.kind != Kind::sgd && rule.kind != Kind::lion;
  const bool has_betas =
      rule.kind == Kind::adam || rule.kind == Kind::adamax || rule.kind == Kind::nadam;
  const bool has_rho = rule.kind == Kind::rms_prop || rule.kind == Kind::adadelta;
  if (has_epsilon) {
    expect("epsilon", rule.epsilon, rule.epsilon >= 0 && std::isfinite(rule.epsilon), "0 or more");
  }
  if (has_betas) {
    constexpr const char* kBelowOne = "from 0 up to, but not, 1";
    expect("beta_1", rule.beta_1, is_share(rule.beta_1) && rule.beta_1 < 1, kBelowOne);
    expect("beta_2", rule.beta_2, is_share(rule.beta_2) && rule.beta_2 < 1, kBelowOne);
  }
  if (rule.kind == Kind::lion)
    expect("beta_2", rule.beta_2, is_share(rule.beta_2), "within [0, 1]");
  if (has_rho) expect("rho", rule.rho, is_share(rule.rho), "within [0, 1]");
  if (rule.kind == Kind::rms_prop)
    expect("momentum", rule.momentum, is_share(rule.momentum), "within [0, 1]");
}

std::regex expression(std::string_view where, const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error&) {
    throw Error(
        "{}: exclude_from_weight_decay has \"{}\", which is no regular expression; "
        "give a part of a weight's name, such as \"bias\"",
        where, text);
  }
}

void check_weights(std::string_view where, const Values& gradients, const Values& weights) {
  if (gradients.size() != weights.size()) {
    throw Error("{}: {} gradients for {} weights; give one for each, in the same order", where,
                gradients.size(), weights.size());
  }
  for (const Value& weight : weights) {
    if (weight && weight.graph().source(weight.id()) == Graph::Source::variable) continue;
    throw Error("{}: {} is no variable; only variables are updated", where,
                weight ? weight.name() : "an empty value");
  }
  if (std::ranges::none_of(gradients, [](const Value& g) { return static_cast<bool>(g); })) {
    throw Error("{}: no weight has a gradient; the loss does not depend on any of them", where);
  }
}

Values find_all(const OptimizerNodes& nodes, Slot::Role role, int weight) {
  Values found;
  for (size_t i = 0; i < nodes.slots.size(); ++i) {
    const Slot& slot = nodes.slots[i];
    if (slot.role == role && slot.weight == weight) found.push_back(nodes.variables[i]);
  }
  return found;
}

Value find(const OptimizerNodes& nodes, Slot::Role role, int weight = -1) {
  const Values found = find_all(nodes, role, weight);
  return found.empty() ? Value() : found[0];
}

std::vector<TrainedWeight> describe(const Values& gradients, const Values& weights) {
  std::vector<TrainedWeight> described;
  for (size_t i = 0; i < weights.size(); ++i) {
    described.push_back({weights[i].name(), weights[i].type(), ops::is_row_gradient(gradients[i])});
  }
  return described;
}

}  // namespace

void OptimizerDefinition::settings(SettingVisitor& visitor) {
  visitor.visit("name", settings_.name);
  if (settings_.learning_rate.schedule()) {
    ConfigurablePtr schedule = settings_.learning_rate.schedule();
    visitor.visit("learning_rate", Family::schedule, schedule);
    if (auto read = std::dynamic_pointer_cast<LearningRateSchedule>(schedule)) {
      settings_.learning_rate = LearningRate(std::move(read));
    }
  } else {
    double rate = settings_.learning_rate.at(0);
    visitor.visit("learning_rate", rate);
    settings_.learning_rate = LearningRate(rate);
  }
  visitor.visit("weight_decay", settings_.weight_decay);
  visitor.visit("clipnorm", settings_.clipnorm);
  visitor.visit("global_clipnorm", settings_.global_clipnorm);
  visitor.visit("clipvalue", settings_.clipvalue);
  visitor.visit("use_ema", settings_.use_ema);
  visitor.visit("ema_momentum", settings_.ema_momentum);
  visitor.visit("ema_overwrite_frequency", settings_.ema_overwrite_frequency);
  visitor.visit("loss_scale_factor", settings_.loss_scale_factor);
  visitor.visit("gradient_accumulation_steps", settings_.gradient_accumulation_steps);
  rule_settings(visitor);
}

void OptimizerDefinition::set_learning_rate(const LearningRate& rate) {
  if (settings_.learning_rate.schedule() && !rate.schedule()) {
    throw Error(
        "{}: its learning rate is a {}, which no number can replace; compile with a number "
        "to set the rate while training",
        class_name(), settings_.learning_rate.schedule()->class_name());
  }
  settings_.learning_rate = rate;
}

void OptimizerDefinition::check() const {
  const OptimizerSettings& s = settings_;
  if (s.learning_rate.schedule()) s.learning_rate.schedule()->check();
  if (!s.learning_rate.schedule() && !std::isfinite(s.learning_rate.at(0))) {
    throw Error("{}: learning_rate is {}; it must be a number", class_name(),
                s.learning_rate.at(0));
  }
  if (s.learning_rate.at(0) < 0) {
    throw Error("{}: learning_rate is {}, which would raise the loss; it must be 0 or more",
                class_name(), s.learning_rate.at(0));
  }
  if (s.weight_decay && *s.weight_decay < 0) {
    throw Error("{}: weight_decay is {}, by which weights would grow; it must be 0 or more",
                class_name(), *s.weight_decay);
  }
  if (s.clipnorm.has_value() + s.clipvalue.has_value() + s.global_clipnorm.has_value() > 1) {
    throw Error(
        "{}: more than one of clipnorm, clipvalue and global_clipnorm is given; "
        "give at most one",
        class_name());
  }
  expect_above_zero(class_name(), "clipnorm", s.clipnorm);
  expect_above_zero(class_name(), "clipvalue", s.clipvalue);
  expect_above_zero(class_name(), "global_clipnorm", s.global_clipnorm);
  if (s.use_ema && !(s.ema_momentum >= 0 && s.ema_momentum <= 1)) {
    throw Error("{}: ema_momentum is {}; it must be within [0, 1]", class_name(), s.ema_momentum);
  }
  if (s.ema_overwrite_frequency && *s.ema_overwrite_frequency < 1) {
    throw Error("{}: ema_overwrite_frequency is {}; give 1 or more, or leave it out", class_name(),
                *s.ema_overwrite_frequency);
  }
  if (s.gradient_accumulation_steps) {
    throw Error(
        "{}: gradient_accumulation_steps is {}; Snug accumulates by itself where memory "
        "is short: give the larger batch_size instead",
        class_name(), *s.gradient_accumulation_steps);
  }
  if (s.loss_scale_factor) {
    throw Error("{}: loss_scale_factor is {}; losses are not scaled in float32: leave it out",
                class_name(), *s.loss_scale_factor);
  }
  if (s.weight_decay && !std::isfinite(*s.weight_decay)) {
    throw Error("{}: weight_decay is {}; it must be a number", class_name(), *s.weight_decay);
  }
  for (const std::string& text : s.exclude_from_weight_decay) expression(class_name(), text);
  check_numbers(class_name(), rule());
  check_rule();
}

std::vector<Slot> OptimizerDefinition::slots(const std::vector<TrainedWeight>& weights) const {
  using Role = Slot::Role;
  std::vector<Slot> slots = {{"iteration", {DType::int64, {}}, 0, Role::iterations}};
  const auto add_each = [&](const SlotKind& kind, Role role, size_t weight) {
    const TrainedWeight& of = weights[weight];
    slots.push_back(
        {slot_name(of.name, kind.name), of.type, kind.initial, role, static_cast<int>(weight)});
  };
  for (size_t i = 0; settings_.use_ema && i < weights.size(); ++i) {
    add_each({"average"}, Role::average, i);
  }
  const std::vector<SlotKind> kinds = slot_kinds();
  const int runs = kinds.empty() ? 0 : kinds.back().run + 1;
  for (int run = 0; run < runs; ++run) {
    for (size_t i = 0; i < weights.size(); ++i) {
      for (const SlotKind& kind : kinds) {
        if (kind.run == run) add_each(kind, Role::rule, i);
      }
    }
  }
  if (rule().has_product()) slots.push_back({"u_product", {DType::float32, {}}, 1, Role::product});
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!weights[i].row_gradient || !ops::wants_touched(rule(), decays(weights[i].name))) continue;
    slots.push_back({slot_name(weights[i].name, "touched"),
                     {DType::uint8, Shape{weights[i].type.shape[0]}},
                     0,
                     Role::touched,
                     static_cast<int>(i)});
  }
  return slots;
}

bool OptimizerDefinition::decays(std::string_view weight) const {
  if (static_cast<float>(settings_.weight_decay.value_or(0)) == 0) return false;
  const std::string name(weight.substr(weight.rfind('/') + 1));
  return std::ranges::none_of(settings_.exclude_from_weight_decay, [&](const std::string& text) {
    return std::regex_search(name, expression(class_name(), text));
  });
}

// The input and the variables, in the scope of the optimizer.
OptimizerNodes OptimizerDefinition::declare(const Values& gradients, const Values& weights) const {
  Graph& graph = weights[0].graph();
  OptimizerNodes nodes;
  nodes.learning_rate = graph.input(settings_.name + "/learning_rate", {DType::float32, {}});
  nodes.slots = slots(describe(gradients, weights));
  for (const Slot& slot : nodes.slots) {
    nodes.variables.push_back(graph.variable(settings_.name + "/" + slot.name, slot.type));
  }
  return nodes;
}

Value OptimizerDefinition::add_update(const std::vector<ops::UpdateSegment>& segments,
                                      OptimizerNodes& nodes) const {
  ops::UpdateOptions options{.rule = rule(),
                             .learning_rate = nodes.learning_rate,
                             .iterations = find(nodes, Slot::Role::iterations),
                             .product = find(nodes, Slot::Role::product),
                             .weight_decay = settings_.weight_decay.value_or(0)};
  if (settings_.clipvalue) options.clip_value = *settings_.clipvalue;
  Values gradients;
  for (const ops::UpdateSegment& segment : segments) gradients.push_back(segment.gradient);
  const bool clips = settings_.clipnorm || settings_.global_clipnorm;
  nodes.square_norms =
      ops::gradient_norms(gradients, clips ? ops::SumOrder::fixed : ops::SumOrder::any);
  if (clips) {
    const double norm = settings_.clipnorm ? *settings_.clipnorm : *settings_.global_clipnorm;
    options.scales = ops::clip_scales(nodes.square_norms, norm, !settings_.clipnorm);
  }
  return ops::update(segments, options);
}

OptimizerNodes OptimizerDefinition::apply_gradients(const Values& gradients,
                                                    const Values& weights) const {
  check();
  check_weights(class_name(), gradients, weights);
  const Graph::Scope scope(weights[0].graph(), settings_.name);
  OptimizerNodes nodes = declare(gradients, weights);
  std::vector<ops::UpdateSegment> segments;
  Values averages;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int weight = static_cast<int>(i);
    if (settings_.use_ema) averages.push_back(find(nodes, Slot::Role::average, weight));
    if (!gradients[i]) {
      log_message(LogLevel::warning, "{}: {} has no gradient and stays as it is", class_name(),
                  weights[i].name());
      continue;
    }
    segments.push_back({weights[i], gradients[i], find_all(nodes, Slot::Role::rule, weight),
                        find(nodes, Slot::Role::touched, weight), decays(weights[i].name())});
  }
  nodes.reach = add_update(segments, nodes);
  const Value iterations = find(nodes, Slot::Role::iterations);
  if (settings_.use_ema) {
    ops::update_averages(weights, averages,
                         {.iterations = iterations,
                          .momentum = settings_.ema_momentum,
                          .overwrite_frequency = settings_.ema_overwrite_frequency.value_or(0)});
  }
  ops::advance(iterations);
  return nodes;
}

void OptimizerDefinition::finalize(std::span<const Tensor> averages,
                                   std::span<const Tensor> weights) {
  SNUG_CHECK(averages.size() == weights.size(), "{} averages of {} weights", averages.size(),
             weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    SNUG_CHECK(averages[i].type == weights[i].type, "weight {}", i);
    std::memcpy(weights[i].data, averages[i].data, weights[i].bytes());
  }
}

}  // namespace snug
