// Keras's configs for tests: fills the settings of an object and notes which names it asked for.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "snug/nn/initializer.h"
#include "snug/nn/regularizer.h"
#include "snug/optim/schedule.h"

namespace snug::testing {

using Json = nlohmann::ordered_json;

class KerasConfigReader final : public SettingVisitor {
 public:
  explicit KerasConfigReader(const Json& config) : config_(config) {}

  void visit(std::string_view name, bool& value) override { read(name, value); }
  void visit(std::string_view name, int64_t& value) override { read(name, value); }
  void visit(std::string_view name, double& value) override { read(name, value); }
  void visit(std::string_view name, std::string& value) override { read(name, value); }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    const Json* given = find(name);
    if (given && given->is_number())
      value = {given->get<int64_t>()};
    else if (given)
      value = given->get<std::vector<int64_t>>();
  }
  void visit(std::string_view name, std::vector<double>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<bool>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<int64_t>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<double>& value) override { read(name, value); }
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, std::optional<std::vector<double>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    read(name, value);
  }
  void visit(std::string_view name, Family family, ConfigurablePtr& value) override {
    const Json* given = find(name);
    if (!given) return;
    value = nullptr;
    if (given->is_null()) return;
    const auto class_name = given->at("class_name").get<std::string>();
    if (family == Family::initializer)
      value = make_initializer(class_name);
    else if (family == Family::schedule)
      value = make_schedule(class_name);
    else
      value = make_regularizer(class_name);
    KerasConfigReader reader(given->at("config"));
    value->settings(reader);
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  const Json* find(std::string_view name) {
    names_.emplace_back(name);
    const auto found = config_.find(std::string(name));
    return found == config_.end() ? nullptr : &*found;
  }
  template <typename T>
  void read(std::string_view name, T& value) {
    if (const Json* given = find(name)) value = given->get<T>();
  }
  template <typename T>
  void read(std::string_view name, std::optional<T>& value) {
    const Json* given = find(name);
    if (given) value = given->is_null() ? std::nullopt : std::optional<T>(given->get<T>());
  }

  const Json& config_;
  std::vector<std::string> names_;
};

}  // namespace snug::testing
