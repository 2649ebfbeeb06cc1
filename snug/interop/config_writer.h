// The settings of one object as Keras's config.
#pragma once

#include "snug/base/settings.h"
#include "snug/interop/json.h"

namespace snug {

// The config of an object: every setting by its name.
OrderedJson config_of(Configurable& object);

// The object as Keras writes it: module, class name, config.
OrderedJson serialized(std::string_view module, Configurable& object);

// The module that Keras exports a family from: "keras.initializers".
std::string_view module_of(Family family);

}  // namespace snug
