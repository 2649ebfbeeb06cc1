#include "snug/interop/compile_config.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/interop/config_reader.h"
#include "snug/interop/config_writer.h"
#include "snug/nn/loss_list.h"

namespace snug {
namespace {

Loss read_loss(const Json& json) {
  if (json.is_string()) return Loss(json.get<std::string>());
  if (const std::string function = function_name(json); !function.empty()) return Loss(function);
  const KerasObject object = keras_object(json, "the loss");
  const LossPtr loss = default_loss(object.class_name);
  if (!loss) throw Error("the loss ({}): Snug has no such loss", object.class_name);
  if (object.config != nullptr)
    read_config(*loss, *object.config, fmt::format("the loss ({})", object.class_name), {"dtype"});
  return Loss(loss);
}

Metric read_metric(const Json& json) {
  if (json.is_string()) return Metric(json.get<std::string>());
  if (const std::string function = function_name(json); !function.empty()) return Metric(function);
  const KerasObject object = keras_object(json, "a metric");
  const std::string where = fmt::format("a metric ({})", object.class_name);
  // The mean of a function: what Keras wraps functions in.
  if (object.class_name == "MeanMetricWrapper" && object.config != nullptr) {
    const std::string function = function_name(object.config->value("fn", Json()));
    if (!function.empty()) return Metric(metric_by_word(function), text_at(*object.config, "name"));
  }
  const MetricPtr metric = default_metric(object.class_name);
  if (!metric) throw Error("{}: Snug has no such metric", where);
  if (object.config != nullptr) read_config(*metric, *object.config, where);
  return Metric(metric);
}

bool is_object(const Json& json) { return json.is_object() && json.contains("class_name"); }

std::vector<Metric> read_metrics(const Json& json) {
  std::vector<Metric> metrics;
  if (json.is_null()) return metrics;
  if (json.is_string() || is_object(json)) return {read_metric(json)};
  if (!json.is_array()) throw Error("the metrics are {}; Snug expects a list", shown(json));
  for (const Json& item : json) metrics.push_back(read_metric(item));
  return metrics;
}

// One value for each output, from a list or from a map by the outputs' keys or names.
class ByOutput {
 public:
  explicit ByOutput(const Network& network)
      : names_(network.output_names()), keys_(network.output_ends.keys) {}

  size_t count() const { return names_.size(); }

  std::vector<Json> split(const Json& json, const char* what) const {
    std::vector<Json> values(names_.size());
    if (json.is_array()) {
      if (json.size() != values.size())
        throw Error("{}: there are {} of them for {} outputs", what, json.size(), values.size());
      for (size_t i = 0; i < values.size(); ++i) values[i] = json[i];
      return values;
    }
    for (const auto& [key, value] : json.items()) values[index_of(key, what)] = value;
    return values;
  }

 private:
  size_t index_of(const std::string& key, const char* what) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == key || (i < keys_.size() && keys_[i] == key)) return i;
    }
    throw Error("{}: it names the output \"{}\", which the model lacks", what, key);
  }

  std::vector<std::string> names_, keys_;
};

bool is_map(const Json& json) { return json.is_object() && !is_object(json); }

LossSpec read_losses(const Json& json, const ByOutput& outputs) {
  if (json.is_null()) return {};
  if (!json.is_array() && !is_map(json)) return read_loss(json);
  std::vector<Loss> losses;
  for (const Json& item : outputs.split(json, "loss")) {
    if (item.is_null()) throw Error("an output has no loss; Snug trains every output");
    losses.push_back(read_loss(item));
  }
  return losses;
}

// Metrics by output: a map, or a list as long as there are outputs. A list without a list in it is
// that of the only output, or of every output before Keras 3.
bool is_by_output(const Json& json, size_t outputs, bool before_keras_3) {
  if (is_map(json)) return true;
  if (!json.is_array() || json.size() != outputs) return false;
  const bool is_plain =
      std::ranges::none_of(json, [](const Json& item) { return item.is_array(); });
  return !is_plain || (outputs > 1 && !before_keras_3);
}

std::vector<double> read_loss_weights(const Json& json, const ByOutput& outputs) {
  std::vector<double> weights;
  if (json.is_null()) return weights;
  const Json list = json.is_number() ? Json::array({json}) : json;
  if (!list.is_structured()) throw Error("loss_weights is {}", shown(json));
  for (const Json& item : outputs.split(list, "loss_weights")) {
    if (!item.is_number()) throw Error("loss_weights: {} is no number", shown(item));
    weights.push_back(item.get<double>());
  }
  return weights;
}

}  // namespace

Optimizer read_optimizer(const Json& json) {
  if (json.is_string()) return make_optimizer(json.get<std::string>());
  const KerasObject object = keras_object(json, "the optimizer");
  const std::string where = fmt::format("the optimizer ({})", object.class_name);
  const Optimizer optimizer = [&] {
    try {
      return make_optimizer(object.class_name);
    } catch (const Error& error) {
      throw Error("{}: {}", where, error.what());
    }
  }();
  if (object.config == nullptr) return optimizer;
  if (!object.config->is_object()) throw Error("{}: it has no config", where);
  const Json rate = object.config->value("learning_rate", Json());
  if (rate.is_object()) {
    const KerasObject schedule = keras_object(rate, where + ": learning_rate");
    optimizer->set_learning_rate(make_schedule(schedule.class_name));
  }
  read_config(*optimizer.definition(), *object.config, where);
  optimizer->check();
  return optimizer;
}

