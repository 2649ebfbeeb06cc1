// Settings in the forms that options have and visitors do not know.
#pragma once

#include "snug/base/error.h"
#include "snug/base/settings.h"
#include "snug/nn/initializer.h"
#include "snug/nn/regularizer.h"
#include "snug/nn/size2d.h"

namespace snug {

// Puts back what a visitor has seen in another form; writes nothing where it was only read, as
// several threads may.
template <typename T>
void put_if_changed(T& setting, const T& seen) {
  if (!(setting == seen)) setting = seen;
}

// Lists of one number, and of two; a single number stands for both. Throws Error that names the
// setting for a list of another length.
void visit_size(SettingVisitor& visitor, std::string_view name, int64_t& size);
void visit_size(SettingVisitor& visitor, std::string_view name, Size2D& size);

// Throws Error when the visitor puts an object of another family in its place.
template <typename T>
void visit_object(SettingVisitor& visitor, std::string_view name, Family family,
                  std::shared_ptr<T>& object) {
  ConfigurablePtr seen = object;
  visitor.visit(name, family, seen);
  if (seen == object) return;  // Only looked at: others may read it now.
  object = std::dynamic_pointer_cast<T>(seen);
  if (seen && !object) throw Error("{}: it cannot be a {}", name, seen->class_name());
}
void visit_initializer(SettingVisitor& visitor, std::string_view name, InitializerPtr& object);
void visit_regularizer(SettingVisitor& visitor, std::string_view name, RegularizerPtr& object);
// Always null: Snug has no constraints. Throws Error for any other.
void visit_constraint(SettingVisitor& visitor, std::string_view name);
// Always "channels_last". Throws Error for any other.
void visit_data_format(SettingVisitor& visitor);

}  // namespace snug
