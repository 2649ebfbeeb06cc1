#include "snug/data/random_source.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {

void RandomSource::set_fields(std::vector<Field> fields, std::span<const int64_t> rows) {
  check_fields(fields, rows);
  fields_ = std::move(fields);
  rows_ = rows[0];
}

void RandomSource::read(int field, std::span<const int64_t> rows, const Tensor& slot) {
  const int64_t elements = fields_[field].row.size();
  SNUG_CHECK(slot.size() >= std::ssize(rows) * elements, "a slot of {} for {} rows of {}",
             slot.type.text(), rows.size(), fields_[field].row.text());
  const size_t slot_row = static_cast<size_t>(elements) * size_of(slot.dtype());
  auto* to = static_cast<std::byte*>(slot.data);
  for (size_t i = 0; i < rows.size();) {
    size_t run = 1;
    while (i + run < rows.size() && rows[i + run] == rows[i] + static_cast<int64_t>(run)) ++run;
    SNUG_CHECK(rows[i] >= 0 && rows[i] + static_cast<int64_t>(run) <= rows_, "row {} of {}",
               rows[i], rows_);
    read_run(field, rows[i], static_cast<int64_t>(run), to + i * slot_row, slot.dtype());
    i += run;
  }
}

int64_t RandomSource::next(int64_t count, std::span<const Tensor> slots) {
  const int64_t rows = std::min(count, rows_ - position_);
  if (rows == 0) return 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].data == nullptr) continue;
    read_run(static_cast<int>(i), position_, rows, slots[i].data, slots[i].dtype());
  }
  position_ += rows;
  return rows;
}

}  // namespace snug
