// Steps that were planned and bound, kept for the next call of their kind: a loop of train_on_batch
// or predict plans once (docs/decisions/0024).
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "snug/tensor/arena.h"
#include "snug/train/fit_plan.h"

namespace snug {

class Network;

struct BoundStep {
  FitPlan plan;  // With one runner, bound to the arena and to nothing of a caller's.
  Arena arena;

  Runner& runner() const { return plan.training ? *plan.training : *plan.validation; }
  int64_t bytes() const;  // About: its arena, its kernels, what binding took.
  // What may be kept of a machine that leaves so much.
  static bool is_little(int64_t bytes, int64_t left) { return bytes <= left / 16; }
};

// One for the process; may be called from any thread. A step is out of it while it runs, so two
// threads that call one model each have their own.
class StepCache {
 public:
  // What all kept steps take together; the ones that were used longest ago make room.
  static constexpr int64_t kMostBytes = 32 << 20;

  // Takes the step of this key out; nullopt where there is none, or its variables stand elsewhere
  // by now.
  std::optional<BoundStep> take(const Network& owner, const std::string& key);
  void put(const Network& owner, std::string key, BoundStep step);
  // Gives back what is kept of one network, or of all: before a budget is planned with, as it
  // stands beside no plan's.
  void drop(const Network& owner);
  void drop_all();
  // The same, and until open() is called as often nothing is kept.
  void close();
  void open() { --closed_; }

  int64_t bytes() const;  // Of all.
  int64_t hits() const;   // Steps that were there when they were asked for.

 private:
  struct Kept {
    const Network* owner;
    std::string key;
    BoundStep step;
    int64_t bytes;
  };
  using List = std::list<Kept>;

  List removed(List::iterator at);
  List made_room();

  mutable std::mutex mutex_;
  List kept_;  // The last used first.
  std::unordered_multimap<const Network*, List::iterator> of_owner_;
  int64_t bytes_ = 0;
  std::atomic<int> closed_ = 0;  // So often.
  std::atomic<int64_t> hits_ = 0;
};

StepCache& step_cache();

// What runs within a budget: gives back all that is kept, and while it lives nothing is put there,
// whoever comes with it.
class NothingKept {
 public:
  NothingKept() { step_cache().close(); }
  ~NothingKept() { step_cache().open(); }
  NothingKept(const NothingKept&) = delete;
  NothingKept& operator=(const NothingKept&) = delete;
};

}  // namespace snug
