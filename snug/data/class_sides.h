// The classes of rows on both sides of a split.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace snug {

// Counts how often each class is among the first rows, which are trained on, and among the last,
// which a validation split of the tail takes.
class ClassSides {
 public:
  explicit ClassSides(double tail) : tail_(tail) {}

  void add(std::string_view name, bool is_in_tail);
  size_t size() const { return counts_.size(); }
  // How many rows each class has, by name.
  std::map<std::string, int64_t> totals() const;
  // A line for each class that only one side has: how many rows, and what a split would do.
  std::vector<std::string> problems(const std::set<std::string>& passed_over = {}) const;

 private:
  struct Sides {
    int64_t head = 0, tail = 0;
  };
  double tail_;
  std::map<std::string, Sides, std::less<>> counts_;
};

}  // namespace snug