OrderedJson write_optimizer(const Optimizer& optimizer) {
  return serialized(module_of(Family::optimizer), *optimizer.definition());
}

namespace {

CompileOptions read_options(const Json& compile_config, const Network& network,
                            bool before_keras_3) {
  const auto value = [&](const char* key) { return compile_config.value(key, Json()); };
  const ByOutput outputs(network);
  CompileOptions options{.optimizer = read_optimizer(value("optimizer"))};
  options.loss = read_losses(value("loss"), outputs);
  options.loss_weights = read_loss_weights(value("loss_weights"), outputs);
  const Json metrics = value("metrics"), weighted = value("weighted_metrics");
  if (is_by_output(metrics, outputs.count(), before_keras_3)) {
    for (const Json& item : outputs.split(metrics, "metrics"))
      options.output_metrics.push_back(read_metrics(item));
    if (outputs.count() == 1) options.metrics = std::exchange(options.output_metrics, {})[0];
  } else {
    options.metrics = read_metrics(metrics);
  }
  if (is_by_output(weighted, outputs.count(), before_keras_3)) {
    const std::vector<Json> lists = outputs.split(weighted, "weighted_metrics");
    if (std::ranges::count(lists, lists[0]) != std::ssize(lists))
      throw Error("weighted_metrics: Snug has one list of them for all outputs");
    options.weighted_metrics = read_metrics(lists[0]);
  } else {
    options.weighted_metrics = read_metrics(weighted);
  }
  return options;
}

}  // namespace

std::optional<CompileOptions> read_compile(const Json& compile_config, const Network& network,
                                           bool before_keras_3) {
  if (!compile_config.is_object() || compile_config.empty()) return std::nullopt;
  // Keras writes no optimizer where another save has removed it (keras.md 3.1).
  if (compile_config.value("optimizer", Json()).is_null()) return std::nullopt;
  try {
    return read_options(compile_config, network, before_keras_3);
  } catch (const Json::exception& error) {
    throw Error("how the model was compiled makes no sense ({}); the file is damaged",
                error.what());
  }
}

namespace {

// The cross-entropy by shape is no class of Keras's, but a word.
OrderedJson write_loss(const Loss& loss) {
  if (!loss.word().empty()) return loss.word();
  if (loss->class_name() == crossentropy_by_shape()->class_name()) return loss->class_name();
  return serialized(module_of(Family::loss), *loss.definition());
}

OrderedJson write_metrics(const std::vector<Metric>& metrics) {
  OrderedJson list = OrderedJson::array();
  for (const Metric& metric : metrics) {
    if (metric.is_word())
      list.push_back(metric.name());
    else
      list.push_back(serialized(module_of(Family::metric), *metric.definition()));
  }
  return list;
}

// A list by output, or a map where the model's outputs are one.
OrderedJson by_output(const std::vector<OrderedJson>& values, const NetworkEnds& form) {
  if (form.keys.empty()) return OrderedJson(values);
  OrderedJson map = OrderedJson::object();
  for (size_t i = 0; i < values.size(); ++i) map[form.keys[i]] = values[i];
  return map;
}

// Keras takes one loss for several outputs, unless they have weights.
OrderedJson write_losses(const CompileOptions& options, size_t outputs, const NetworkEnds& form) {
  std::vector<OrderedJson> losses;
  for (const Loss& item : options.loss.losses()) losses.push_back(write_loss(item));
  if (losses.empty()) return nullptr;
  if (losses.size() == 1 && outputs > 1 && !options.loss_weights.empty())
    losses.resize(outputs, losses[0]);
  return losses.size() == 1 ? losses[0] : by_output(losses, form);
}

// Keras takes a flat list for one output only. `more`: those of each output, or nothing.
OrderedJson write_metrics(const std::vector<Metric>& of_all,
                          const std::vector<std::vector<Metric>>& more, size_t outputs,
                          const NetworkEnds& form) {
  if (of_all.empty() && more.empty()) return nullptr;
  std::vector<OrderedJson> lists;
  for (size_t i = 0; i < outputs; ++i) {
    std::vector<Metric> metrics = of_all;
    if (!more.empty()) metrics.insert(metrics.end(), more[i].begin(), more[i].end());
    lists.push_back(write_metrics(metrics));
  }
  return outputs == 1 ? lists[0] : by_output(lists, form);
}

}  // namespace

OrderedJson write_compile(const CompileOptions& options, const Network& network) {
  const NetworkEnds& form = network.output_ends;
  const size_t outputs = network.output_calls().size();
  OrderedJson loss_weights;
  if (!options.loss_weights.empty()) {
    const std::vector<OrderedJson> weights(options.loss_weights.begin(),
                                           options.loss_weights.end());
    loss_weights = by_output(weights, form);
  }
  return {{"optimizer", write_optimizer(options.optimizer)},
          {"loss", write_losses(options, outputs, form)},
          {"loss_weights", loss_weights},
          {"metrics", write_metrics(options.metrics, options.output_metrics, outputs, form)},
          {"weighted_metrics", write_metrics(options.weighted_metrics, {}, outputs, form)},
          {"run_eagerly", false},
          {"steps_per_execution", 1},
          {"jit_compile", false}};
}

}  // namespace snug
