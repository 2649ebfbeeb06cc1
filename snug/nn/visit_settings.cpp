#include "snug/nn/visit_settings.h"

namespace snug {

void visit_size(SettingVisitor& visitor, std::string_view name, int64_t& size) {
  std::vector<int64_t> list = {size};
  visitor.visit(name, list);
  if (list.size() != 1) throw Error("{}: expected one number, got {}", name, list.size());
  put_if_changed(size, list[0]);
}

void visit_size(SettingVisitor& visitor, std::string_view name, Size2D& size) {
  std::vector<int64_t> list = {size.height, size.width};
  visitor.visit(name, list);
  if (list.empty() || list.size() > 2)
    throw Error("{}: expected one number or two, got {}", name, list.size());
  put_if_changed(size, {list.front(), list.back()});
}

void visit_initializer(SettingVisitor& visitor, std::string_view name, InitializerPtr& object) {
  visit_object(visitor, name, Family::initializer, object);
}

void visit_regularizer(SettingVisitor& visitor, std::string_view name, RegularizerPtr& object) {
  visit_object(visitor, name, Family::regularizer, object);
}

void visit_constraint(SettingVisitor& visitor, std::string_view name) {
  ConfigurablePtr none;
  visitor.visit(name, Family::constraint, none);
  if (none) throw Error("{}: Snug has no constraints on weights; leave it out", name);
}

void visit_data_format(SettingVisitor& visitor) {
  std::string format = "channels_last";
  visitor.visit("data_format", format);
  if (format != "channels_last") {
    throw Error(
        "data_format: \"{}\" is not supported; store images as [rows, height, width, channels] "
        "(\"channels_last\"), or put a Permute layer first",
        format);
  }
}

}  // namespace snug
