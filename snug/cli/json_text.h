// JSON as the program prints and keeps it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace snug::cli {

// On one line, or indented. Names of files need not be UTF-8: what is none is replaced.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// An object that was kept as text; an empty one where the text is none.
inline nlohmann::json json_object(std::string_view text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

}  // namespace snug::cli
