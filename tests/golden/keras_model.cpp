#include "keras_model.h"

#include <map>
#include <tuple>

#include "snug/base/error.h"
#include "snug/nn/layer_list.h"
#include "snug/nn/loss_list.h"
#include "snug/nn/operators.h"

namespace snug::testing {
namespace {

std::string text(const Json& json, const char* key) { return json.at(key).get<std::string>(); }

Input input_of(const Json& config) {
  Shape row;
  const Json& shape = config.at("batch_shape");
  for (size_t i = 1; i < shape.size(); ++i) row.push_back(shape[i].get<int64_t>());
  const DType dtype = text(config, "dtype") == "int32" ? DType::int32 : DType::float32;
  return Input(row, {.dtype = dtype, .name = text(config, "name")});
}

Layer layer_of(const Json& layer) {
  const Layer made = find_layer(text(layer, "class_name")).make();
  const Json& config = layer.at("config");
  KerasConfigReader reader(config);
  made->settings(reader);
  made->name = text(config, "name");
  return made;
}

// Keras's key of a symbol: layer, call, output.
using History = std::tuple<std::string, int, int>;

History history_of(const Json& json) {
  return {json[0].get<std::string>(), json[1].get<int>(), json[2].get<int>()};
}

// Puts a functional model together: each call as soon as all that it reads is there.
class FunctionalReader {
 public:
  explicit FunctionalReader(const Json& config) : config_(config) {
    for (const Json& layer : config.at("layers")) {
      if (text(layer, "class_name") == "InputLayer") {
        symbols_[{text(layer, "name"), 0, 0}] = input_of(layer.at("config"));
      } else if (!is_operation(layer)) {
        layers_.emplace(text(layer, "name"), layer_of(layer));
      }
    }
    while (call_what_is_ready()) {
    }
  }

  Model model() const {
    return Model(ends(config_.at("input_layers")), ends(config_.at("output_layers")),
                 text(config_, "name"));
  }

 private:
  static bool is_operation(const Json& layer) {
    return text(layer, "module").starts_with("keras.src.ops");
  }

  bool call_what_is_ready() {
    bool progress = false;
    for (const Json& layer : config_.at("layers")) {
      const Json& nodes = layer.at("inbound_nodes");
      for (size_t i = 0; i < nodes.size(); ++i) {
        const History made{text(layer, "name"), static_cast<int>(i), 0};
        Symbols in;
        if (symbols_.contains(made) || !collect(nodes[i].at("args"), in)) continue;
        symbols_[made] =
            is_operation(layer) ? operate(layer, in) : layers_.at(text(layer, "name"))(in);
        progress = true;
      }
    }
    return progress;
  }

  static Symbol operate(const Json& layer, const Symbols& in) {
    if (text(layer, "class_name") != "Add")
      throw Error("no operator {}", text(layer, "class_name"));
    const Symbol sum = in.at(0) + in.at(1);
    sum.node()->layer->name = text(layer, "name");
    return sum;
  }

  // The symbols of call arguments, lists or not; false when one is not there yet.
  bool collect(const Json& args, Symbols& found) const {
    for (const Json& arg : args) {
      if (arg.is_array()) {
        if (!collect(arg, found)) return false;
        continue;
      }
      const auto symbol = symbols_.find(history_of(arg.at("config").at("keras_history")));
      if (symbol == symbols_.end()) return false;
      found.push_back(symbol->second);
    }
    return true;
  }

  // One end, a list of them, or several by name: by sorted key, as Keras flattens them.
  Symbols ends(const Json& json) const {
    if (json.is_array() && json[0].is_string()) return {symbols_.at(history_of(json))};
    std::map<std::string, Symbol> by_name;
    Symbols all;
    for (const auto& [key, end] : json.items()) {
      all.push_back(symbols_.at(history_of(end)));
      by_name[key] = all.back();
    }
    if (json.is_array()) return all;
    all.clear();
    for (const auto& [key, symbol] : by_name) all.push_back(symbol);
    return all;
  }

  const Json& config_;
  std::map<std::string, Layer> layers_;
  std::map<History, Symbol> symbols_;
};

Loss loss_of(const Json& json) {
  if (json.is_string()) return Loss(json.get<std::string>());
  const LossPtr loss = default_loss(text(json, "class_name"));
  if (!loss) throw Error("no loss {}", text(json, "class_name"));
  KerasConfigReader reader(json.at("config"));
  loss->settings(reader);
  return Loss(loss);
}

std::vector<Metric> metrics_of(const Json& json) {
  std::vector<Metric> metrics;
  for (const Json& metric : json) {
    if (metric.is_string()) {
      metrics.emplace_back(metric.get<std::string>());
      continue;
    }
    const MetricPtr made = default_metric(text(metric, "class_name"));
    if (!made) throw Error("no metric {}", text(metric, "class_name"));
    KerasConfigReader reader(metric.at("config"));
    made->settings(reader);
    metrics.emplace_back(made);
  }
  return metrics;
}

Optimizer optimizer_of(const Json& json) {
  const Optimizer optimizer = make_optimizer(text(json, "class_name"));
  const Json& config = json.at("config");
  if (config.at("learning_rate").is_object()) {
    const SchedulePtr schedule = make_schedule(text(config.at("learning_rate"), "class_name"));
    optimizer->set_learning_rate(schedule);
  }
  KerasConfigReader reader(config);
  optimizer->settings(reader);
  return optimizer;
}

}  // namespace

Model model_of(const Json& model) {
  const Json& config = model.at("config");
  if (text(model, "class_name") == "Functional") return FunctionalReader(config).model();
  std::vector<Layer> layers;
  for (const Json& layer : config.at("layers")) {
    const bool is_input = text(layer, "class_name") == "InputLayer";
    layers.push_back(is_input ? static_cast<Layer>(input_of(layer.at("config"))) : layer_of(layer));
  }
  return Sequential(layers, text(config, "name"));
}

CompileOptions compile_options_of(const Json& compile_config, const Model& model) {
  CompileOptions options{.optimizer = optimizer_of(compile_config.at("optimizer"))};
  const Json& loss = compile_config.at("loss");
  const Json& metrics = compile_config.at("metrics");
  const Json& loss_weights = compile_config.at("loss_weights");
  const bool by_output = loss.is_object() && !loss.contains("class_name");
  if (!by_output) {
    options.loss = loss_of(loss);
    options.metrics = metrics_of(metrics);
  } else {
    std::vector<Loss> losses;
    for (const std::string& output : model.network().output_names()) {
      losses.push_back(loss_of(loss.at(output)));
      options.output_metrics.push_back(metrics_of(metrics.at(output)));
      options.loss_weights.push_back(loss_weights.at(output).get<double>());
    }
    options.loss = losses;
  }
  if (!compile_config.at("weighted_metrics").is_null())
    options.weighted_metrics = metrics_of(compile_config.at("weighted_metrics"));
  return options;
}

}  // namespace snug::testing
