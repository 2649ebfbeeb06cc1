#include "snug/train/optimizer_state.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/nn/layer.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

thread_local std::vector<StepUpdate>* collected = nullptr;

VariablePtr make_slot(const Slot& slot) {
  VariableSpec spec{.name = slot.name, .type = slot.type, .trainable = false};
  if (slot.initial != 0) spec.initializer = constant(slot.initial);
  auto variable = std::make_shared<Variable>(std::move(spec));
  variable->set_path("optimizer/" + slot.name);
  return variable;
}

}  // namespace

struct OptimizerState::Inside {
  Optimizer optimizer;
  Variables trained;
  std::vector<Slot> roles;
  Variables slots;
  bool from_file = false;
};

OptimizerState::OptimizerState(Optimizer optimizer)
    : inside_(std::make_shared<Inside>(Inside{.optimizer = std::move(optimizer)})) {
  inside_->optimizer->check();
}

const Optimizer& OptimizerState::optimizer() const { return inside_->optimizer; }
const Variables& OptimizerState::slots() const { return inside_->slots; }
const Variables& OptimizerState::variables() const { return inside_->trained; }
const std::vector<Slot>& OptimizerState::roles() const { return inside_->roles; }

void OptimizerState::prepare(const Variables& variables) const {
  SNUG_CHECK(inside_->slots.empty(), "the slots are there already");
  std::vector<TrainedWeight> weights;
  for (const VariablePtr& variable : variables)
    weights.push_back({variable->path(), variable->type()});
  inside_->trained = variables;
  inside_->roles = optimizer()->slots(weights);
  for (const Slot& slot : inside_->roles) inside_->slots.push_back(make_slot(slot));
  inside_->from_file = true;
}

// A table whose state comes from a file may have been touched in any row.
void OptimizerState::add_untold(const std::vector<Slot>& wanted) const {
  if (!std::exchange(inside_->from_file, false)) return;
  for (size_t i = inside_->slots.size(); i < wanted.size(); ++i) {
    if (wanted[i].role != Slot::Role::touched) return;
    const VariablePtr touched = make_slot(wanted[i]);
    allocate_unfilled({touched});
    std::ranges::fill(touched->tensor().as<uint8_t>(), uint8_t{1});
    inside_->roles.push_back(wanted[i]);
    inside_->slots.push_back(touched);
  }
}

int64_t OptimizerState::iterations() const {
  const Variables& slots = inside_->slots;
  if (slots.empty() || !slots[0]->has_values()) return 0;
  return slots[0]->tensor().as<int64_t>()[0];
}

float OptimizerState::learning_rate() const {
  return inside_->optimizer->learning_rate_at(iterations());
}

void OptimizerState::set_learning_rate(double rate) { inside_->optimizer->set_learning_rate(rate); }

void OptimizerState::apply_gradients(const Values& gradients, const Variables& variables) const {
  Tracer& tracer = current_tracer();
  if (collected == nullptr) throw Error("apply_gradients: call it inside trace(...)");
  const std::string name(optimizer()->class_name());
  if (std::ranges::count(*collected, *this, &StepUpdate::state) > 0) {
    throw Error("{}: apply_gradients was called twice in one step; trace a step for each update",
                name);
  }
  if (!inside_->trained.empty() && inside_->trained != variables) {
    throw Error(
        "{}: its state belongs to {} other variables, starting with {}; give each list of "
        "variables its own OptimizerState",
        name, inside_->trained.size(), inside_->trained[0]->path());
  }
  Values weights, taken;
  for (const VariablePtr& variable : variables) weights.push_back(tracer.value(variable));
  for (const Value& gradient : gradients) {
    const size_t i = taken.size();
    const bool fits = gradient && i < weights.size() && gradient.shape() == weights[i].shape();
    taken.push_back(fits ? ops::row_gradient_of(gradient) : gradient);
  }
  const Graph::Scope scope(tracer.graph(), "optimizer");
  const OptimizerNodes nodes = optimizer()->apply_gradients(taken, weights);
  if (inside_->slots.empty()) {
    inside_->trained = variables;
    inside_->roles = nodes.slots;
    for (const Slot& slot : nodes.slots) inside_->slots.push_back(make_slot(slot));
  }
  add_untold(nodes.slots);
  if (nodes.slots.size() != inside_->slots.size()) {
    throw Error(
        "{}: this step gives a table a dense gradient, and the step before gave it gradients of "
        "rows; give each its own OptimizerState",
        name);
  }
  collected->push_back({*this, nodes});
}

void OptimizerState::finalize() const {
  std::vector<Tensor> averages, weights;
  for (size_t i = 0; i < inside_->slots.size(); ++i) {
    // Before the first update the averages are zeros.
    if (inside_->roles[i].role == Slot::Role::iterations &&
        inside_->slots[i]->tensor().as<int64_t>()[0] == 0)
      return;
    if (inside_->roles[i].role != Slot::Role::average) continue;
    averages.push_back(inside_->slots[i]->tensor());
    weights.push_back(inside_->trained[inside_->roles[i].weight]->tensor());
  }
  OptimizerDefinition::finalize(averages, weights);
}

UpdateScope::UpdateScope(std::vector<StepUpdate>& updates) : outer_(collected) {
  collected = &updates;
}
UpdateScope::~UpdateScope() { collected = outer_; }

}  // namespace snug
