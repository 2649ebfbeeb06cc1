#include "snug/plan/clique_line.h"

#include <algorithm>
#include <utility>

namespace snug {

CliqueLine::CliqueLine(std::span<const Item> spans) : items(static_cast<int>(spans.size())) {
  std::vector<std::pair<int, bool>> events;  // (step, it is an end); starts come first at one step.
  for (const Item& item : spans) {
    events.push_back({item.first, false});
    events.push_back({item.last, true});
  }
  std::sort(events.begin(), events.end());
  std::vector<int> steps;  // A clique is complete at an end that follows a start.
  bool grown = false;
  for (const auto& [step, is_end] : events) {
    if (is_end && grown) steps.push_back(step);
    grown = !is_end;
  }
  cliques = static_cast<int>(steps.size());
  for (const Item& item : spans) {
    const auto from = std::lower_bound(steps.begin(), steps.end(), item.first);
    const auto to = std::upper_bound(steps.begin(), steps.end(), item.last);
    first.push_back(static_cast<int>(from - steps.begin()));
    last.push_back(static_cast<int>(to - steps.begin()) - 1);
  }
}

}  // namespace snug
