#include <cstdio>

#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/run_file.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

int64_t count_of(const Variables& variables) {
  int64_t count = 0;
  for (const VariablePtr& variable : variables) count += variable->type().shape.size();
  return count;
}

Json json_of(const Model& model) {
  Json layers = Json::array();
  for (const LayerCall& call : model.network().calls()) {
    layers.push_back({{"name", call.layer->name},
                      {"class", call.layer->class_name()},
                      {"output_shape", call.out[0].shape.text()},
                      {"parameters", count_of(Layer(call.layer).weights())}});
  }
  return {{"command", "summary"},
          {"exit", 0},
          {"layers", layers},
          {"parameters", count_of(model.weights())},
          {"trainable_parameters", count_of(model.trainable_variables())}};
}

// A model that begins with its input needs no data.
Model model_of(const Arguments& arguments) {
  const RunFile run = read_run_file(arguments.run_file, arguments.settings);
  if (run.section("data") == nullptr || run.has_model_file()) return make_model(run);
  return make_model(run, open_data(run, {.cache = arguments.cache()}).train->fields()[0]);
}

}  // namespace

int summary_command(const Arguments& arguments) {
  const Model model = model_of(arguments);
  if (arguments.json) {
    fmt::print("{}\n", json_text(json_of(model)));
  } else {
    fmt::print("{}", model.summary());
  }
  return 0;
}

}  // namespace snug::cli
