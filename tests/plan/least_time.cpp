// Dijkstra's algorithm over what has run and what is there. The first execution of a node costs
// nothing here, because every sequence has it: only what runs again is counted.
#include "tests/plan/least_time.h"

#include <bit>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "snug/base/error.h"

namespace snug::testing {
namespace {

constexpr size_t kMostStates = 6'000'000;

using Mask = uint32_t;

struct State {
  Mask ran = 0, there = 0;
  uint64_t key() const { return uint64_t{ran} << 32 | there; }
};

class Everything {
 public:
  Everything(const Problem& problem, int64_t limit) : problem_(problem), limit_(limit) {
    SNUG_CHECK(problem.nodes.size() <= 32 && problem.values.size() <= 32, "too large");
    for (const ProblemNode& node : problem.nodes) {
      reads_.push_back(mask(node.in));
      writes_.push_back(mask(node.out));
      base_ns_ += node.cost_ns;
    }
    for (size_t v = 0; v < problem.values.size(); ++v) {
      const Mask bit = Mask{1} << v;
      if (problem.values[v].given) given_ |= bit;
      if (problem.values[v].pinned) pinned_ |= bit;
      if (problem.values[v].given && problem.values[v].pinned) stays_ |= bit;
    }
  }

  Truth run() {
    if (bytes(given_) > limit_) return {.complete = true};
    reach({0, given_}, 0);
    while (!queue_.empty()) {
      const auto [again_ns, key] = queue_.top();
      queue_.pop();
      if (again_ns > least_.at(key)) continue;
      const State state{static_cast<Mask>(key >> 32), static_cast<Mask>(key)};
      if (is_end(state)) return {.complete = true, .least_ns = base_ns_ + again_ns};
      if (least_.size() > kMostStates) return {};
      go_on(state, again_ns);
    }
    return {.complete = true};
  }

 private:
  static Mask mask(const std::vector<int>& values) {
    Mask result = 0;
    for (const int v : values) result |= Mask{1} << v;
    return result;
  }

  bool is_end(const State& state) const {
    return std::popcount(state.ran) == static_cast<int>(problem_.nodes.size()) &&
           (state.there & pinned_) == pinned_;
  }

  int64_t bytes(Mask values) const {
    int64_t sum = 0;
    for (; values != 0; values &= values - 1)
      sum += problem_.values[std::countr_zero(values)].bytes;
    return sum;
  }

  void reach(const State& state, double again_ns) {
    const auto [known, is_new] = least_.try_emplace(state.key(), again_ns);
    if (!is_new && known->second <= again_ns) return;
    known->second = again_ns;
    queue_.push({again_ns, state.key()});
  }

  void go_on(const State& state, double again_ns) {
    for (Mask rest = state.there & ~stays_; rest != 0; rest &= rest - 1)
      reach({state.ran, state.there & ~(rest & -rest)}, again_ns);
    for (size_t n = 0; n < reads_.size(); ++n) {
      const Mask after = state.there | writes_[n], bit = Mask{1} << n;
      if ((reads_[n] & ~state.there) != 0 || bytes(after) > limit_) continue;
      const bool is_first = (state.ran & bit) == 0;
      reach({state.ran | bit, after}, again_ns + (is_first ? 0 : problem_.nodes[n].cost_ns));
    }
  }

  const Problem& problem_;
  int64_t limit_;
  double base_ns_ = 0;
  std::vector<Mask> reads_, writes_;
  Mask given_ = 0, pinned_ = 0, stays_ = 0;
  std::unordered_map<uint64_t, double> least_;
  using Entry = std::pair<double, uint64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

Truth least_time(const Problem& problem, int64_t limit) { return Everything(problem, limit).run(); }

}  // namespace snug::testing
