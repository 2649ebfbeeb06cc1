// Objects from a run file: a word ("adam"), or a map with the word and its settings
// ({adam: {learning_rate: 1e-3}}), or with its main setting alone ({l2: 0.01}).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "snug/base/settings.h"
#include "snug/cli/yaml_value.h"

namespace snug::cli {

// A word and what is said about it.
struct NamedSettings {
  std::string name;
  const YamlValue* settings;  // Null where there is nothing but the word.
  std::string where;
};
// Throws Error where the value is neither of the two; `what` it should be: "an optimizer".
NamedSettings named_settings(const YamlValue& value, std::string_view what);

struct ReadOptions {
  // What a value that is no map stands for; empty: nothing. Not given: the first setting that is
  // not a name, a seed or a reduction.
  std::optional<std::string_view> main_setting;
  // Keys that the caller reads itself.
  std::span<const std::string_view> others = {};
};

// Fills in the settings that the value gives. Throws Error, which names the line and the nearest
// right word, for a key that is no setting of the object, and for a value of the wrong kind.
void read_settings(const NamedSettings& from, Configurable& object,
                   const ReadOptions& options = {});

}  // namespace snug::cli
