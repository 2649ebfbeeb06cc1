// The layers of a run file.

#include <array>
#include <optional>

#include "snug/base/nearest_word.h"
#include "snug/cli/run_file.h"
#include "snug/cli/yaml_settings.h"
#include "snug/nn/layer_list.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 3> kOfEveryLayer = {"name", "trainable", "dtype"};
constexpr std::string_view kLayerForms =
    "a layer: its name, or its name with its settings (dense: {units: 64, activation: relu})";

const YamlValue& layers_of(const RunFile& run) {
  const YamlValue* model = run.section("model");
  if (model == nullptr) {
    throw PlacedError(run.file,
                      "there is no model; give a list of layers, such as - dense: 10, or a file: "
                      "model: model.keras");
  }
  if (!model->is_list()) model->refuse("a list of layers, such as [dense: {units: 10}]");
  if (model->list.empty()) model->fail("model has no layers; give some, such as - dense: 10");
  return *model;
}

bool is_input(const NamedSettings& named) {
  return same_word(named.name, "input") || same_word(named.name, "input_layer");
}

// `- input: [28, 28, 1]`, for a model without data or with another shape of the same rows.
Layer input_layer(const NamedSettings& named) {
  const YamlValue* shape = named.settings;
  if (shape != nullptr && shape->is_map()) {
    constexpr std::array<std::string_view, 1> keys = {"shape"};
    expect_keys(*shape, keys, "setting of input");
    shape = shape->find("shape");
  }
  if (shape == nullptr) {
    throw PlacedError(named.where, "input needs the shape of one row, such as input: [28, 28, 1]");
  }
  const std::vector<int64_t> extents = shape->as_ints();
  for (const int64_t extent : extents) {
    if (extent < 1) shape->refuse("the shape of one row: numbers of 1 or more");
  }
  return Input(Shape(extents));
}

void check_dtype(const YamlValue& dtype, std::string_view layer) {
  if (dtype.as_text() == "float32") return;
  dtype.fail(
      "{} is to have the dtype {}, but layers are float32: weights of fewer bits lose small "
      "updates; leave dtype out",
      layer, dtype.as_text());
}

Layer read_layer(const NamedSettings& named) {
  const LayerEntry entry = placed(named.where, [&] { return find_layer(named.name); });
  Layer layer = entry.make();
  read_settings(named, *layer.definition(),
                {.main_setting = entry.main_setting, .others = kOfEveryLayer});
  if (named.settings == nullptr) return layer;
  if (const YamlValue* name = named.settings->find("name")) layer->name = name->as_text();
  if (const YamlValue* trainable = named.settings->find("trainable")) {
    layer->trainable = trainable->as_bool();
  }
  if (const YamlValue* dtype = named.settings->find("dtype")) check_dtype(*dtype, named.name);
  return layer;
}

// The input that the data gives. Pixels of one channel often come without the axis for it. An
// embedding reads numbers of rows.
Layer input_for(const Field& field, const NamedSettings& first) {
  Shape row = field.row;
  if (row.rank() == 2 && field.stored == StoredType::uint8) row.push_back(1);
  const bool is_index = same_word(first.name, "embedding");
  return Input(row, {.dtype = is_index ? DType::int32 : DType::float32});
}

Sequential model_of(const RunFile& run, const Field* data) {
  const YamlValue& layers = layers_of(run);
  const NamedSettings first = named_settings(layers.list[0], kLayerForms);
  if (!is_input(first) && data == nullptr) {
    layers.list[0].fail("without data the model needs its input: put - input: [28, 28, 1] first");
  }
  Sequential model({is_input(first) ? input_layer(first) : input_for(*data, first)}, run.name);
  for (size_t i = is_input(first) ? 1 : 0; i < layers.list.size(); ++i) {
    const NamedSettings named = named_settings(layers.list[i], kLayerForms);
    placed(named.where, [&] { model.add(read_layer(named)); });
  }
  return model;
}

}  // namespace

std::vector<Layer> read_layers(const YamlValue& list) {
  if (!list.is_list() || list.list.empty()) list.refuse("a list of layers");
  std::vector<Layer> layers;
  for (const YamlValue& value : list.list) {
    const NamedSettings named = named_settings(value, kLayerForms);
    layers.push_back(placed(named.where, [&] { return read_layer(named); }));
  }
  return layers;
}

Model make_model(const RunFile& run) {
  if (run.has_model_file()) return load_model(run.path(*run.section("model")));
  return model_of(run, nullptr);
}
Model make_model(const RunFile& run, const Field& input) {
  if (run.has_model_file()) return load_model(run.path(*run.section("model")));
  return model_of(run, &input);
}

}  // namespace snug::cli
