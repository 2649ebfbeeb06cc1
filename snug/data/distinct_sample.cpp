#include "snug/data/distinct_sample.h"

#include <algorithm>

namespace snug {

void DistinctSample::add(uint64_t hash) {
  if (!is_sampled(hash)) return;
  const auto at = std::ranges::lower_bound(hashes_, hash);
  if (at != hashes_.end() && *at == hash) return;
  hashes_.insert(at, hash);
  while (hashes_.size() > most_ && zeros_ < 63) {
    ++zeros_;
    std::erase_if(hashes_, [&](uint64_t held) { return !is_sampled(held); });
  }
}

// A hash that the other one has not held for its zeros is not sampled here either: there are as
// many different ones in both together at least.
void DistinctSample::merge(const DistinctSample& other) {
  if (other.zeros_ > zeros_) {
    zeros_ = other.zeros_;
    std::erase_if(hashes_, [&](uint64_t held) { return !is_sampled(held); });
  }
  for (const uint64_t hash : other.hashes_) add(hash);
}

}  // namespace snug
