// Depth-first search from the bottom of the arena upwards, on the skyline of what has been placed.
//
//   skyline             A niche is a stretch of cliques at one height between higher ones. In any
//   ----      -----     placement that rests on the skyline, a given clique of the niche is either
//       ------          covered at its very floor by an item inside the niche, or it wastes the
//       niche           bytes up to the next possible offset. These choices exclude each other and
//                       leave nothing out, for any clique of any niche.
//
// So the search may choose where to decide next: where there are the fewest choices, and rather
// where it has failed before. A clique with no byte to spare cannot waste any. Stretches that no
// unplaced item connects are solved one by one; states that failed are remembered; and it starts
// anew with other preferences before it drowns in a bad choice.

#include "snug/plan/exact_placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_set>
#include <vector>

#include "snug/plan/clique_line.h"

namespace snug {
namespace {

constexpr int64_t kFirstNodes = 300;  // Choices before the first new start.
constexpr size_t kMaxFailedStates = 4'000'000;
constexpr int64_t kNever = INT64_MAX;

struct Stretch {
  int from = 0, to = 0;  // Cliques, both included.
};

// 1 1 2 1 1 2 4 1 1 2 ...: mostly short runs, now and then a long one.
int64_t luby(int64_t i) {
  for (;;) {
    int64_t power = 1;
    while (2 * power - 1 < i) power *= 2;
    if (2 * power - 1 == i) return power;
    i -= power - 1;
  }
}

class Search {
 public:
  Search(std::span<const Item> items, int64_t capacity, int64_t max_work)
      : items_(items),
        line_(items),
        capacity_(capacity),
        max_work_(max_work),
        cover_(line_.cliques, line_.items),
        from_(line_.cliques + 1, line_.items),
        until_(line_.cliques, line_.items),
        unplaced_(1, line_.items),
        cliques_(line_.cliques),
        offsets_(items.size(), 0),
        preference_(items.size(), 0),
        hash_(items.size()),
        options_(line_.cliques + 1) {
    for (int i = 0; i < line_.items; ++i) enter(i);
  }

  ExactPlacement run() {
    const Stretch all{0, line_.cliques - 1};
    for (const Clique& clique : cliques_) {
      if (clique.waiting_bytes > capacity_) return {.outcome = Outcome::impossible};
    }
    for (int64_t round = 0;; ++round) {
      prefer(round);
      nodes_left_ = kFirstNodes * luby(round / 3 + 1);
      stopped_ = false;
      if (solve(all)) return found();
      if (!stopped_) return {.outcome = Outcome::impossible, .work = work_};
      if (work_ > max_work_) return {.outcome = Outcome::gave_up, .work = work_};
    }
  }

 private:
  struct Clique {
    int64_t floor = 0;          // Nothing more can be placed below it.
    int64_t waiting_bytes = 0;  // Of its unplaced items.
    int waiting = 0;
    int crossing = 0;  // Unplaced items that it shares with the next clique.
    double failures = 1;
  };

  // Undone in reverse: a floor that was raised, or (item >= 0) an item that was placed.
  struct Change {
    int clique, item;
    int64_t floor;
  };

  // Where to decide next.
  struct Choice {
    int clique = -1;
    Stretch niche;
    int options = 0;
    double price = 0;
    int64_t slack = 0;
  };

  void enter(int i) {
    unplaced_.set(0, i);
    for (int c = line_.first[i]; c <= line_.last[i]; ++c) {
      cover_.set(c, i);
      cliques_[c].waiting_bytes += items_[i].bytes;
      ++cliques_[c].waiting;
      if (c < line_.last[i]) ++cliques_[c].crossing;
    }
    for (int c = 0; c <= line_.first[i]; ++c) from_.set(c, i);
    for (int c = line_.last[i]; c < line_.cliques; ++c) until_.set(c, i);
    hash_[i] = random();
  }

