#include "snug/data/class_sides.h"

#include <fmt/format.h>

#include "snug/data/csv_cell.h"

namespace snug {

void ClassSides::add(std::string_view name, bool is_in_tail) {
  auto found = counts_.find(name);
  if (found == counts_.end()) found = counts_.emplace(name, Sides{}).first;
  ++(is_in_tail ? found->second.tail : found->second.head);
}

std::map<std::string, int64_t> ClassSides::totals() const {
  std::map<std::string, int64_t> totals;
  for (const auto& [name, sides] : counts_) totals[name] = sides.head + sides.tail;
  return totals;
}

std::vector<std::string> ClassSides::problems(const std::set<std::string>& passed_over) const {
  std::vector<std::string> lines;
  for (const auto& [name, sides] : counts_) {
    if ((sides.head > 0 && sides.tail > 0) || passed_over.contains(name)) continue;
    const bool tail_only = sides.head == 0;
    const int64_t rows = sides.head + sides.tail;
    lines.push_back(fmt::format(
        "class {} has {}, all of them in the {} {:g} % of the rows: a validation_split of the tail "
        "would {}; shuffle the file, or split it at random",
        in_quotes(name), rows == 1 ? "1 row" : fmt::format("{} rows", rows),
        tail_only ? "last" : "first", 100 * (tail_only ? tail_ : 1 - tail_),
        tail_only ? "never train on it" : "never validate it"));
  }
  return lines;
}

}  // namespace snug
