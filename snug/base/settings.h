// One list of settings per layer (loss, optimizer, initializer, ...): reading and writing Keras's
// configs, run files and printing are visitors of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace snug {

class Configurable;
using ConfigurablePtr = std::shared_ptr<Configurable>;

// Which family of objects a setting holds; the reader looks the class name up in that family's
// list.
enum class Family {
  layer,
  activation,
  initializer,
  regularizer,
  constraint,
  loss,
  metric,
  optimizer,
  schedule
};

// Sees every setting of an object by its Keras name. A reader assigns, a writer reads; both see the
// same list.
class SettingVisitor {
 public:
  virtual ~SettingVisitor() = default;
  virtual void visit(std::string_view name, bool& value) = 0;
  virtual void visit(std::string_view name, int64_t& value) = 0;
  virtual void visit(std::string_view name, double& value) = 0;
  virtual void visit(std::string_view name, std::string& value) = 0;
  virtual void visit(std::string_view name, std::vector<int64_t>& value) = 0;
  virtual void visit(std::string_view name, std::vector<double>& value) = 0;
  virtual void visit(std::string_view name, std::optional<bool>& value) = 0;
  virtual void visit(std::string_view name, std::optional<int64_t>& value) = 0;
  virtual void visit(std::string_view name, std::optional<double>& value) = 0;
  virtual void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) = 0;
  // Seen as a list that is empty where there is none, unless a visitor tells them apart.
  virtual void visit(std::string_view name, std::optional<std::vector<double>>& value) {
    std::vector<double> list = value.value_or(std::vector<double>());
    visit(name, list);
    value = list.empty() ? std::nullopt : std::optional(std::move(list));
  }
  // Rows of numbers: the paddings of ZeroPadding2D, ((top, bottom), (left, right)).
  virtual void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) = 0;
  // A setting that Keras does not have, false where it is not given: left out of Keras's files.
  virtual void visit_own(std::string_view name, bool& value) { visit(name, value); }
  // Another object with settings of its own, or null.
  virtual void visit(std::string_view name, Family family, ConfigurablePtr& value) = 0;
};

// An object that can be described: by its Keras class name and its settings.
class Configurable {
 public:
  virtual ~Configurable() = default;
  virtual std::string_view class_name() const = 0;
  virtual void settings(SettingVisitor& visitor) = 0;
};

}  // namespace snug
