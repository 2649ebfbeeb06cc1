#include "snug/train/step_key.h"

#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_set>

#include "snug/base/threads.h"
#include "snug/nn/layer_list.h"
#include "snug/nn/loss_list.h"
#include "snug/nn/operation.h"
#include "snug/optim/optimizer_list.h"

namespace snug {
namespace {

std::type_index type_of(const Configurable& object) { return typeid(object); }

// The classes that files are made from: their settings say all that they add to a graph.
const std::unordered_set<std::type_index>& known_types() {
  static const auto known = [] {
    std::unordered_set<std::type_index> types = {typeid(Network), typeid(InputLayer),
                                                 typeid(Operation)};
    for (const LayerEntry& entry : layer_list()) types.insert(type_of(*entry.make().definition()));
    types.insert(type_of(*crossentropy_by_shape().definition()));
    for (const std::string_view word : loss_classes()) types.insert(type_of(*default_loss(word)));
    for (const std::string_view word : metric_classes())
      types.insert(type_of(*default_metric(word)));
    for (const std::string_view word : optimizer_words())
      types.insert(type_of(*make_optimizer(word).definition()));
    for (const RegularizerPtr& regularizer : {l1(), l1_l2()}) types.insert(type_of(*regularizer));
    return types;
  }();
  return known;
}

// Only reads: another thread may ask for a step of the same layers.
class KeyWriter final : public SettingVisitor {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void add(const T& plain) { key_.append(reinterpret_cast<const char*>(&plain), sizeof(plain)); }
  void add(std::string_view text) {
    add(text.size());
    key_.append(text);
  }
  template <typename T>
  void add(const std::vector<T>& list) {
    add(list.size());
    for (const T& item : list) add(item);
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  void add(const Shape& shape) {
    add(shape.rank());
    for (const Extent extent : shape.extents()) add(extent.count);
  }
  void expect_known(const Configurable& object) {
    is_known_ = is_known_ && known_types().contains(type_of(object));
  }
  void add_object(Configurable& object) {
    expect_known(object);
    add(&object);
    object.settings(*this);
  }

  // Nullopt where it met a class that is not known.
  std::optional<std::string> take() {
    return is_known_ ? std::optional(std::move(key_)) : std::nullopt;
  }

 private:
  void visit(std::string_view, bool& value) override { add(value); }
  void visit(std::string_view, int64_t& value) override { add(value); }
  void visit(std::string_view, double& value) override { add(value); }
  void visit(std::string_view, std::string& value) override { add(std::string_view(value)); }
  void visit(std::string_view, std::vector<int64_t>& value) override { add(value); }
  void visit(std::string_view, std::vector<double>& value) override { add(value); }
  void visit(std::string_view, std::optional<bool>& value) override { add(value); }
  void visit(std::string_view, std::optional<int64_t>& value) override { add(value); }
  void visit(std::string_view, std::optional<double>& value) override { add(value); }
  void visit(std::string_view, std::optional<std::vector<int64_t>>& value) override { add(value); }
  void visit(std::string_view, std::optional<std::vector<double>>& value) override { add(value); }
  void visit(std::string_view, std::vector<std::vector<int64_t>>& value) override { add(value); }
  void visit(std::string_view, Family family, ConfigurablePtr& value) override {
    if (family != Family::initializer && value) add_object(*value);
  }

  std::string key_;
  bool is_known_ = true;
};

void add_layer(KeyWriter& key, LayerDefinition& layer) {
  key.expect_known(layer);
  key.add(bool(layer.trainable));
  // A name decides random draws, a weight what is bound.
  key.add(std::string_view(layer.name));
  for (const VariablePtr& variable : layer.own_variables()) key.add(variable.get());
  if (const auto* network = dynamic_cast<const Network*>(&layer)) {
    key.add(network);
    for (const LayerPtr& inside : network->layers_and_operations()) add_layer(key, *inside);
    return;
  }
  key.add_object(layer);
  for (const Layer& inside : layer.sublayers()) add_layer(key, *inside.definition());
}

void add_compiled(KeyWriter& key, const Compiled& compiled, bool training) {
  key.add(compiled.number());
  key.expect_known(*compiled.optimizer().definition());
  for (const Loss& loss : compiled.options().loss.losses()) {
    key.add_object(*loss.definition());
    key.add(std::string_view(loss->reduction));
  }
  if (const Compiled::Phase* phase = compiled.known_phase(training)) {
    for (const MetricPtr& metric : phase->all()) key.add_object(*metric);
  }
}

bool is_read_anywhere(const Source& source) {
  return source.access() == Access::random && source.batches_ahead() == 0 &&
         source.rows().value_or(0) > 0;
}

}  // namespace

std::optional<std::string> step_key(const StepCall& call) {
  if (!call.network->is_defined() || !is_read_anywhere(*call.source)) return std::nullopt;
  KeyWriter key;
  key.add(call.what);
  key.add(call.rows);
  key.add(call.memory);
  // 0 is all cores, but one within a parallel region. (The cores are not counted: 0.8 us.)
  const int threads = call.threads == 0 && in_parallel_region() ? 1 : call.threads;
  for (const int number : {threads, int{call.reproducible}, int{call.spills}}) key.add(number);
  key.add(call.guard);
  for (const Field& field : call.source->fields()) {
    key.add(field.role);
    key.add(field.stored);
    key.add(field.row);
  }
  add_layer(key, *call.network);
  if (call.compiled != nullptr)
    add_compiled(key, *call.compiled, call.what == StepCall::What::train);
  return key.take();
}

}  // namespace snug
