// Single layers from Keras's configs.

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/interop/config_reader.h"
#include "snug/interop/declared_sizes.h"
#include "snug/interop/network_config.h"
#include "snug/nn/layer_list.h"

namespace snug {
namespace {

std::string where_of(const Json& layer) {
  std::string name = text_at(layer.value("config", Json()), "name");
  if (name.empty()) name = text_at(layer, "name");
  return fmt::format("layer \"{}\" ({})", name, text_at(layer, "class_name"));
}

// Snug computes in float32; the names of other policies say what is lacking.
void expect_float32(const Json& config, const std::string& where) {
  const auto dtype = config.find("dtype");
  if (dtype == config.end() || dtype->is_null()) return;
  std::string name = dtype->is_string() ? dtype->get<std::string>() : std::string();
  if (dtype->is_object()) name = text_at(dtype->value("config", Json()), "name");
  if (name == "float32") return;
  throw Error("{}: its dtype is {}; Snug computes in float32: save the model with that policy",
              where, name.empty() ? shown(*dtype) : name);
}

const LayerEntry& entry_of(const std::string& class_name, const Json& layer,
                           const std::string& where) {
  std::vector<std::string_view> names;
  for (const LayerEntry& entry : layer_list()) {
    if (entry.class_name == class_name) return entry;
    names.push_back(entry.class_name);
  }
  const std::string module = text_at(layer, "module");
  if (!module.empty() && !module.starts_with("keras") && !module.starts_with("tensorflow")) {
    throw Error(
        "{}: it is a class of {}, of which the file holds only the name; Snug loads Keras's own "
        "layers only",
        where, module);
  }
  const std::string_view nearest = nearest_word(class_name, names);
  throw Error("{}: Snug has no such layer{}; nothing was loaded", where,
              nearest.empty() ? "" : fmt::format(" (the nearest that it has is {})", nearest));
}

DType dtype_of(const Json& config, const std::string& where) {
  const std::string name = config.contains("dtype") ? text_at(config, "dtype") : "float32";
  if (name == "float32") return DType::float32;
  // Row numbers and pixels fit.
  if (name == "int32" || name == "int64" || name == "uint8") return DType::int32;
  throw Error("{}: its dtype is {}; Snug takes float32 and int32 inputs", where,
              shown(config.value("dtype", Json())));
}

Layer read_input(const Json& config, const std::string& where) {
  const char* key = config.contains("batch_shape") ? "batch_shape" : "batch_input_shape";
  const auto shape = config.find(key);
  if (shape == config.end() || !shape->is_array() || shape->empty() ||
      shape->size() > Shape::kMaxRank)
    throw Error("{}: its {} is {}; Snug expects [null, ...] of up to {} numbers", where, key,
                shape == config.end() ? "missing" : shown(*shape), Shape::kMaxRank);
  std::vector<int64_t> row;
  for (size_t i = 1; i < shape->size(); ++i) {
    const Json& extent = (*shape)[i];
    if (!extent.is_number_integer() || extent.get<int64_t>() < 1 ||
        (extent.is_number_unsigned() && extent.get<uint64_t>() > kLargestSetting)) {
      throw Error(
          "{}: its {} is {}; only the first may be open (null): give Input the sizes of one row",
          where, key, shown(*shape));
    }
    row.push_back(extent.get<int64_t>());
  }
  if (!is_countable(row)) {
    throw Error("{}: its {} is {}, more than any machine holds", where, key, shown(*shape));
  }
  for (const char* kind : {"sparse", "ragged", "optional"}) {
    if (config.value(kind, Json(false)) == true)
      throw Error("{}: it is {}; Snug has dense inputs only", where, kind);
  }
  return Input(Shape(row), {.dtype = dtype_of(config, where), .name = text_at(config, "name")});
}

}  // namespace

Layer read_layer(const Json& layer, CallCount& calls) {
  const std::string where = where_of(layer);
  const KerasObject object = keras_object(layer, where);
  if (object.class_name == "Sequential" || object.class_name == "Functional" ||
      object.class_name == "Model") {
    return Layer(read_network(layer, calls));
  }
  if (object.config == nullptr || !object.config->is_object())
    throw Error("{}: it has no config; the file is damaged", where);
  const Json& config = *object.config;
  if (object.class_name == "InputLayer") return read_input(config, where);
  Layer made = entry_of(object.class_name, layer, where).make();
  expect_float32(config, where);
  made->name = text_at(config, "name");
  try {
    read_config(*made.definition(), config, where, {"name", "trainable", "dtype"});
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with("layer \"")) throw;
    throw Error("{}: {}", where, message);
  }
  if (config.value("trainable", Json(true)) == false) made->trainable = false;
  return made;
}

}  // namespace snug
