#include "snug/train/step_cache.h"

#include <utility>

namespace snug {

int64_t BoundStep::bytes() const {
  return static_cast<int64_t>(arena.bytes()) + runner().bytes_to_bind() + runner().kernel_bytes();
}

// What is taken out is destroyed by the caller, outside of the lock: it takes a while.
StepCache::List StepCache::removed(List::iterator at) {
  bytes_ -= at->bytes;
  const auto [first, last] = of_owner_.equal_range(at->owner);
  for (auto it = first; it != last; ++it) {
    if (it->second != at) continue;
    of_owner_.erase(it);
    break;
  }
  List out;
  out.splice(out.begin(), kept_, at);
  return out;
}

StepCache::List StepCache::made_room() {
  List out;
  while (bytes_ > kMostBytes) out.splice(out.end(), removed(std::prev(kept_.end())));
  return out;
}

std::optional<BoundStep> StepCache::take(const Network& owner, const std::string& key) {
  List taken;
  {
    const std::scoped_lock lock(mutex_);
    const auto [first, last] = of_owner_.equal_range(&owner);
    for (auto it = first; it != last; ++it) {
      if (it->second->key != key) continue;
      taken = removed(it->second);
      break;
    }
  }
  if (taken.empty() || !taken.front().step.runner().stands_where_bound()) return std::nullopt;
  ++hits_;
  taken.front().step.runner().wake();
  return std::move(taken.front().step);
}

void StepCache::put(const Network& owner, std::string key, BoundStep step) {
  const int64_t bytes = step.bytes();
  if (bytes > kMostBytes) return;
  step.runner().rest();
  List one, dropped;
  one.push_front({&owner, std::move(key), std::move(step), bytes});
  const std::scoped_lock lock(mutex_);
  if (closed_ > 0) return;
  of_owner_.emplace(&owner, one.begin());
  kept_.splice(kept_.begin(), one);
  bytes_ += bytes;
  dropped = made_room();
}

void StepCache::drop(const Network& owner) {
  List dropped;
  const std::scoped_lock lock(mutex_);
  for (auto it = of_owner_.find(&owner); it != of_owner_.end(); it = of_owner_.find(&owner))
    dropped.splice(dropped.end(), removed(it->second));
}

void StepCache::drop_all() {
  List dropped;
  const std::scoped_lock lock(mutex_);
  dropped.swap(kept_);
  of_owner_.clear();
  bytes_ = 0;
}

void StepCache::close() {
  ++closed_;  // First: who has seen it open has put before drop_all() takes the lock.
  drop_all();
}

int64_t StepCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

int64_t StepCache::hits() const { return hits_; }

// Never destroyed: models that are may outlive everything else.
StepCache& step_cache() {
  static StepCache& cache = *new StepCache;
  return cache;
}

}  // namespace snug
