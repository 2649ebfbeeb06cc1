// The settings of an object with their values as a run file says them, for tests of lists.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "snug/base/settings.h"
#include "snug/cli/yaml_value.h"
#include "snug/nn/network.h"

namespace snug::cli {

// Each setting and its value in YAML.
class SettingLister final : public SettingVisitor {
 public:
  void visit(std::string_view name, bool& value) override { add(name, text(value)); }
  void visit(std::string_view name, int64_t& value) override { add(name, text(value)); }
  void visit(std::string_view name, double& value) override { add(name, text(value)); }
  void visit(std::string_view name, std::string& value) override { add(name, text(value)); }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    add(name, text(value));
  }
  void visit(std::string_view name, std::vector<double>& value) override { add(name, text(value)); }
  void visit(std::string_view name, std::optional<bool>& value) override { add_any(name, value); }
  void visit(std::string_view name, std::optional<int64_t>& value) override {
    add_any(name, value);
  }
  void visit(std::string_view name, std::optional<double>& value) override { add_any(name, value); }
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override {
    add_any(name, value);
  }
  void visit(std::string_view name, std::optional<std::vector<double>>& value) override {
    add_any(name, value);
  }
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    add(name, text(value));
  }
  void visit(std::string_view name, Family, ConfigurablePtr& value) override {
    add(name, value ? snake_case(value->class_name()) : "null");
  }

  std::vector<std::pair<std::string, std::string>> settings;

 private:
  static std::string text(bool value) { return value ? "true" : "false"; }
  static std::string text(int64_t value) { return std::to_string(value); }
  static std::string text(double value) { return fmt::format("{:.6g}", value == 0 ? 0 : value); }
  static std::string text(const std::string& value) {
    return value.empty() || value == "," ? fmt::format("\"{}\"", value) : value;
  }
  template <typename T>
  static std::string text(const std::vector<T>& value) {
    std::vector<std::string> elements;
    for (const T& element : value) elements.push_back(text(element));
    return fmt::format("[{}]", fmt::join(elements, ", "));
  }

  void add(std::string_view name, std::string value) {
    settings.emplace_back(name, std::move(value));
  }
  template <typename T>
  void add_any(std::string_view name, const std::optional<T>& value) {
    add(name, value ? text(*value) : "null");
  }
};

inline std::vector<std::pair<std::string, std::string>> settings_of(Configurable& object) {
  SettingLister lister;
  object.settings(lister);
  return lister.settings;
}

// "{units: 0, activation: linear}".
inline std::string settings_text(Configurable& object) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : settings_of(object)) parts.push_back(name + ": " + value);
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

// The same of what was read.
inline std::string flow_text(const YamlValue& value) {
  std::vector<std::string> parts;
  for (const YamlValue& element : value.list) parts.push_back(flow_text(element));
  for (const YamlItem& item : value.items) parts.push_back(item.key + ": " + flow_text(item.value));
  switch (value.kind) {
    case YamlValue::Kind::null:
      return "null";
    case YamlValue::Kind::list:
      return fmt::format("[{}]", fmt::join(parts, ", "));
    case YamlValue::Kind::map:
      return fmt::format("{{{}}}", fmt::join(parts, ", "));
    default:
      return value.text.empty() || value.text == "," ? fmt::format("\"{}\"", value.text)
                                                     : value.text;
  }
}

}  // namespace snug::cli
