#pragma once

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

  void add(int at_epoch, const Logs& logs) {
    epoch.push_back(at_epoch);
    for (const auto& [name, value] : logs) history[name].push_back(value);
  }
};

}  // namespace snug
