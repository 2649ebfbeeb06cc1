#include "snug/cli/yaml_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "snug/base/bytes.h"
#include "snug/base/nearest_word.h"

namespace snug::cli {
namespace {

std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "1/255" is how people write the factor of pixels.
std::optional<double> number_or_fraction(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return number(text);
  const auto above = number(text.substr(0, slash)), below = number(text.substr(slash + 1));
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

std::string shown(const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::null:
      return "empty";
    case YamlValue::Kind::list:
      return "a list";
    case YamlValue::Kind::map:
      return "a map of settings";
    case YamlValue::Kind::scalar:
      break;
  }
  return '"' + value.text + '"';
}

}  // namespace

const YamlValue* YamlValue::find(std::string_view key) const {
  const auto item = std::ranges::find(items, key, &YamlItem::key);
  return item == items.end() ? nullptr : &item->value;
}

YamlValue* YamlValue::find(std::string_view key) {
  return const_cast<YamlValue*>(std::as_const(*this).find(key));
}

YamlValue& YamlValue::at(std::string_view key, const std::string& place) {
  if (YamlValue* found = find(key)) return *found;
  kind = Kind::map;
  YamlItem item{.key = std::string(key), .where = place, .value = {}};
  item.value.where = place;
  item.value.path = path.empty() ? item.key : path + "." + item.key;
  items.push_back(std::move(item));
  return items.back().value;
}

void YamlValue::refuse(std::string_view expected) const {
  // {5:2} is one word.
  const bool is_joined = is_null() && path.find(':') != std::string::npos;
  fail("{} is {}; it must be {}{}", path.empty() ? "the run file" : path, shown(*this), expected,
       is_joined ? ", with a blank behind the colon" : "");
}

void YamlValue::refuse_word(std::string_view expected) const {
  const bool is_one =
      number_or_fraction(text) || same_word(text, "true") || same_word(text, "false");
  if (!is_scalar() || !quoted || !is_one) refuse(expected);
  fail("{} is \"{}\" in quotes, which make it a word; it must be {}: write it without them", path,
       text, expected);
}

bool YamlValue::as_bool() const {
  if (is_scalar() && !quoted) {
    if (same_word(text, "true")) return true;
    if (same_word(text, "false")) return false;
  }
  refuse_word("true or false");
}

int64_t YamlValue::as_int() const {
  const std::optional<double> value = is_scalar() && !quoted ? number(text) : std::nullopt;
  const double most = 9007199254740992.0;  // Doubles hold every whole number up to here.
  if (!value || *value != std::floor(*value) || std::abs(*value) > most) {
    refuse_word("a whole number");
  }
  return static_cast<int64_t>(*value);
}

double YamlValue::as_double() const {
  const auto value = is_scalar() && !quoted ? number_or_fraction(text) : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse_word("a number");
  return *value;
}

const std::string& YamlValue::as_text() const {
  if (!is_scalar()) refuse("a word");
  return text;
}

int64_t YamlValue::as_bytes() const {
  if (!is_scalar()) refuse("a number of bytes, such as 256MiB");
  return placed(where, [&] { return parse_bytes(text, path); });
}

std::vector<int64_t> YamlValue::as_ints() const {
  if (is_scalar()) return {as_int()};
  if (!is_list()) refuse("a list of whole numbers, such as [2, 2]");
  std::vector<int64_t> numbers;
  for (const YamlValue& value : list) numbers.push_back(value.as_int());
  return numbers;
}

std::vector<double> YamlValue::as_doubles() const {
  if (is_scalar()) return {as_double()};
  if (!is_list()) refuse("a list of numbers, such as [0.5, 1]");
  std::vector<double> numbers;
  for (const YamlValue& value : list) numbers.push_back(value.as_double());
  return numbers;
}

void YamlValue::expect_map(std::string_view what) const {
  if (!is_map()) refuse(what);
}

void YamlValue::set_text(std::string_view scalar) {
  kind = Kind::scalar;
  text = scalar;
  quoted = false;
  list.clear();
  items.clear();
}

void refuse_joined(const std::string& where, const std::string& word) {
  const size_t colon = word.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == word.size()) return;
  throw PlacedError(where, fmt::format("\"{}\" is one word; a colon has a blank behind it: {}: {}",
                                       word, word.substr(0, colon), word.substr(colon + 1)));
}

void refuse_key(const YamlItem& item, std::span<const std::string_view> words,
                std::string_view what) {
  if (item.value.is_null()) refuse_joined(item.where, item.key);
  if (words.empty())
    throw PlacedError(item.where, fmt::format("\"{}\" is no {}, which has none", item.key, what));
  throw PlacedError(item.where, fmt::format("\"{}\" is no {}; {}", item.key, what,
                                            did_you_mean(item.key, words, "")));
}

void expect_keys(const YamlValue& map, std::span<const std::string_view> words,
                 std::string_view what) {
  for (const YamlItem& item : map.items) {
    if (std::ranges::find(words, item.key) == words.end()) refuse_key(item, words, what);
  }
}

}  // namespace snug::cli
