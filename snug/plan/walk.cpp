#include "snug/plan/walk.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace snug {
namespace {

constexpr size_t kLookBack = 40;     // Units that an estimate of a value's cost looks at.
constexpr int kLongestFactor = 10;   // A sequence longer than this many programs is no answer,
constexpr size_t kLongest = 20'000;  // unless it is shorter than this.
constexpr int kMaxDepth = 2000;
constexpr int64_t kMostWork = 1'000'000;  // Values weighed, and units looked at for their cost.

class Walk {
 public:
  Walk(const UnitGraph& graph, const std::vector<int>& program, int64_t limit, WalkOrder order)
      : graph_(graph),
        program_(program),
        limit_(limit),
        order_(order),
        reads_(graph.bytes.size()),
        next_(graph.bytes.size(), 0),
        seen_(graph.units.size(), 0),
        locks_(graph.bytes.size(), 0),
        there_(graph.bytes.size(), 0) {
    const int end = length();
    for (int p = 0; p < end; ++p) {
      for (const int v : graph.units[program[p]].in) reads_[v].push_back(p);
    }
    for (size_t v = 0; v < graph.bytes.size(); ++v) {
      if (graph.pinned[v]) reads_[v].push_back(end);
      if (graph.given[v]) arrive(static_cast<int>(v));
    }
  }

  std::optional<std::vector<int>> run() {
    for (now_ = 0; now_ < length(); ++now_) {
      if (!run_with(graph_.units[program_[now_]].in, program_[now_])) return {};
    }
    std::vector<int> results;
    for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
      if (graph_.pinned[v]) results.push_back(v);
    }
    if (!run_with(results, -1)) return {};
    return std::move(sequence_);
  }

 private:
  int length() const { return static_cast<int>(program_.size()); }

  // After now, which only grows.
  int next_read(int value) {
    const std::vector<int>& reads = reads_[value];
    size_t& next = next_[value];
    while (next < reads.size() && reads[next] <= now_) ++next;
    return next == reads.size() ? -1 : reads[next];
  }

  void arrive(int value) {
    if (there_[value]) return;
    there_[value] = 1;
    live_ += graph_.bytes[value];
    resident_.insert(std::ranges::lower_bound(resident_, value), value);
  }

  void leave(int value) {
    if (!there_[value]) return;
    there_[value] = 0;
    live_ -= graph_.bytes[value];
    resident_.erase(std::ranges::lower_bound(resident_, value));
  }

  // What must run again, in the order of the program, to have the wanted values; nothing if one of
  // them cannot be had.
  bool missing_units(const std::vector<int>& wanted, std::vector<int>& list) const {
    std::set<int> units;
    std::vector<int> open;
    const auto want = [&](int v) {
      if (!there_[v]) open.push_back(v);
    };
    for (const int v : wanted) want(v);
    const int section = section_at(now_);
    while (!open.empty()) {
      const int producer = graph_.producer[open.back()];
      open.pop_back();
      if (producer < 0 || !graph_.units[producer].pure) return false;
      if (graph_.units[producer].section != section) return false;
      if (!units.insert(producer).second) continue;
      for (const int v : graph_.units[producer].in) want(v);
    }
    list.assign(units.begin(), units.end());
    return true;
  }

  // Makes sure of the wanted values, then runs the unit, if there is one.
  bool run_with(const std::vector<int>& wanted, int unit) {
    if (!(order_ == WalkOrder::program ? run_in_order(wanted) : run_on_demand(wanted, 0)))
      return false;
    if (unit >= 0 && !execute(unit)) return false;
    for (const int v : wanted) release(v);
    if (unit < 0) return true;
    for (const int v : graph_.units[unit].out) drop_if_done(v);
    return true;
  }

  // Leaves the wanted values locked.
  bool run_in_order(const std::vector<int>& wanted) {
    std::vector<int> again;
    if (!missing_units(wanted, again)) return false;
    for (const int v : wanted) ++locks_[v];
    for (const int u : again) {
      for (const int v : graph_.units[u].in) ++locks_[v];
    }
    for (const int u : again) {
      if (!execute(u)) return false;
      for (const int v : graph_.units[u].in) release(v);
    }
    return true;
  }

  bool run_on_demand(const std::vector<int>& wanted, int depth) {
    const bool frugal = order_ == WalkOrder::frugal;
    std::vector<int> there, missing;
    for (const int v : wanted) (there_[v] ? there : missing).push_back(v);
    const auto have = [&](int v) {
      if (!there_[v] && !make(v, depth)) return false;
      ++locks_[v];
      return true;
    };
    const auto &first = frugal ? missing : there, &second = frugal ? there : missing;
    return std::all_of(first.begin(), first.end(), have) &&
           std::all_of(second.begin(), second.end(), have);
  }

