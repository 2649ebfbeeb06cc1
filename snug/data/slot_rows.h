// The same rows of several slots.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "snug/data/source.h"

namespace snug {

// Views on rows of the slots of a source's fields; allocates only where the fields are many.
class SlotRows {
 public:
  explicit SlotRows(std::span<const Tensor> slots) : slots_(slots) {
    if (slots.size() > few_.size()) many_.resize(slots.size());
  }
  SlotRows(const SlotRows&) = delete;
  SlotRows& operator=(const SlotRows&) = delete;

  // Rows [first, first + count) of each, valid until the next call.
  std::span<const Tensor> at(int64_t first, int64_t count) {
    const std::span<Tensor> views =
        many_.empty() ? std::span(few_).first(slots_.size()) : std::span(many_);
    for (size_t i = 0; i < slots_.size(); ++i) views[i] = rows_of(slots_[i], first, count);
    return views;
  }

 private:
  std::span<const Tensor> slots_;
  std::array<Tensor, 4> few_;
  std::vector<Tensor> many_;
};

}  // namespace snug
