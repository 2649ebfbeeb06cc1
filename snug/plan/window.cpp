#include "snug/plan/window.h"

#include <algorithm>
#include <utility>

#include "snug/plan/beam.h"

namespace snug {
namespace {

constexpr size_t kMostUnits = 128, kMostValues = 256;  // Of search_widely.
constexpr int kFollowed = 6000;

// The stretch as a problem of its own: what lives at its beginning is given, what lives at its end
// is needed there.
class Window {
 public:
  Window(const Timeline& timeline, int from, int to)
      : timeline_(timeline),
        graph_(timeline.graph()),
        from_(from),
        to_(to),
        number_(graph_.bytes.size(), -1),
        is_in_(graph_.units.size(), 0) {
    for (const bool first : {true, false}) {
      for (int p = from; p < to; ++p) {
        if (timeline.is_first(p) == first) add_unit(timeline.sequence()[p]);
      }
      if (first) problem_.program_size = static_cast<int>(units_.size());
    }
    add_what_lives();
  }

  bool fits() const {
    const auto stays = [&](int u) {
      return !graph_.units[u].pure || graph_.units[u].section != timeline_.section(from_);
    };
    return units_.size() <= kMostUnits && problem_.bytes.size() <= kMostValues &&
           std::ranges::none_of(units_, stays);
  }

  std::optional<std::vector<int>> search(int64_t limit, double most_ns, int64_t& work) const {
    const WideSearch settings{.given_stays = false, .most_ns = most_ns, .followed = kFollowed};
    auto found = search_widely(problem_, limit - beside_, settings, work);
    if (!found) return {};
    const std::vector<int>& all = timeline_.sequence();
    std::vector<int> sequence(all.begin(), all.begin() + from_);
    for (const int u : *found) sequence.push_back(units_[u]);
    sequence.insert(sequence.end(), all.begin() + to_, all.end());
    return sequence;
  }

 private:
  int number(int value) {
    if (number_[value] >= 0) return number_[value];
    problem_.bytes.push_back(graph_.bytes[value]);
    problem_.given.push_back(timeline_.lives_before(value, from_));
    problem_.pinned.push_back(timeline_.lives_before(value, to_));
    return number_[value] = static_cast<int>(problem_.bytes.size()) - 1;
  }

  void add_unit(int u) {
    if (std::exchange(is_in_[u], 1)) return;
    const Unit& unit = graph_.units[u];
    Unit copy{.extra_bytes = unit.extra_bytes, .cost_ns = unit.cost_ns};
    for (const int v : unit.in) copy.in.push_back(number(v));
    for (const int v : unit.out) copy.out.push_back(number(v));
    problem_.units.push_back(std::move(copy));
    units_.push_back(u);
  }

  // What passes by may be made again where that takes only what is here; else it only takes room.
  void add_what_lives() {
    std::vector<int> passing;
    std::vector<char> is_here(graph_.bytes.size(), 0);
    for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
      const bool passes = timeline_.lives_before(v, from_) && timeline_.lives_before(v, to_);
      if (number_[v] < 0 && passes) passing.push_back(v);
      is_here[v] = number_[v] >= 0 || passes;
    }
    for (const int v : passing) {
      if (graph_.producer[v] >= 0 && may_add(graph_.producer[v], is_here))
        add_unit(graph_.producer[v]);
    }
    for (const int v : passing) beside_ += number_[v] < 0 ? graph_.bytes[v] : 0;
  }

  bool may_add(int u, const std::vector<char>& is_here) const {
    const Unit& unit = graph_.units[u];
    const auto here = [&](int v) { return is_here[v] != 0; };
    return unit.pure && unit.section == timeline_.section(from_) && units_.size() < kMostUnits &&
           problem_.bytes.size() + 4 < kMostValues && std::ranges::all_of(unit.in, here) &&
           std::ranges::all_of(unit.out, here);
  }

  const Timeline& timeline_;
  const UnitGraph& graph_;
  int from_, to_;
  int64_t beside_ = 0;       // Bytes of what only passes by.
  std::vector<int> number_;  // By value: in the problem, or -1.
  std::vector<char> is_in_;  // By unit.
  std::vector<int> units_;   // Of the problem.
  UnitGraph problem_;
};

}  // namespace

std::optional<std::vector<int>> replanned(const Timeline& timeline, int from, int to, int64_t limit,
                                          double most_ns, int64_t& work) {
  const Window window(timeline, from, to);
  return window.fits() ? window.search(limit, most_ns, work) : std::nullopt;
}

double again_ns(const Timeline& timeline, int from, int to) {
  double ns = 0;
  for (int p = from; p < to; ++p)
    ns += timeline.is_first(p) ? 0 : timeline.graph().units[timeline.sequence()[p]].cost_ns;
  return ns;
}

}  // namespace snug
