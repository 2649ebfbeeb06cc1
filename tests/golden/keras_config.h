// Keras's configs for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snug/interop/config_reader.h"

namespace snug::testing {

using Json = nlohmann::ordered_json;

inline snug::Json sorted(const Json& json) { return snug::Json::parse(json.dump()); }

// Fills the settings of an object as the reader of Keras's files does; returns the names that it
// asked for.
inline std::vector<std::string> read_settings(Configurable& object, const Json& config) {
  const snug::Json given = sorted(config);
  ConfigReader reader(given, "the config");
  object.settings(reader);
  return reader.names();
}

}  // namespace snug::testing
