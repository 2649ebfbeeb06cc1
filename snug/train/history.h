#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace snug {

// Named numbers: losses and metrics of a batch or an epoch. Training keys come first, then val_
// ones, alphabetical.
using Logs = std::map<std::string, double>;

// What fit returns: the logs of every epoch.
struct History {
  std::map<std::string, std::vector<double>> history;
  std::vector<int> epoch;

  // Made when the first of so many epochs is added, so that the others move nothing.
  static size_t room_for(int expected) {
    constexpr int kMost = 1 << 20;
    return static_cast<size_t>(std::clamp(expected, 0, kMost));
  }
  void add(int at_epoch, const Logs& logs, int expected = 0) {
    const size_t room = room_for(expected);
    epoch.reserve(room);
    epoch.push_back(at_epoch);
    for (const auto& [name, value] : logs) {
      std::vector<double>& values = history[name];
      values.reserve(room);
      values.push_back(value);
    }
  }
};

}  // namespace snug
