#include "snug/data/bad_row_list.h"

namespace snug {

void BadRowList::clear() {
  count_ = 0;
  rows_.clear();
  text_.clear();
}

BadRowList::Part BadRowList::keep(std::string_view text) {
  const auto begin = static_cast<uint32_t>(text_.size());
  text_.append(text.substr(0, BadRow::kMostText));
  return {begin, static_cast<uint32_t>(text_.size())};
}

std::string_view BadRowList::text_of(const Part& part) const {
  return std::string_view(text_).substr(part.begin, part.end - part.begin);
}

void BadRowList::add(const RowProblem& problem, const CsvRecord& record, BadRowPolicy policy) {
  const bool is_first = count_ == 0;
  count_ += record.rows();
  if (!is_first && policy != BadRowPolicy::quarantine) return;
  Row row{.line = static_cast<uint32_t>(record.line), .column = problem.column};
  row.value = keep(problem.value);
  row.record = keep(record.text);
  // Many rows in turn have the same problem.
  const bool same = !rows_.empty() && text_of(rows_.back().problem) == problem.expected;
  row.problem = same ? rows_.back().problem : keep(problem.expected);
  rows_.push_back(row);
}

void BadRowList::give(const std::string& file, const std::vector<std::string>& names,
                      BadRows& to) const {
  for (const Row& row : rows_) {
    to.add({.file = file,
            .position = fmt::format("line {}", row.line),
            .column = row.column < 0 ? "" : names[static_cast<size_t>(row.column)],
            .value = std::string(text_of(row.value)),
            .problem = std::string(text_of(row.problem)),
            .record = std::string(text_of(row.record))});
  }
  to.count_more(count_ - std::ssize(rows_));
}

}  // namespace snug
