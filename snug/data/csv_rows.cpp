#include "snug/data/csv_rows.h"

#include "snug/base/error.h"

namespace snug {

void SampledIndex::add(const CsvPlace& place) {
  if (rows_ % stride_ == 0) {
    if (places_.size() == most_) {
      for (size_t i = 0; 2 * i < places_.size(); ++i) places_[i] = places_[2 * i];
      places_.resize(most_ / 2);
      stride_ *= 2;
    }
    if (rows_ % stride_ == 0) places_.push_back(place);
  }
  ++rows_;
}

SampledIndex::Sample SampledIndex::before(int64_t row) const {
  SNUG_CHECK(row >= 0 && row < rows_);
  return {row / stride_ * stride_, places_[static_cast<size_t>(row / stride_)]};
}

ParsedRows::ParsedRows(FileSystem& files, const CsvTableOptions& table, const Columns& columns,
                       SampledIndex index, bool impute)
    : files_(files),
      table_(files, table),
      encoder_(columns),
      index_(std::move(index)),
      impute_(impute),
      identity_(identity_of(files, table.files)),
      passed_(encoder_.words()) {}

void ParsedRows::check() {
  if (identity_of(files_, table_.paths()) == identity_) return;
  throw FileError("{}: it was changed during the run; leave the file alone and start again",
                  table_.paths()[0].string());
}

void ParsedRows::read(int64_t first, std::span<uint32_t> rows) {
  const SampledIndex::Sample sample = index_.before(first);
  if (next_ < sample.row || next_ > first) {
    table_.seek(sample.place);
    next_ = sample.row;
  }
  while (next_ < first) parse_next(passed_);
  const size_t words = passed_.size();
  for (size_t at = 0; at < rows.size(); at += words) parse_next(rows.subspan(at, words));
}

void ParsedRows::parse_next(std::span<uint32_t> row) {
  while (table_.next(record_)) {
    if (encoder_.encode(record_, impute_, row, imputed_)) continue;
    ++next_;
    return;
  }
  next_ = -1;
  throw FileError(
      "{}: it ended before its {} rows were read, so it was changed during the run; start again",
      table_.file_name(), index_.rows());
}

}  // namespace snug
