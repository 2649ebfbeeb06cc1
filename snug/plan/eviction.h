// One round of dropping values: where the sequence is fullest, the cheapest gaps are emptied.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

struct EvictionSettings {
  double span_power = 1;  // How much a long stretch above the limit counts against a short one.
  double share = 0.25;    // Of the excess at a peak that one round removes.
  int peaks = 40;         // Stretches of the sequence whose peaks one round looks at.
};

// A gap is the time between two touches of a value, the second one a read. Emptying it means to
// run, just before the read, the unit that makes the value, and whatever that needs and is not
// there.
class Eviction {
 public:
  // `price` is what a byte above the limit costs for one position, in ns.
  Eviction(const Timeline& timeline, int64_t limit, EvictionSettings settings, double price);

  // The sequence with some gaps at its peaks emptied; nothing when no gap there can be.
  std::optional<std::vector<int>> next();

  // What was paid for each byte and position in this round: the price for the next one.
  double price() const { return price_; }
  // Units looked at.
  int64_t work() const { return work_; }

 private:
  // What has to be done before a position to have a value there.
  struct Chain {
    std::vector<int> units;  // In the order in which they run.
    std::vector<int> moved;  // Positions of later executions that these replace.
    std::vector<int> held;   // Touches whose gaps must stay filled.
    std::vector<int> kept;   // Values whose last copy lives on for this.
    double cost = 0;         // Time, and the price of what lives longer.
    double time = 0;
    double area = 0;  // Of what lives longer, where the sequence is above the limit.
  };
  // The gap of a value that ends with one of its touches.
  struct GapEnd {
    int value, touch;
  };
  struct Gap {
    int value, touch;
    int64_t bytes;
    double score, time;
    // Its chain, in `pool_`: so many units from there on, then what is moved and what is held.
    size_t at;
    size_t units, moved, held;
  };

  std::vector<int> peaks() const;
  std::vector<std::vector<GapEnd>> ends_at(const std::vector<int>& peaks) const;
  std::vector<Gap> weighed(const std::vector<GapEnd>& ends);
  std::optional<Gap> weigh_both(const GapEnd& end, double best_score);
  void empty_some(int peak, const std::vector<GapEnd>& ends);
  std::optional<Gap> weigh(const GapEnd& end, double best_score);
  bool make(int value, int at, double most);
  bool fetch(int value, int at, double most);
  bool is_there(int value, int at);
  void replace_later(int value, int at);
  void shrink(const std::array<size_t, 4>& sizes);
  std::span<const int> units_of(const Gap& gap) const { return {pool_.data() + gap.at, gap.units}; }
  std::span<const int> moved_of(const Gap& gap) const {
    return {pool_.data() + gap.at + gap.units, gap.moved};
  }
  std::span<const int> held_of(const Gap& gap) const {
    return {pool_.data() + gap.at + gap.units + gap.moved, gap.held};
  }
  bool is_free(const Gap& gap) const;
  void commit(const Gap& gap);
  std::vector<int> rewritten() const;
  const std::vector<int>& full(int size_class) const;
  double lifetime_price(int value, int from, int to) const;
  double area(int from, int to, int64_t bytes) const;

  const Timeline& timeline_;
  const UnitGraph& graph_;
  int64_t limit_;
  EvictionSettings settings_;
  double price_;
  int64_t work_ = 0;
  // By class of size (64, 256, 1024 ... bytes) and position: how many positions before it are full
  // for such a value, because it would raise them above the limit.
  mutable std::vector<std::vector<int>> full_;  // Each made when it is first wanted.
  std::vector<int> above_;                      // Positions before p that are above the limit.
  std::vector<double> excess_;                  // Their bytes above it.
  Chain chain_;                                 // The one that is being worked out.
  std::vector<char> runs_, lives_on_;           // By unit, by value: part of it.
  std::vector<int> pool_;                       // Of the gaps that were weighed last.
  int depth_ = 0;
  bool may_live_on_ = true;  // Where the sequence is above the limit.
  bool lengthened_ = false;  // Something lives longer there for the gap that was weighed last.
  // What this round has done so far.
  double paid_ = 0, saved_ = 0;
  std::vector<std::pair<int, int>> relieved_;  // Positions from the first to the second have less.
  std::vector<char> held_, emptied_;           // By touch.
  std::vector<char> removed_;                  // By position.
  std::vector<std::vector<int>> inserted_;     // By position: the units that now run before it.
};

}  // namespace snug
