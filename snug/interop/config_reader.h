// Keras's config of one object into its settings.
#pragma once

#include <set>
#include <string>

#include "snug/base/settings.h"
#include "snug/interop/json.h"

namespace snug {

// Assigns the settings that `config` has and leaves the others as they are. Throws Error, beginning
// with `where`, for a value of the wrong kind and for an object that Snug has no class for.
class ConfigReader final : public SettingVisitor {
 public:
  // `where`: "layer \"dense\" (Dense)".
  ConfigReader(const Json& config, std::string where);

  void visit(std::string_view name, bool& value) override;
  void visit(std::string_view name, int64_t& value) override;
  void visit(std::string_view name, double& value) override;
  void visit(std::string_view name, std::string& value) override;
  void visit(std::string_view name, std::vector<int64_t>& value) override;
  void visit(std::string_view name, std::vector<double>& value) override;
  void visit(std::string_view name, std::optional<bool>& value) override;
  void visit(std::string_view name, std::optional<int64_t>& value) override;
  void visit(std::string_view name, std::optional<double>& value) override;
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override;
  void visit(std::string_view name, std::optional<std::vector<double>>& value) override;
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override;
  void visit(std::string_view name, Family family, ConfigurablePtr& value) override;

  // Throws Error for a key that no visit asked for, unless its value says nothing (null, false, an
  // empty list), as those do that newer versions of Keras add. `others`: keys that the caller reads
  // itself.
  void expect_all_read(const std::set<std::string, std::less<>>& others) const;

  // The names that were asked for, in order.
  const std::vector<std::string>& names() const { return names_; }

 private:
  const Json* find(std::string_view name);
  [[noreturn]] void refuse(std::string_view name, std::string_view wanted) const;

  const Json& config_;
  std::string where_;
  std::vector<std::string> names_;
};

// Fills in an object's settings from its Keras config: all of them, or an Error.
void read_config(Configurable& object, const Json& config, const std::string& where,
                 const std::set<std::string, std::less<>>& others = {});

// What every Keras object is written as. Throws Error for anything else, and by name for Python
// code (Lambda) and for custom classes.
struct KerasObject {
  std::string class_name;
  const Json* config = nullptr;
};
KerasObject keras_object(const Json& json, const std::string& where);

// The name of a function that stands in place of an object ("mean_squared_error"); empty where the
// value is something else.
std::string function_name(const Json& json);

}  // namespace snug
