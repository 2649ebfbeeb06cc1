#include "snug/data/random_source.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {

void RandomSource::set_fields(std::vector<Field> fields, std::span<const int64_t> rows) {
  check_fields(fields, rows);
  fields_ = std::move(fields);
  rows_ = rows[0];
}

std::byte* RandomSource::slot_row(int field, const Tensor& slot, int64_t at) const {
  const int64_t element = at * fields_[field].row.size();
  return static_cast<std::byte*>(slot.data) + static_cast<size_t>(element) * size_of(slot.dtype());
}

// Calls visit(i, run) for each stretch of neighbours: rows[i], rows[i] + 1, ... `run` of them.
template <typename Visit>
void RandomSource::each_run(std::span<const int64_t> rows, const Visit& visit) const {
  for (size_t i = 0; i < rows.size();) {
    size_t run = 1;
    while (i + run < rows.size() && rows[i + run] == rows[i] + static_cast<int64_t>(run)) ++run;
    SNUG_CHECK(rows[i] >= 0 && rows[i] + static_cast<int64_t>(run) <= rows_, "row {} of {}",
               rows[i], rows_);
    visit(static_cast<int64_t>(i), static_cast<int64_t>(run));
    i += run;
  }
}

void RandomSource::read(int field, std::span<const int64_t> rows, const Tensor& slot) {
  SNUG_CHECK(slot.size() >= std::ssize(rows) * fields_[field].row.size(),
             "a slot of {} for {} rows of {}", slot.type.text(), rows.size(),
             fields_[field].row.text());
  each_run(rows, [&](int64_t i, int64_t run) {
    read_run(field, rows[i], run, slot_row(field, slot, i), slot.dtype());
  });
}

void RandomSource::read_rows_by_runs(std::span<const int64_t> rows,
                                     std::span<const Tensor> slots) {
  each_run(rows, [&](int64_t i, int64_t run) { read_run_of_all(rows[i], run, slots, i); });
}

void RandomSource::read_run_of_all(int64_t first, int64_t count, std::span<const Tensor> slots,
                                   int64_t at) {
  for (int field = 0; field < std::ssize(slots); ++field) {
    const Tensor& slot = slots[field];
    if (slot.data == nullptr) continue;
    read_run(field, first, count, slot_row(field, slot, at), slot.dtype());
  }
}

int64_t RandomSource::next(int64_t count, std::span<const Tensor> slots) {
  const int64_t rows = std::min(count, rows_ - position_);
  if (rows == 0) return 0;
  read_run_of_all(position_, rows, slots, 0);
  position_ += rows;
  return rows;
}

}  // namespace snug