  uint64_t random() {
    seed_ += 0x9e3779b97f4a7c15;
    uint64_t z = (seed_ ^ (seed_ >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Three rankings in turn: by width, by area, by bytes; past the first three rounds with some
  // noise.
  void prefer(int64_t round) {
    for (int i = 0; i < line_.items; ++i) {
      const double width = line_.last[i] - line_.first[i] + 1;
      const double bytes = static_cast<double>(items_[i].bytes);
      const double noise =
          round < 3 ? 1 : 0.65 + 0.7 * static_cast<double>(random() >> 11) * 0x1p-53;
      const std::array ranks = {width * (1 + 1e-3 * bytes / static_cast<double>(capacity_)),
                                width * bytes, bytes};
      preference_[i] = noise * ranks[round % 3];
    }
  }

  ExactPlacement found() const {
    ExactPlacement result{.outcome = Outcome::found, .work = work_};
    result.placement.offsets = offsets_;
    for (size_t i = 0; i < offsets_.size(); ++i) {
      result.placement.height = std::max(result.placement.height, offsets_[i] + items_[i].bytes);
    }
    return result;
  }

  template <typename Visit>
  void for_each(const uint64_t* a, const uint64_t* b, const uint64_t* c, Visit visit) const {
    for (int w = 0; w < unplaced_.words(); ++w) {
      for (uint64_t bits = a[w] & b[w] & c[w]; bits != 0; bits &= bits - 1)
        visit(w * 64 + std::countr_zero(bits));
    }
  }

  template <typename Visit>
  void for_each_inside(const Stretch& s, Visit visit) const {
    for_each(unplaced_.row(0), from_.row(s.from), until_.row(s.to), visit);
  }

  void place(int i, int64_t offset) {
    offsets_[i] = offset;
    unplaced_.clear(0, i);
    changes_.push_back({-1, i, 0});
    for (int c = line_.first[i]; c <= line_.last[i]; ++c) {
      Clique& clique = cliques_[c];
      changes_.push_back({c, -1, clique.floor});
      clique.floor = offset + items_[i].bytes;
      clique.waiting_bytes -= items_[i].bytes;
      --clique.waiting;
      if (c < line_.last[i]) --clique.crossing;
    }
  }

  void raise(int c, int64_t floor) {
    changes_.push_back({c, -1, cliques_[c].floor});
    cliques_[c].floor = floor;
  }

  void undo(size_t size) {
    for (; changes_.size() > size; changes_.pop_back()) {
      const Change& change = changes_.back();
      if (change.item < 0) {
        cliques_[change.clique].floor = change.floor;
        continue;
      }
      const int i = change.item;
      unplaced_.set(0, i);
      for (int c = line_.first[i]; c <= line_.last[i]; ++c) {
        cliques_[c].waiting_bytes += items_[i].bytes;
        ++cliques_[c].waiting;
        if (c < line_.last[i]) ++cliques_[c].crossing;
      }
    }
  }

  // Whether the cliques of an item that was just placed can still hold what waits for them.
  bool fits(int i) {
    for (int c = line_.first[i]; c <= line_.last[i]; ++c) {
      if (slack(c) >= 0) continue;
      cliques_[c].failures += 1;
      return false;
    }
    return true;
  }

  int64_t slack(int c) const { return capacity_ - cliques_[c].floor - cliques_[c].waiting_bytes; }

  int64_t lowest_offset(int i) const {
    int64_t offset = 0;
    for (int c = line_.first[i]; c <= line_.last[i]; ++c)
      offset = std::max(offset, cliques_[c].floor);
    return offset;
  }

  // Leaves all items of the stretch placed, or everything as it was.
  bool solve(const Stretch& stretch) {
    const size_t before = changes_.size();
    if (descend(stretch)) return true;
    undo(before);
    return false;
  }

  bool descend(const Stretch& stretch) {
    for (;;) {
      const std::vector<Stretch> pieces = split(stretch);
      if (pieces.empty()) return true;
      if (pieces.size() > 1) {
        return std::all_of(pieces.begin(), pieces.end(),
                           [&](const Stretch& piece) { return solve(piece); });
      }
      Choice choice;
      bool raised = false;
      if (!survey(pieces[0], choice, raised)) return false;
      if (raised) continue;
      if (choice.options > 1) return branch(pieces[0], choice);
      int only = -1;
      for_each_at(choice, [&](int i) { only = i; });
      place(only, cliques_[choice.clique].floor);
      if (!fits(only)) return false;
    }
  }

  // Pieces that no unplaced item connects, the tightest first.
  std::vector<Stretch> split(const Stretch& stretch) {
    std::vector<Stretch> pieces;
    work_ += stretch.to - stretch.from;
    int start = -1;
    for (int c = stretch.from; c <= stretch.to; ++c) {
      if (cliques_[c].waiting == 0) continue;
      if (start < 0) start = c;
      if (c < stretch.to && cliques_[c].crossing > 0) continue;
      pieces.push_back({start, c});
      start = -1;
    }
    if (pieces.size() > 1) {
      const auto least_slack = [&](const Stretch& piece) {
        int64_t least = kNever;
        for (int c = piece.from; c <= piece.to; ++c) least = std::min(least, slack(c));
        return least;
      };
      std::stable_sort(pieces.begin(), pieces.end(), [&](const Stretch& a, const Stretch& b) {
        return least_slack(a) < least_slack(b);
      });
    }
    return pieces;
  }

  // Looks at every clique of every niche: raises the floors that nothing can rest on and finds the
  // best place to decide. False: some clique cannot be filled.
  bool survey(const Stretch& stretch, Choice& best, bool& raised) {
    for (int from = stretch.from, to = 0; from <= stretch.to; from = to + 1) {
      const int64_t floor = cliques_[from].floor;
      for (to = from; to < stretch.to && cliques_[to + 1].floor == floor;) ++to;
      const bool left = from == stretch.from || cliques_[from - 1].floor > floor;
      const bool right = to == stretch.to || cliques_[to + 1].floor > floor;
      if (left && right && !survey_niche({from, to}, best, raised)) return false;
    }
    return true;
  }

  bool survey_niche(const Stretch& niche, Choice& best, bool& raised) {
    for (int c = niche.from; c <= niche.to + 1; ++c) options_[c] = 0;
    for_each_inside(niche, [&](int i) {
      ++options_[line_.first[i]];
      --options_[line_.last[i] + 1];
    });
    work_ += unplaced_.words() + niche.to - niche.from;
    for (int c = niche.from, inside = 0; c <= niche.to; ++c) {
      inside += options_[c];
      if (inside == 0) {
        if (!raise_to_lowest(c)) return false;
        raised = true;
        continue;
      }
      const int64_t spare = slack(c);
      const int options = inside + (spare > 0 ? 1 : 0);
      const double price = options > 1 ? options / cliques_[c].failures : 0;
      if (best.clique < 0 || price < best.price || (price == best.price && spare < best.slack)) {
        best = {c, niche, options, price, spare};
      }
    }
    return true;
  }

  bool raise_to_lowest(int c) {
    int64_t lowest = kNever;
    for_each(unplaced_.row(0), cover_.row(c), cover_.row(c),
             [&](int i) { lowest = std::min(lowest, lowest_offset(i)); });
    if (lowest > capacity_ - cliques_[c].waiting_bytes) {
      cliques_[c].failures += 1;
      return false;
    }
    raise(c, lowest);
    return true;
  }

  // The items that may cover the clique at the floor of its niche.
  template <typename Visit>
  void for_each_at(const Choice& choice, Visit visit) const {
    for_each_inside(choice.niche, [&](int i) {
      if (line_.first[i] <= choice.clique && choice.clique <= line_.last[i]) visit(i);
    });
  }

  bool branch(const Stretch& stretch, const Choice& choice) {
    if (--nodes_left_ < 0 || work_ > max_work_) {
      stopped_ = true;
      return false;
    }
    const uint64_t state = state_of(stretch);
    if (failed_.contains(state)) return false;
    const int64_t floor = cliques_[choice.clique].floor;
    const size_t before = changes_.size();
    for (const int i : candidates(choice)) {
      place(i, floor);
      if (fits(i) && solve(stretch)) return true;
      undo(before);
      if (stopped_) return false;
    }
    if (waste(choice) && solve(stretch)) return true;
    undo(before);
    if (!stopped_ && failed_.size() < kMaxFailedStates) failed_.insert(state);
    return false;
  }

  // The preferred first; of items that are alike only one.
  std::vector<int> candidates(const Choice& choice) const {
    std::vector<int> list;
    for_each_at(choice, [&](int i) {
      const auto alike = [&](int j) {
        return line_.first[i] == line_.first[j] && line_.last[i] == line_.last[j] &&
               items_[i].bytes == items_[j].bytes;
      };
      if (std::none_of(list.begin(), list.end(), alike)) list.push_back(i);
    });
    std::stable_sort(list.begin(), list.end(),
                     [&](int a, int b) { return preference_[a] > preference_[b]; });
    return list;
  }

  // Nothing covers the clique at its floor: raises the floor to where something could.
  bool waste(const Choice& choice) {
    if (choice.slack <= 0) return false;
    const int c = choice.clique;
    const int64_t floor = cliques_[c].floor;
    int64_t next = kNever;
    for_each(unplaced_.row(0), cover_.row(c), cover_.row(c), [&](int i) {
      int64_t lowest = lowest_offset(i);
      if (lowest == floor) lowest = lowest_top_under(i, c);
      next = std::min(next, lowest);
    });
    if (next == kNever || next > capacity_ - cliques_[c].waiting_bytes) return false;
    raise(c, next);
    return true;
  }

  // The item rests neither on the floor of clique c nor on an item of it, so it rests on another
  // neighbour. One that is larger than what the clique can waste does not count.
  int64_t lowest_top_under(int i, int c) {
    int64_t lowest = kNever;
    const int64_t spare = slack(c);
    work_ += unplaced_.words();
    for_each(unplaced_.row(0), from_.row(0), unplaced_.row(0), [&](int j) {
      if (items_[j].bytes > spare) return;
      const bool meets = line_.first[j] <= line_.last[i] && line_.first[i] <= line_.last[j];
      const bool covers = line_.first[j] <= c && c <= line_.last[j];
      if (meets && !covers) lowest = std::min(lowest, lowest_offset(j) + items_[j].bytes);
    });
    return lowest;
  }

  // Equal states have equal unplaced items and floors. That two others ever agree in 64 bits is not
  // expected.
  uint64_t state_of(const Stretch& stretch) {
    uint64_t state =
        static_cast<uint64_t>(stretch.from) * 0x10001 + static_cast<uint64_t>(stretch.to);
    for_each_inside(stretch, [&](int i) { state ^= hash_[i]; });
    for (int c = stretch.from; c <= stretch.to; ++c) {
      state = (state ^ static_cast<uint64_t>(cliques_[c].floor)) * 0x9e3779b97f4a7c15;
      state ^= state >> 29;
    }
    work_ += stretch.to - stretch.from;
    return state;
  }

  std::span<const Item> items_;
  CliqueLine line_;
  int64_t capacity_, max_work_;
  BitRows cover_;  // By clique: its items.
  BitRows from_,
      until_;  // By clique: items that begin there or later; items that end there or earlier.
  BitRows unplaced_;
  std::vector<Clique> cliques_;
  std::vector<int64_t> offsets_;
  std::vector<double> preference_;
  std::vector<uint64_t> hash_;
  std::vector<int> options_;  // By clique, while a niche is looked at.
  std::vector<Change> changes_;
  std::unordered_set<uint64_t> failed_;
  int64_t nodes_left_ = 0, work_ = 0;
  bool stopped_ = false;
  uint64_t seed_ = 3;
};

}  // namespace

ExactPlacement place_exactly(std::span<const Item> items, int64_t capacity, int64_t max_work) {
  if (items.empty()) return {.outcome = Outcome::found};
  return Search(items, capacity, max_work).run();
}

}  // namespace snug
