// place FILE.csv [--capacity N]: offsets for the buffers of a file (id,lower,upper,size; live in
// [lower, upper)). Without a capacity it is the number in the file's name (A.1048576.csv), or else
// the load: the most bytes that live at one moment.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "snug/base/error.h"
#include "snug/plan/placement.h"

namespace snug {
namespace {

constexpr int64_t kMaxWork = 20'000'000'000;

// Only the order of the moments matters: they become 0, 1, 2 ..., and the upper end is included.
std::vector<Item> number_moments(std::vector<Item> items) {
  std::vector<int> moments;
  for (const Item& item : items) moments.insert(moments.end(), {item.first, item.last});
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  const auto number = [&](int moment) {
    return static_cast<int>(std::lower_bound(moments.begin(), moments.end(), moment) -
                            moments.begin());
  };
  for (Item& item : items) item = {number(item.first), number(item.last) - 1, item.bytes};
  return items;
}

std::vector<Item> read_items(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw FileError("{}: cannot be read; give a CSV file of buffers", path);
  std::vector<Item> items;
  std::string line;
  std::getline(file, line);
  for (int row = 2; std::getline(file, line); ++row) {
    long long id = 0, lower = 0, upper = 0, size = 0;
    if (std::sscanf(line.c_str(), "%lld,%lld,%lld,%lld", &id, &lower, &upper, &size) != 4 ||
        upper <= lower) {
      throw DataError("{}:{}: expected id,lower,upper,size with lower < upper, got '{}'", path, row,
                      line);
    }
    items.push_back({static_cast<int>(lower), static_cast<int>(upper), size});
  }
  return number_moments(std::move(items));
}

int64_t capacity_in_name(const std::string& path) {
  const size_t end = path.rfind(".csv"), begin = path.rfind('.', end - 1);
  if (end == std::string::npos || begin == std::string::npos) return 0;
  return std::atoll(path.substr(begin + 1, end - begin - 1).c_str());
}

bool is_valid(const std::vector<Item>& items, const Placement& placement, int64_t capacity) {
  for (size_t a = 0; a < items.size(); ++a) {
    if (placement.offsets[a] < 0 || placement.offsets[a] + items[a].bytes > capacity) return false;
    for (size_t b = 0; b < a; ++b) {
      const bool meet = items[a].first <= items[b].last && items[b].first <= items[a].last;
      if (meet && placement.offsets[a] < placement.offsets[b] + items[b].bytes &&
          placement.offsets[b] < placement.offsets[a] + items[a].bytes) {
        return false;
      }
    }
  }
  return true;
}

int run(const std::string& path, int64_t capacity) {
  const std::vector<Item> items = read_items(path);
  const int64_t load = max_live(items);
  if (capacity == 0) capacity = capacity_in_name(path);
  if (capacity == 0) capacity = load;
  const auto start = std::chrono::steady_clock::now();
  const ExactPlacement exact = place_hot_window(items, capacity, kMaxWork);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const char* outcomes[] = {"found", "impossible", "not found"};
  fmt::print("items: {}\nload: {}\ncapacity: {}\noutcome: {}\nseconds: {:.4f}\n", items.size(),
             load, capacity, outcomes[static_cast<int>(exact.outcome)], seconds.count());
  if (exact.outcome != Outcome::found) return 3;
  const bool valid = is_valid(items, exact.placement, capacity);
  fmt::print("height: {}\nvalidated: {}\n", exact.placement.height, valid ? "yes" : "no");
  return valid ? 0 : 1;
}

}  // namespace
}  // namespace snug

int main(int argc, char** argv) {
  const bool has_capacity = argc == 4 && std::string(argv[2]) == "--capacity";
  if (argc != 2 && !has_capacity) {
    std::cerr << "usage: place FILE.csv [--capacity N]\n";
    return 2;
  }
  try {
    return snug::run(argv[1], has_capacity ? std::atoll(argv[3]) : 0);
  } catch (const snug::Error& error) {
    std::cerr << "place: " << error.what() << "\n";
    return error.exit_code();
  }
}
