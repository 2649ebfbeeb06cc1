// JSON as the program prints and keeps it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace snug::cli {

// On one line, or indented. Names of files need not be UTF-8: what is none is replaced.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace snug::cli
