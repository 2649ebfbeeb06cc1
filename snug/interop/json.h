// JSON from files that nobody vouches for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace snug {

using Json = nlohmann::json;                 // What was read: by key.
using OrderedJson = nlohmann::ordered_json;  // What is written: in Keras's order.

// Throws Error, beginning with `where`, for text that is no JSON, that nests deeper than 100 levels
// or that holds more than a million values.
Json parse_json(std::string_view text, std::string_view where);

// A value in a message: as JSON, cut short.
std::string shown(const Json& value);

// The text at `key`; empty where there is none or it is no text.
std::string text_at(const Json& object, const char* key);

}  // namespace snug
