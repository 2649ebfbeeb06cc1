#include "snug/interop/json.h"

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr int kDeepest = 100;
constexpr int64_t kMostValues = 1'000'000;

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  int64_t values = 0;
  const auto watch = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest)
      throw Error("{}: it nests deeper than {} levels; no model does", where, kDeepest);
    if (++values > kMostValues)
      throw Error("{}: it has more than {} values; no model does", where, kMostValues);
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    throw Error("{}: it is not JSON ({}); the file is damaged", where, error.what());
  }
}

std::string shown(const Json& value) {
  constexpr size_t kMost = 80;
  // Depth is bounded by parse_json, so dump's recursion is too.
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

std::string text_at(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace snug
