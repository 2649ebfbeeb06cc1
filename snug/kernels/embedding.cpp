#include "snug/kernels/embedding.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "snug/kernels/row_calls.h"
#include "snug/kernels/strided.h"
#include "snug/kernels/update.h"

namespace snug::kernels {
namespace {

bool is_row(int32_t index, int64_t rows) { return index >= 0 && index < rows; }

[[gnu::always_inline]] inline void call_for_index(const float* table, int64_t rows, int32_t index,
                                                  int64_t columns) {
  if (is_row(index, rows)) call_for_row(table + index * columns, columns);
}

// Slots of the hash table: a power of two, at most half full.
size_t slot_count(int64_t n) {
  return std::bit_ceil(static_cast<size_t>(2 * std::max<int64_t>(n, 1)));
}

// An open-addressing table from index to its place among the distinct ones, in the caller's memory.
class Places {
 public:
  Places(void* scratch, int64_t n)
      : slots_(static_cast<int32_t*>(scratch)),
        mask_(slot_count(n) - 1),
        shift_(64 - std::countr_zero(slot_count(n))) {
    std::fill_n(slots_, mask_ + 1, -1);
  }

  // The slot that holds the place of `index`, or the free one (-1) where it belongs.
  int32_t& slot(int32_t index, const int32_t* unique) const {
    // The upper bits of the product: the lower ones of even indices are even.
    size_t at = static_cast<uint32_t>(index) * uint64_t{0x9e3779b97f4a7c15} >> shift_;
    while (slots_[at] >= 0 && unique[slots_[at]] != index) at = (at + 1) & mask_;
    return slots_[at];
  }

 private:
  int32_t* slots_;
  size_t mask_;
  int shift_;
};

}  // namespace

void gather_rows(const float* table, int64_t table_rows, const int32_t* indices, float* y,
                 int64_t n, int64_t columns) noexcept {
  for (int64_t i = 0; i < std::min(n, kRowsAhead); ++i)
    call_for_index(table, table_rows, indices[i], columns);
  for (int64_t i = 0; i < n; ++i, y += columns) {
    if (i + kRowsAhead < n) call_for_index(table, table_rows, indices[i + kRowsAhead], columns);
    if (is_row(indices[i], table_rows)) {
      std::copy_n(table + indices[i] * columns, columns, y);
    } else {
      std::fill_n(y, columns, std::numeric_limits<float>::quiet_NaN());
    }
  }
}

size_t row_sums_scratch_bytes(int64_t n) noexcept { return slot_count(n) * sizeof(int32_t); }

int64_t row_sums(const int32_t* indices, const float* dy, int64_t n, int64_t columns,
                 int32_t* unique, float* sums, void* scratch) noexcept {
  const Places places(scratch, n);
  int32_t count = 0;
  for (int64_t i = 0; i < n; ++i, dy += columns) {
    int32_t& place = places.slot(indices[i], unique);
    if (place < 0) {
      unique[count] = indices[i];
      std::copy_n(dy, columns, sums + count * columns);
      place = count++;
    } else {
      axpy(1.0f, dy, sums + place * columns, columns);
    }
  }
  return count;
}

void scatter_add(const int32_t* indices, const float* dy, int64_t n, int64_t columns, float* table,
                 int64_t table_rows) noexcept {
  for (int64_t i = 0; i < n; ++i, dy += columns) {
    if (is_row(indices[i], table_rows)) axpy(1.0f, dy, table + indices[i] * columns, columns);
  }
}

void one_hot(const int32_t* labels, float* y, int64_t n, int64_t columns, float on,
             float off) noexcept {
  fill(off, y, n * columns);
  for (int64_t i = 0; i < n; ++i) {
    if (is_row(labels[i], columns)) y[i * columns + labels[i]] = on;
  }
}

}  // namespace snug::kernels
