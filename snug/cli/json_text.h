// JSON as the program prints and keeps it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace snug::cli {

// On one line, or indented. Names of files need not be UTF-8: what is none is replaced.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

// An object that was kept as text; an empty one where the text is none.
nlohmann::json json_object(std::string_view text);

}  // namespace snug::cli
