#include "snug/interop/config_reader.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "snug/base/error.h"
#include "snug/interop/declared_sizes.h"
#include "snug/nn/initializer.h"
#include "snug/nn/regularizer.h"
#include "snug/optim/schedule.h"

namespace snug {
namespace {

// Written by some versions of Keras, without a meaning for Snug whatever their value is. (Keras 2
// gives separable convolutions a kernel_initializer, of a kernel that they do not have.)
const std::set<std::string, std::less<>> kWithoutMeaning = {
    "batch_input_shape", "input_length", "is_legacy_optimizer", "jit_compile", "kernel_initializer",
    "renorm_momentum",   "ragged"};

// What Keras 2 called some settings.
const std::map<std::string, std::string, std::less<>> kOlderNames = {{"negative_slope", "alpha"},
                                                                     {"learning_rate", "lr"}};

// No list of settings is longer than a shape has axes.
constexpr size_t kLongestList = 8;

bool says_nothing(const Json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty()) ||
         value == 0.0;
}

std::optional<int64_t> integer(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    return value <= INT64_MAX ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  // decay_steps: 25.0
  if (!json.is_number_float()) return std::nullopt;
  const auto value = json.get<double>();
  if (!(std::abs(value) < 9e15) || value != std::floor(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<double> number(const Json& json) {
  return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
}

// One number stands for a list of one.
template <typename T, typename Convert>
std::optional<std::vector<T>> list(const Json& json, const Convert& convert) {
  std::vector<T> values;
  if (const auto one = convert(json)) return std::vector<T>{*one};
  if (!json.is_array()) return std::nullopt;
  for (const Json& item : json) {
    const auto value = convert(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace

ConfigReader::ConfigReader(const Json& config, std::string where)
    : config_(config), where_(std::move(where)) {
  if (!config.is_object())
    throw Error("{}: its config is {}, not a map; the file is damaged", where_, shown(config));
}

const Json* ConfigReader::find(std::string_view name) {
  if (names_.empty() || names_.back() != name) names_.emplace_back(name);
  if (const auto found = config_.find(name); found != config_.end()) return &*found;
  const auto older = kOlderNames.find(name);
  if (older == kOlderNames.end()) return nullptr;
  const auto found = config_.find(older->second);
  if (found == config_.end()) return nullptr;
  names_.push_back(older->second);
  return &*found;
}

void ConfigReader::refuse(std::string_view name, std::string_view wanted) const {
  const auto older = kOlderNames.find(name);
  const auto given = config_.find(
      config_.contains(name) || older == kOlderNames.end() ? std::string(name) : older->second);
  throw Error("{}: {} is {}; Snug expects {}", where_, given.key(), shown(given.value()), wanted);
}

void ConfigReader::visit(std::string_view name, bool& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  if (!given->is_boolean()) refuse(name, "true or false");
  value = given->get<bool>();
}

void ConfigReader::visit(std::string_view name, int64_t& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  // Keras 2 writes the axis of a normalization as a list of one.
  const bool listed = given->is_array() && given->size() == 1;
  const std::optional<int64_t> read = integer(listed ? given->front() : *given);
  if (!read) refuse(name, "a whole number");
  const bool small = *read >= -kLargestSetting && *read <= kLargestSetting;
  if (name != "seed" && !small) refuse(name, "a smaller number");
  value = *read;
}

void ConfigReader::visit(std::string_view name, double& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  const std::optional<double> read = number(*given);
  if (!read) refuse(name, "a number");
  value = *read;
}

void ConfigReader::visit(std::string_view name, std::string& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  if (given->is_null()) {
    value = name == "activation" ? "linear" : "";
  } else if (given->is_string()) {
    value = given->get<std::string>();
  } else if (const std::string function = function_name(*given); !function.empty()) {
    value = function;
  } else if (name == "dtype" && given->is_object()) {
    value = text_at(given->value("config", Json()), "name");
  } else if (given->is_object()) {
    refuse(name, "a name; where it is a layer, put that layer behind this one instead");
  } else {
    refuse(name, "a name");
  }
}

void ConfigReader::visit(std::string_view name, std::vector<int64_t>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  std::optional<std::vector<int64_t>> read = list<int64_t>(*given, integer);
  if (given->is_null()) read.emplace();
  if (!read) refuse(name, "whole numbers");
  if (!is_countable(*read) || read->size() > kLongestList) refuse(name, "smaller numbers");
  value = *read;
}

void ConfigReader::visit(std::string_view name, std::vector<double>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  const std::optional<std::vector<double>> read = list<double>(*given, number);
  if (!read) refuse(name, "numbers");
  value = *read;
}

void ConfigReader::visit(std::string_view name, std::optional<bool>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  value.reset();
  if (!given->is_null()) visit(name, value.emplace());
}

void ConfigReader::visit(std::string_view name, std::optional<int64_t>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  value.reset();
  if (!given->is_null()) visit(name, value.emplace());
}

void ConfigReader::visit(std::string_view name, std::optional<double>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  value.reset();
  if (!given->is_null()) visit(name, value.emplace());
}

void ConfigReader::visit(std::string_view name, std::optional<std::vector<int64_t>>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  value.reset();
  if (!given->is_null()) visit(name, value.emplace());
}

void ConfigReader::visit(std::string_view name, std::optional<std::vector<double>>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  value.reset();
  if (!given->is_null()) visit(name, value.emplace());
}

void ConfigReader::visit(std::string_view name, std::vector<std::vector<int64_t>>& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  if (!given->is_array()) refuse(name, "rows of whole numbers");
  value.clear();
  for (const Json& row : *given) {
    const std::optional<std::vector<int64_t>> read = list<int64_t>(row, integer);
    if (!read || !is_countable(*read)) refuse(name, "rows of whole numbers");
    value.push_back(*read);
  }
}

void ConfigReader::visit(std::string_view name, Family family, ConfigurablePtr& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  value = nullptr;
  if (given->is_null()) return;
  if (family == Family::constraint)
    refuse(name, "null, for it has no constraints on weights: train without it");
  const std::string where = fmt::format("{}: {}", where_, name);
  const KerasObject object =
      given->is_string() ? KerasObject{given->get<std::string>()} : keras_object(*given, where);
  try {
    if (family == Family::initializer)
      value = make_initializer(object.class_name);
    else if (family == Family::schedule)
      value = make_schedule(object.class_name);
    else if (family == Family::regularizer)
      value = make_regularizer(object.class_name);
    else
      refuse(name, "something that it can read");
  } catch (const Error& error) {
    throw Error("{}: {}", where, error.what());
  }
  if (object.config != nullptr) read_config(*value, *object.config, where);
}

void ConfigReader::expect_all_read(const std::set<std::string, std::less<>>& others) const {
  for (const auto& [key, value] : config_.items()) {
    if (std::ranges::count(names_, key) > 0 || others.contains(key) ||
        kWithoutMeaning.contains(key))
      continue;
    if (says_nothing(value) || (key == "data_format" && value == "channels_last")) continue;
    if (key == "groups" && value == 1) continue;
    throw Error("{}: it has the setting {} = {}, which Snug lacks; save the model without it",
                where_, key, shown(value));
  }
}

void read_config(Configurable& object, const Json& config, const std::string& where,
                 const std::set<std::string, std::less<>>& others) {
  ConfigReader reader(config, where);
  object.settings(reader);
  reader.expect_all_read(others);
}

KerasObject keras_object(const Json& json, const std::string& where) {
  const std::string class_name = text_at(json, "class_name");
  if (class_name.empty())
    throw Error("{}: {} is no Keras object; the file is damaged", where, shown(json));
  const std::string registered = text_at(json, "registered_name");
  if (class_name == "Lambda" || class_name == "__lambda__") {
    throw Error(
        "{}: it is a Lambda, which holds Python code; Snug never runs code from a file: write it "
        "with layers of Keras's own, or with operators (x * 2 + y)",
        where);
  }
  if (registered.find('>') != std::string::npos) {
    throw Error(
        "{}: {} is a custom class ({}), of which the file holds only the name; Snug loads Keras's "
        "own classes only",
        where, class_name, registered);
  }
  const auto config = json.find("config");
  return {class_name, config == json.end() ? nullptr : &*config};
}

std::string function_name(const Json& json) {
  return text_at(json, "class_name") == "function" ? text_at(json, "config") : std::string();
}

}  // namespace snug
