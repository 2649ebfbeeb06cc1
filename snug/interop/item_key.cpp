#include "snug/interop/item_key.h"

#include "snug/base/error.h"
#include "snug/interop/declared_sizes.h"

namespace snug {
namespace {

using Kind = ops::Index::Kind;

OrderedJson number_json(const std::optional<int64_t>& number) {
  return number ? OrderedJson(*number) : OrderedJson(nullptr);
}

OrderedJson index_json(const ops::Index& index) {
  switch (index.kind) {
    case Kind::at:
      return *index.start;
    case Kind::new_axis:
      return nullptr;
    case Kind::ellipsis:
      return {{"class_name", "__ellipsis__"}, {"config", OrderedJson::object()}};
    case Kind::range:
      break;
  }
  return {{"class_name", "__slice__"},
          {"config",
           {{"start", number_json(index.start)},
            {"stop", number_json(index.stop)},
            {"step", number_json(index.step)}}}};
}

std::optional<int64_t> number_at(const Json& json, const Json& whole) {
  if (json.is_null()) return std::nullopt;
  const bool is_whole = json.is_number_integer();
  if (is_whole && (!json.is_number_unsigned() || json.get<uint64_t>() <= kLargestSetting)) {
    const auto number = json.get<int64_t>();
    if (number >= -kLargestSetting && number <= kLargestSetting) return number;
  }
  throw Error("it is called with the index {}; Snug has numbers, slices, None and ...",
              shown(whole));
}

ops::Index read_index(const Json& json) {
  if (json.is_null()) return ops::kNewAxis;
  if (!json.is_object()) return *number_at(json, json);
  const std::string word = text_at(json, "class_name");
  const Json config = json.value("config", Json::object());
  if (word == "__ellipsis__") return ops::kEllipsis;
  if (word != "__slice__" || !config.is_object()) number_at(json, json);
  const auto part = [&](const char* key) { return number_at(config.value(key, Json()), json); };
  return ops::range(part("start"), part("stop"), part("step"));
}

}  // namespace

OrderedJson write_key(const std::vector<ops::Index>& key) {
  OrderedJson list = OrderedJson::array();
  for (const ops::Index& index : key) list.push_back(index_json(index));
  return list;
}

std::vector<ops::Index> read_key(const Json& json) {
  if (!json.is_array()) return {read_index(json)};
  std::vector<ops::Index> key;
  for (const Json& index : json) key.push_back(read_index(index));
  return key;
}

}  // namespace snug
