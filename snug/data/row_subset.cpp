#include "snug/data/row_subset.h"

#include <algorithm>
#include <array>
#include <bit>

#include "snug/base/error.h"

namespace snug {

void RowSubset::finish() {
  before_.clear();
  count_ = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    if (i % kStride == 0) before_.push_back(count_);
    count_ += std::popcount(words_[i]);
  }
}

int64_t RowSubset::row(int64_t number) const {
  SNUG_CHECK(number >= 0 && number < count_);
  const auto after = std::ranges::upper_bound(before_, number);
  auto word = static_cast<size_t>(after - before_.begin() - 1) * kStride;
  int64_t left = number - *(after - 1);
  for (int64_t here = std::popcount(words_[word]); here <= left;
       here = std::popcount(words_[++word])) {
    left -= here;
  }
  uint64_t bits = words_[word];
  for (; left > 0; --left) bits &= bits - 1;
  return static_cast<int64_t>(word) * 64 + std::countr_zero(bits);
}

RowSubset RowSubset::rest() const {
  RowSubset rest(size_);
  for (size_t i = 0; i < words_.size(); ++i) rest.words_[i] = ~words_[i];
  if (size_ % 64 != 0) rest.words_.back() &= (uint64_t{1} << (size_ % 64)) - 1;
  rest.finish();
  return rest;
}

namespace data {
namespace {

class SubsetSource final : public Source {
 public:
  SubsetSource(SourcePtr source, RowSubset rows)
      : source_(std::move(source)), rows_(std::move(rows)) {
    SNUG_CHECK(source_->access() == Access::random);
  }

  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return rows_.count(); }
  Access access() const override { return Access::random; }
  size_t buffer_bytes() const override { return source_->buffer_bytes() + rows_.bytes(); }
  std::string place(int field, int64_t row) override {
    return source_->place(field, rows_.row(row));
  }

  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    read_numbered(field, std::ssize(rows), slot, [&](int64_t i) { return rows[i]; });
  }

  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    const int64_t rows = std::min(count, rows_.count() - position_);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].data == nullptr) continue;
      read_numbered(static_cast<int>(i), rows, slots[i],
                    [&](int64_t row) { return position_ + row; });
    }
    position_ += rows;
    return rows;
  }

  void restart() override { position_ = 0; }
  void begin_pass(uint64_t pass) override {
    source_->begin_pass(pass);
    position_ = 0;
  }

 private:
  // A few rows at a time, so that nothing is allocated.
  template <typename Position>
  void read_numbered(int field, int64_t count, const Tensor& slot, const Position& position) {
    std::array<int64_t, 256> numbers{};
    for (int64_t done = 0; done < count; done += std::ssize(numbers)) {
      const int64_t some = std::min<int64_t>(std::ssize(numbers), count - done);
      for (int64_t i = 0; i < some; ++i) numbers[i] = rows_.row(position(done + i));
      source_->read(field, std::span(numbers).first(some), rows_of(slot, done, some));
    }
  }

  SourcePtr source_;
  RowSubset rows_;
  int64_t position_ = 0;
};

}  // namespace

SourcePtr subset(SourcePtr source, RowSubset rows) {
  return std::make_shared<SubsetSource>(std::move(source), std::move(rows));
}

}  // namespace data
}  // namespace snug
