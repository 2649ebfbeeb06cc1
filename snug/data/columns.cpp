#include "snug/data/columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"

namespace snug {
namespace {

constexpr std::array<std::string_view, 8> kUses = {"drop",  "standardise", "min_max", "log",
                                                   "as_is", "one_hot",     "index",   "hash"};
constexpr std::array<std::string_view, 6> kRules = {"refuse", "mean",     "value",
                                                    "flag",   "category", "median"};

}  // namespace

std::string_view name_of(ColumnUse use) { return kUses[static_cast<size_t>(use)]; }
std::string_view name_of(MissingRule rule) { return kRules[static_cast<size_t>(rule)]; }

ColumnUse column_use(std::string_view word) {
  for (size_t i = 0; i < kUses.size(); ++i) {
    if (same_word(kUses[i], word)) return static_cast<ColumnUse>(i);
  }
  if (same_word(word, "standardize")) return ColumnUse::standardise;
  if (same_word(word, "classes")) return ColumnUse::index;
  throw Error("\"{}\" is no use of a column; {}", word, did_you_mean(word, kUses, ""));
}

int64_t Column::width() const {
  switch (use) {
    case ColumnUse::drop:
      return 0;
    case ColumnUse::one_hot:
      return std::ssize(vocabulary);
    case ColumnUse::hash:
      return buckets;
    case ColumnUse::index:
      return 1;
    default:
      return missing == MissingRule::flag ? 2 : 1;
  }
}

float Column::scaled(double number) const {
  number = std::clamp(number, low, high);
  if (use == ColumnUse::log) number = std::log1p(number);
  return static_cast<float>((number - shift) * scale);
}

void Column::expand(uint32_t bits, float* to) const {
  if (use == ColumnUse::one_hot || use == ColumnUse::hash) {
    std::fill_n(to, width(), 0.0f);
    if (bits != kNoCategory) to[bits] = 1;
    return;
  }
  if (use == ColumnUse::index) {
    // A missing category comes after those that are known.
    to[0] = static_cast<float>(bits == kNoCategory ? vocabulary.size() : bits);
    return;
  }
  const bool is_missing = bits == kNoNumber;
  to[0] = is_missing ? scaled(missing_value) : std::bit_cast<float>(bits);
  if (missing == MissingRule::flag) to[1] = is_missing ? 1 : 0;
}

bool Columns::is_input(const Column& column) const {
  return column.use != ColumnUse::drop && column.name != weight &&
         std::ranges::find(labels, column.name) == labels.end();
}

int64_t Columns::input_width() const {
  int64_t width = 0;
  for (const Column& column : columns) width += is_input(column) ? column.width() : 0;
  return width;
}

const Column* Columns::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

std::string Columns::text() const {
  size_t longest = 6;
  for (const Column& column : columns) longest = std::max(longest, column.name.size());
  longest = std::min<size_t>(longest, 24);
  std::string text;
  for (const Column& column : columns) {
    const bool label = std::ranges::find(labels, column.name) != labels.end();
    text += fmt::format("  {:<{}}  {:<6}  {:<12}  {}\n", column.name, longest,
                        label ? "label" : (column.name == weight ? "weight" : "input"),
                        name_of(column.use), column.note);
  }
  return text;
}

}  // namespace snug
