// What every source must hold to, and slots for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/source.h"

namespace snug::testing {

// A slot that owns its elements.
template <typename T>
class OwnedSlot {
 public:
  OwnedSlot(int64_t rows, const Shape& row) {
    Shape shape{rows};
    for (const Extent extent : row.extents()) shape.push_back(extent);
    values_.resize(static_cast<size_t>(shape.size()));
    tensor_ = {{kDType<T>, shape}, values_.data()};
  }
  const Tensor& tensor() const { return tensor_; }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
  Tensor tensor_;
};

template <typename T = float>
std::vector<T> read_rows(Source& source, int field, const std::vector<int64_t>& rows) {
  OwnedSlot<T> slot(std::ssize(rows), source.fields()[field].row);
  source.read(field, rows, slot.tensor());
  return slot.values();
}

// What one pass gives of a field, read in sequence `count` rows at a time, all other fields without
// a slot.
template <typename T = float>
std::vector<T> rest_of(Source& source, int field, int64_t count) {
  std::vector<T> all;
  const Shape& row = source.fields()[field].row;
  while (true) {
    OwnedSlot<T> slot(count, row);
    std::vector<Tensor> slots(source.fields().size());
    slots[field] = slot.tensor();
    const int64_t rows = source.next(count, slots);
    EXPECT_LE(rows, count);
    all.insert(all.end(), slot.values().begin(), slot.values().begin() + rows * row.size());
    if (rows < count) {
      EXPECT_EQ(source.next(count, slots), 0) << "rows after the end";
      return all;
    }
  }
}

// The message of the error of this kind that `call` throws.
template <typename Kind = Error, typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Kind& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_within(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

// Random access gives what sequential access gives, in any order and in pieces of any size; a slot
// of another type gives the same numbers. For sources whose numbers are small and whole.
inline void expect_random_source(Source& source) {
  ASSERT_EQ(source.access(), Access::random);
  ASSERT_TRUE(source.rows());
  const int64_t rows = *source.rows();
  std::vector<int64_t> forward(rows);
  for (int64_t i = 0; i < rows; ++i) forward[i] = i;
  const std::vector<int64_t> backward(forward.rbegin(), forward.rend());
  for (int field = 0; field < std::ssize(source.fields()); ++field) {
    const int64_t width = source.fields()[field].row.size();
    const std::vector<float> all = read_rows(source, field, forward);
    for (const int64_t count : {int64_t{1}, int64_t{3}, rows, rows + 5}) {
      source.begin_pass(0);
      EXPECT_EQ(rest_of(source, field, count), all);
    }
    const std::vector<float> turned = read_rows(source, field, backward);
    for (int64_t row = 0; row < rows; ++row) {
      EXPECT_TRUE(std::equal(all.begin() + row * width, all.begin() + (row + 1) * width,
                             turned.begin() + (rows - 1 - row) * width));
    }
    const std::vector<int32_t> whole = read_rows<int32_t>(source, field, forward);
    EXPECT_TRUE(std::ranges::equal(all, whole));
    if (const void* lent = source.borrow(field, 0, rows, DType::float32)) {
      EXPECT_TRUE(std::equal(all.begin(), all.end(), static_cast<const float*>(lent)));
    }
  }
}

}  // namespace snug::testing
