#include "snug/nn/tracer.h"

#include <utility>

#include "snug/base/random.h"
#include "snug/ops/ops.h"

namespace snug {

Value Tracer::value(const VariablePtr& variable) {
  const auto [entry, is_new] = value_of_.try_emplace(variable.get());
  if (is_new) {
    const std::string& path = variable->path();
    entry->second = graph_.variable(path.empty() ? variable->name() : path, variable->type());
    variables_.emplace_back(variable, entry->second);
  }
  return entry->second;
}

Value Tracer::rows() {
  if (!rows_) rows_ = graph_.input("rows", {DType::float32, {}});
  return rows_;
}

const Values& Tracer::losses() {
  for (const Value& sum : std::exchange(activity_losses_, {}))
    losses_.push_back(ops::divide(sum, rows()));
  return losses_;
}

uint64_t Tracer::next_stream() {
  const int call = calls_[graph_.scope()]++;
  return hash_text(graph_.scope() + "#" + std::to_string(call));
}

Value Tracer::mask(Value of) const {
  const auto found = masks_.find(of.id());
  return found == masks_.end() ? Value() : found->second;
}

void Tracer::set_mask(Value of, Value mask) {
  if (mask) masks_[of.id()] = mask;
}

std::optional<Logits> Tracer::logits(Value of) const {
  const auto found = logits_.find(of.id());
  if (found == logits_.end()) return std::nullopt;
  return found->second;
}

}  // namespace snug
