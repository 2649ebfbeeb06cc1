#include "snug/plan/spill.h"

#include <algorithm>
#include <array>
#include <span>

#include "snug/plan/layout.h"
#include "snug/plan/transfers.h"

namespace snug {
namespace {

// Smaller values are not worth a transfer.
constexpr int64_t kLeastBytes = 16 << 10;

// Of the disk's time, that a transfer is taken to cost: none but its start, up to all of it.
// With the first, every value that waits may go to the file, whatever it costs.
constexpr std::array kShares = {1.0, 0.6, 0.3, 0.2, 0.1, 0.05, 0.02};
constexpr std::array kFewShares = {1.0, 0.3, 0.1, 0.02};  // Of a long program: each takes time.
constexpr int kLongProgram = 800;                         // Units.

// Live bytes can be brought under the capacity and the offsets still miss it: then the live bytes
// get that much less.
constexpr int kTries = 4;

}  // namespace

Spiller::Spiller(const Problem& problem, const UnitGraph& graph, const DiskSpeed& disk,
                 int64_t most_bytes)
    : problem_(problem), graph_(graph), disk_(disk), most_bytes_(most_bytes) {}

// The values that nobody touches for a while in which the program is above the limit.
std::vector<char> Spiller::waiting(int64_t limit) const {
  const Timeline timeline(graph_, graph_.program());
  std::vector<int> above{0};  // Positions before p that are above the limit.
  for (const int64_t live : timeline.live()) above.push_back(above.back() + (live > limit ? 1 : 0));
  std::vector<char> waits(graph_.bytes.size(), 0);
  for (int v = 0; v < static_cast<int>(waits.size()); ++v) {
    const int producer = graph_.producer[v];
    if (producer < 0 || graph_.given[v] || problem_.values[v].bytes < kLeastBytes) continue;
    if (!graph_.units[producer].pure || graph_.units[producer].section != 0) continue;
    const std::span<const Touch> touches = timeline.touches(v);
    for (size_t i = 1; i < touches.size(); ++i) {
      const int from = touches[i - 1].position + 1, to = touches[i].position;
      if (!touches[i].write && to > from && above[to] > above[from]) waits[v] = 1;
    }
  }
  return waits;
}

// What it takes to compute each value again from what waits, too, or is always there.
std::vector<double> Spiller::remake_ns(const std::vector<char>& waits) const {
  std::vector<double> cost(graph_.bytes.size(), 0);
  for (int u = 0; u < graph_.program_size; ++u) {
    for (const int out : graph_.units[u].out) {
      const Unit& unit = graph_.units[graph_.producer[out]];
      cost[out] = unit.cost_ns;
      for (const int in : unit.in) cost[out] += waits[in] ? 0 : cost[in];
    }
  }
  return cost;
}

std::vector<double> Spiller::prices(int64_t limit, double share) const {
  const std::vector<char> waits = waiting(limit);
  const std::vector<double> again = remake_ns(waits);
  std::vector<double> prices(waits.size(), 0);
  for (size_t v = 0; v < waits.size(); ++v) {
    if (!waits[v]) continue;
    const int64_t bytes = whole_pages(problem_.values[v].bytes);
    const double price =
        share * (disk_.read_ns(bytes) + disk_.write_ns(bytes)) + 2 * disk_.drag_ns(bytes);
    if (share == kShares.front() || price < again[v]) prices[v] = price;
  }
  return prices;
}

// With as much room for transfers beside the computation as placement leaves.
std::optional<Plan> Spiller::lay_out_spilled(const Timeline& timeline, int64_t capacity,
                                             Aim aim) const {
  std::optional<Plan> plan;
  int64_t room = capacity;
  for (int i = 0; i < kTries; ++i) {
    std::optional<SpillSchedule> spilled = spill_schedule(problem_, timeline, room, disk_);
    if (!spilled || spilled->file_bytes > most_bytes_) return plan;
    plan = lay_out(with_transfers(problem_, spilled->transfers), spilled->schedule, capacity, aim);
    plan->transfers = std::move(spilled->transfers);
    plan->file_bytes = spilled->file_bytes;
    if (plan->arena_bytes <= capacity) break;
    room = i + 2 == kTries ? 0 : room - (plan->arena_bytes - capacity);
  }
  return plan;
}

std::optional<Plan> Spiller::squeeze(int64_t capacity, Effort effort, double share,
                                     const SequenceSearch& search) const {
  const std::vector<double> price = prices(capacity, share);
  if (std::ranges::all_of(price, [](double ns) { return ns <= 0; })) return {};
  const UnitGraph graph = with_reads(problem_, graph_, price);
  const Aim aim = effort == Effort::quick ? Aim::quickly : Aim::capacity;
  int64_t limit = capacity;
  for (int i = 0; i < kTries; ++i) {
    const auto sequence = search(graph, limit, effort);
    if (!sequence) return {};
    std::optional<Plan> plan = lay_out_spilled(Timeline(graph, *sequence), capacity, aim);
    if (!plan || plan->arena_bytes <= capacity) return plan;
    limit -= plan->arena_bytes - capacity;
  }
  return {};
}

std::optional<Plan> Spiller::plan(int64_t capacity, Effort effort,
                                  const SequenceSearch& search) const {
  if (effort == Effort::quick) return squeeze(capacity, effort, kShares.front(), search);
  std::optional<Plan> best;
  double best_share = 0;
  const auto consider = [&](double share, Effort with) {
    std::optional<Plan> plan = squeeze(capacity, with, share, search);
    if (!plan) return;
    plan->step_ns = predicted_ns(problem_, *plan);
    if (best && plan->step_ns >= best->step_ns) return;
    best = std::move(plan);
    best_share = share;
  };
  const bool is_long = graph_.program_size > kLongProgram;
  for (const double share : is_long ? std::span<const double>(kFewShares) : kShares) {
    consider(share, Effort::quick);
    if (!best) return {};
  }
  consider(best_share, Effort::full);
  return best;
}

}  // namespace snug
