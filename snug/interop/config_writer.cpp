#include "snug/interop/config_writer.h"

#include "snug/base/error.h"

namespace snug {
namespace {

class ConfigWriter final : public SettingVisitor {
 public:
  void visit(std::string_view name, bool& value) override { write(name, value); }
  void visit(std::string_view name, int64_t& value) override { write(name, value); }
  void visit(std::string_view name, double& value) override { write(name, value); }
  // What Keras leaves None is an empty text in Snug.
  void visit(std::string_view name, std::string& value) override {
    value.empty() ? write(name, nullptr) : write(name, value);
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override { write(name, value); }
  void visit(std::string_view name, std::vector<double>& value) override { write(name, value); }
  void visit(std::string_view name, std::optional<bool>& value) override { write(name, value); }
  void visit(std::string_view name, std::optional<int64_t>& value) override { write(name, value); }
  void visit(std::string_view name, std::optional<double>& value) override { write(name, value); }
  void visit(std::string_view name, std::optional<std::vector<int64_t>>& value) override {
    write(name, value);
  }
  void visit(std::string_view name, std::optional<std::vector<double>>& value) override {
    write(name, value);
  }
  void visit(std::string_view name, std::vector<std::vector<int64_t>>& value) override {
    write(name, value);
  }
  void visit_own(std::string_view, bool&) override {}
  void visit(std::string_view name, Family family, ConfigurablePtr& value) override {
    if (value)
      config[std::string(name)] = serialized(module_of(family), *value);
    else
      write(name, nullptr);
  }

  OrderedJson config = OrderedJson::object();

 private:
  template <typename T>
  void write(std::string_view name, const T& value) {
    config[std::string(name)] = value;
  }
  template <typename T>
  void write(std::string_view name, const std::optional<T>& value) {
    value ? write(name, *value) : write(name, nullptr);
  }
};

}  // namespace

OrderedJson config_of(Configurable& object) {
  ConfigWriter writer;
  object.settings(writer);
  return std::move(writer.config);
}

OrderedJson serialized(std::string_view module, Configurable& object) {
  return {{"module", module},
          {"class_name", object.class_name()},
          {"config", config_of(object)},
          {"registered_name", nullptr}};
}

std::string_view module_of(Family family) {
  switch (family) {
    case Family::layer:
      return "keras.layers";
    case Family::initializer:
      return "keras.initializers";
    case Family::regularizer:
      return "keras.regularizers";
    case Family::loss:
      return "keras.losses";
    case Family::metric:
      return "keras.metrics";
    case Family::optimizer:
      return "keras.optimizers";
    case Family::schedule:
      return "keras.optimizers.schedules";
    case Family::activation:
    case Family::constraint:
      break;
  }
  SNUG_CHECK(false, "a family without objects of its own");
}

}  // namespace snug
