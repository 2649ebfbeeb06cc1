#include "snug/cli/json_text.h"

namespace snug::cli {
namespace {

template <typename Json>
std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_text(const nlohmann::json& json, int indent) { return dumped(json, indent); }

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return dumped(json, indent);
}

nlohmann::json json_object(std::string_view text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

}  // namespace snug::cli
