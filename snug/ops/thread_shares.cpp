#include "snug/ops/thread_shares.h"

#include <algorithm>

namespace snug::ops {

void ThreadShares::add(int64_t size, bool large) {
  arrays_.push_back({large ? -1 : together_, size});
  if (!large) together_ += size;
}

ThreadShares::Range ThreadShares::share(size_t array, int part, int parts) const {
  const auto& [first, size] = arrays_[array];
  if (first < 0) return cut(size, part, parts);
  const Range range = cut(together_, part, parts);
  return {std::max<int64_t>(range.begin - first, 0), std::min(range.end - first, size)};
}

ThreadShares::Range ThreadShares::cut(int64_t size, int part, int parts) const {
  const int64_t blocks = (size + grain_ - 1) / grain_;
  return {blocks * part / parts * grain_, std::min(size, blocks * (part + 1) / parts * grain_)};
}

}  // namespace snug::ops
