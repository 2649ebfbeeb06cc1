#include "snug/plan/demand.h"

#include "snug/plan/make_first.h"

namespace snug {
namespace {

class Demand {
 public:
  Demand(const Timeline& timeline, int position, const std::vector<char>& kept)
      : timeline_(timeline), graph_(timeline.graph()), kept_(kept), there_(kept) {
    for (const int v : graph_.units[timeline.sequence()[position]].in) there_[v] = 1;
    for (int p = 0; p <= position; ++p) run(timeline.sequence()[p], p <= position - 1);
    for (int p = position + 1; p < timeline.length(); ++p) {
      position_ = p;
      for (const int v : graph_.units[timeline.sequence()[p]].in) need(v);
      run(timeline.sequence()[p], /*before=*/false);
      forget(p);
    }
    position_ = timeline.length();
    for (int v = 0; v < static_cast<int>(there_.size()); ++v) {
      if (graph_.pinned[v]) need(v);
    }
  }

  std::vector<int> take() { return std::move(sequence_); }

 private:
  void run(int unit, bool before) {
    sequence_.push_back(unit);
    if (before) return;
    for (const int v : graph_.units[unit].out) {
      there_[v] = 1;
      made_.push_back(v);
    }
  }

  // Where the unit may not run again here, the copy before simply lives on.
  void need(int value) {
    const auto wants = [&](int v) {
      const int producer = graph_.producer[v];
      if (there_[v] || producer < 0) return false;
      const Unit& unit = graph_.units[producer];
      return unit.pure && unit.section == timeline_.section(position_);
    };
    make_first(graph_, value, wants, [&](int unit) { run(unit, /*before=*/false); });
  }

  // What was made only to make something else does not stay.
  void forget(int position) {
    for (const int v : made_) {
      const auto touches = timeline_.touches(v);
      if (touches.back().position <= position && !kept_[v]) there_[v] = 0;
    }
    made_.clear();
  }

  const Timeline& timeline_;
  const UnitGraph& graph_;
  const std::vector<char>& kept_;
  std::vector<char> there_;  // By value.
  std::vector<int> made_, sequence_;
  int position_ = 0;
};

}  // namespace

std::vector<int> make_on_demand(const Timeline& timeline, int position,
                                const std::vector<char>& kept) {
  return Demand(timeline, position, kept).take();
}

}  // namespace snug
