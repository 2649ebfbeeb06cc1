#include "snug/autodiff/gradients.h"

#include <unordered_map>
#include <unordered_set>

#include "snug/base/error.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

bool is_row_gradient(Value gradient) {
  return gradient.producer() != nullptr && gradient.producer()->op().traits().row_gradient;
}

Value dense(Value gradient, Value of) {
  return is_row_gradient(gradient) ? ops::dense_rows(gradient, of.shape()) : gradient;
}

// Gradients found so far, by value; several contributions are added up in the order in which they
// come.
class Found {
 public:
  void add(Value value, Value gradient) {
    auto [entry, is_new] = of_.try_emplace(value.id(), gradient);
    if (!is_new) entry->second = ops::add(dense(entry->second, value), dense(gradient, value));
  }
  Value get(Value value) const {
    const auto entry = of_.find(value.id());
    return entry == of_.end() ? Value() : entry->second;
  }

 private:
  std::unordered_map<int, Value> of_;
};

// The values that some value of wrt leads to: only these need a gradient.
std::unordered_set<int> influenced(const Values& wrt, const std::vector<const Node*>& nodes) {
  std::unordered_set<int> values;
  for (const Value& value : wrt) values.insert(value.id());
  for (const Node* node : nodes) {
    for (const int input : node->in()) {
      if (!values.contains(input)) continue;
      values.insert(node->out().begin(), node->out().end());
      break;
    }
  }
  return values;
}

void propagate(const Node& node, const std::unordered_set<int>& wanted, Found& found) {
  Values output_gradients;
  bool flows = false;
  for (const int value : node.out()) {
    const Value output(node.graph(), value);
    Value gradient = found.get(output);
    if (gradient) gradient = dense(gradient, output);
    flows |= static_cast<bool>(gradient);
    output_gradients.push_back(gradient);
  }
  bool leads = false;
  for (const int value : node.in()) leads |= wanted.contains(value);
  if (!flows || !leads) return;
  const Graph::Scope scope(node.graph(),
                           node.scope().empty() ? "gradient" : "gradient/" + node.scope());
  const Values input_gradients = node.op().gradient(node, output_gradients);
  if (input_gradients.size() != node.in().size()) {
    throw Error(
        "{}: the op {} gave {} gradients for {} inputs; gradient() returns one for each, "
        "empty where there is none",
        node.label(), node.op().name(), input_gradients.size(), node.in().size());
  }
  for (size_t i = 0; i < input_gradients.size(); ++i) {
    const Value input = node.input(static_cast<int>(i));
    if (!input_gradients[i] || !wanted.contains(input.id())) continue;
    if (!is_row_gradient(input_gradients[i]) && input_gradients[i].type() != input.type()) {
      throw ShapeError("{}: the op {} gave a gradient of {} for its input {}, which is {}",
                       node.label(), node.op().name(), input_gradients[i].type().text(), i,
                       input.type().text());
    }
    found.add(input, input_gradients[i]);
  }
}

// Ones of the loss's shape.
Value seed_of(Value loss) {
  const Graph::Scope scope(loss.graph(), "gradient");
  if (!loss.shape().is_symbolic()) return ops::constant(loss.graph(), loss.shape(), 1);
  return ops::broadcast_to(ops::constant(loss.graph(), {}, 1), loss.shape());
}

}  // namespace

Values gradients(Value y, Value y_gradient, const Values& wrt) {
  if (y.type() != y_gradient.type()) {
    throw ShapeError("gradients: the value is {}, its gradient {}", y.type().text(),
                     y_gradient.type().text());
  }
  const std::vector<const Node*> nodes = y.graph().nodes();
  const std::unordered_set<int> wanted = influenced(wrt, nodes);
  Found found;
  found.add(y, y_gradient);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!(*node)->commits()) propagate(**node, wanted, found);
  }
  Values result;
  for (const Value& value : wrt) {
    Value gradient = found.get(value);
    const bool table = y.graph().source(value.id()) == Graph::Source::variable;
    result.push_back(gradient && !table ? dense(gradient, value) : gradient);
  }
  return result;
}

Values gradients(Value loss, const Values& wrt) {
  if (!is_float(loss.dtype()))
    throw ShapeError("gradients: the loss is {}; it must be a float", loss.type().text());
  return gradients(loss, seed_of(loss), wrt);
}

}  // namespace snug
