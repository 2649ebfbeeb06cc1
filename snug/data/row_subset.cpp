#include "snug/data/row_subset.h"

#include <algorithm>
#include <bit>

#include "snug/base/error.h"
#include "snug/data/ordered.h"
#include "snug/data/renumbered.h"

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

class SubsetSource final : public RenumberedSource {
 public:
  SubsetSource(SourcePtr source, std::shared_ptr<const RowSubset> rows)
      : RenumberedSource(std::move(source)), rows_(std::move(rows)) {}

  size_t buffer_bytes() const override { return source_->buffer_bytes() + rows_->bytes(); }
  SourcePtr twin() override {
    SourcePtr twin = source_->twin();
    return twin ? std::make_shared<SubsetSource>(std::move(twin), rows_) : nullptr;
  }

 protected:
  int64_t size() const override { return rows_->count(); }
  void renumber(std::span<const int64_t> rows, std::span<int64_t> numbers) const override {
    for (size_t i = 0; i < rows.size(); ++i) numbers[i] = rows_->row(rows[i]);
  }

 private:
  std::shared_ptr<const RowSubset> rows_;
};

}  // namespace

SourcePtr subset(SourcePtr source, RowSubset rows) {
  return std::make_shared<SubsetSource>(pinned(std::move(source)),
                                        std::make_shared<const RowSubset>(std::move(rows)));
}

}  // namespace data
}  // namespace snug