  bool make(int value, int depth) {
    const int producer = graph_.producer[value];
    if (producer < 0 || depth > kMaxDepth) return false;
    const Unit& unit = graph_.units[producer];
    if (!unit.pure || unit.section != section_at(now_)) return false;
    ++locks_[value];
    if (!run_on_demand(unit.in, depth + 1) || !execute(producer)) return false;
    for (const int v : unit.in) release(v);
    --locks_[value];
    return true;
  }

  void release(int value) {
    --locks_[value];
    drop_if_done(value);
  }

  void drop_if_done(int value) {
    if (locks_[value] == 0 && next_read(value) < 0) leave(value);
  }

  bool execute(int u) {
    const auto programs = static_cast<size_t>(kLongestFactor * graph_.program_size);
    if (sequence_.size() > std::max(kLongest, programs)) return false;
    const Unit& unit = graph_.units[u];
    int64_t wanted = unit.extra_bytes;
    for (const int v : unit.out) {
      wanted += there_[v] ? 0 : graph_.bytes[v];
      ++locks_[v];
    }
    const bool fits = make_room(wanted - shared_bytes(unit));
    sequence_.push_back(u);
    for (const int v : unit.out) arrive(v);
    for (const int v : unit.out) release(v);
    return fits;
  }

  // Of results that the parts of a stage write where values stand that nobody else waits for.
  int64_t shared_bytes(const Unit& unit) {
    if (!unit.parts) return 0;
    int64_t bytes = 0;
    std::vector<int> places, results;
    for (const Overwrite& o : unit.overwrites) {
      const int in = unit.in[o.input], out = unit.out[o.output];
      const bool is_last = there_[in] && locks_[in] == 1 && next_read(in) < 0;
      if (!is_last || there_[out] || graph_.bytes[in] != graph_.bytes[out]) continue;
      if (std::ranges::count(places, in) > 0 || std::ranges::count(results, out) > 0) continue;
      places.push_back(in);
      results.push_back(out);
      bytes += graph_.bytes[out];
    }
    return bytes;
  }

  bool make_room(int64_t wanted) {
    while (live_ + wanted > limit_) {
      int best = -1;
      double best_score = HUGE_VAL;
      work_ += static_cast<int64_t>(resident_.size());
      if (work_ > kMostWork) return false;
      for (const int v : resident_) {
        if (locks_[v] > 0 || graph_.bytes[v] == 0) continue;
        const int next = next_read(v);
        if (!can_return(v, next)) continue;
        const double distance = std::max(1, next - now_);
        // What is needed at the end would come back when all that it is made from is long gone.
        const double last_resort = graph_.pinned[v] ? 1e6 : 1;
        const double weight = last_resort / (static_cast<double>(graph_.bytes[v]) * distance);
        const double cost =
            order_ == WalkOrder::frugal ? 1 : cost_to_return(v, best_score / weight);
        if (weight * cost >= best_score) continue;
        best_score = weight * cost;
        best = v;
      }
      if (best < 0) return false;
      leave(best);
    }
    return true;
  }

  bool can_return(int value, int next) const {
    const int producer = graph_.producer[value];
    if (producer < 0 || !graph_.units[producer].pure) return false;
    return next < 0 || section_at(next) == graph_.units[producer].section;
  }

  // The end comes after all units that are not pure.
  int section_at(int position) const {
    if (position < length()) return graph_.units[program_[position]].section;
    const Unit& last = graph_.units[program_.back()];
    return last.section + (last.pure ? 0 : 1);
  }

  // Of its own unit and the missing ones before it, the nearest of them; no more is added up once
  // it is as much as `enough`.
  double cost_to_return(int value, double enough) {
    ++look_;
    units_.clear();
    const auto add = [&](int unit) {
      if (std::exchange(seen_[unit], look_) != look_) units_.push_back(unit);
    };
    add(graph_.producer[value]);
    double cost = 1e-3;
    size_t i = 0;
    for (; i < units_.size() && cost < enough; ++i) {
      cost += graph_.units[units_[i]].cost_ns;
      for (const int v : graph_.units[units_[i]].in) {
        if (!there_[v] && graph_.producer[v] >= 0 && units_.size() < kLookBack)
          add(graph_.producer[v]);
      }
    }
    work_ += static_cast<int64_t>(i);
    return cost;
  }

  const UnitGraph& graph_;
  const std::vector<int>& program_;
  int64_t limit_, live_ = 0, work_ = 0;
  WalkOrder order_;
  int now_ = 0;
  std::vector<std::vector<int>>
      reads_;                  // By value: the positions of the program that read it, in order,
  std::vector<size_t> next_;   // and the next of them.
  std::vector<int64_t> seen_;  // By unit: in which look it was seen last.
  int64_t look_ = 0;
  std::vector<int> units_;  // Of a look.
  std::vector<int> locks_;
  std::vector<char> there_;
  std::vector<int> resident_;  // In order.
  std::vector<int> sequence_;
};

}  // namespace

std::optional<std::vector<int>> walk(const UnitGraph& graph, const std::vector<int>& program,
                                     int64_t limit, WalkOrder order) {
  return Walk(graph, program, limit, order).run();
}

}  // namespace snug
