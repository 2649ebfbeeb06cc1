// place FILE.csv [--capacity N] [--output FILE]: offsets for the buffers of a file, found by the
// names of its columns: id, size, and lower,upper (live in [lower, upper)) or start,end (live to
// the end of `end`). Without a capacity it is the number in the file's name (A.1048576.csv), or
// else the load: the most bytes that live at one moment. The output has the same rows and offsets.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "snug/base/error.h"
#include "snug/plan/placement.h"

namespace snug {
namespace {

constexpr int64_t kMaxWork = 20'000'000'000;

struct Buffer {
  std::string id;
  int64_t lower = 0, upper = 0, size = 0;
};

std::vector<std::string> cells_of(std::string line) {
  std::erase(line, '\r');
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

// A file of buffers, whatever the order of its columns.
class BufferFile {
 public:
  explicit BufferFile(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw FileError("{}: cannot be read; give a CSV file of buffers", path);
    std::getline(file_, line_);
    const std::vector<std::string> names = cells_of(line_);
    for (size_t i = 0; i < names.size(); ++i) columns_[names[i]] = i;
    inclusive_ = columns_.contains("start");
    for (const char* name : {first(), last(), "size"}) {
      if (!columns_.contains(name))
        throw DataError(
            "{}: its first line names no {}, and it must name its columns: id,lower,upper,size",
            path, name);
    }
  }

  std::vector<Buffer> read() {
    std::vector<Buffer> buffers;
    while (std::getline(file_, line_)) {
      ++row_;
      cells_ = cells_of(line_);
      if (cells_.empty()) continue;
      Buffer buffer{.lower = number(first()),
                    .upper = number(last()) + (inclusive_ ? 1 : 0),
                    .size = number("size")};
      buffer.id = columns_.contains("id") ? cells_.at(columns_["id"]) : std::to_string(row_ - 2);
      if (buffer.upper <= buffer.lower || buffer.size < 0)
        throw DataError("{}:{}: lives in no time or has no size: '{}'", path_, row_, line_);
      buffers.push_back(std::move(buffer));
    }
    return buffers;
  }

 private:
  const char* first() const { return inclusive_ ? "start" : "lower"; }
  const char* last() const { return inclusive_ ? "end" : "upper"; }

  int64_t number(const std::string& name) {
    const size_t column = columns_[name];
    const std::string cell = column < cells_.size() ? cells_[column] : "";
    int64_t number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    if (error != std::errc() || end != cell.data() + cell.size())
      throw DataError("{}:{}: {} is no whole number in '{}'", path_, row_, name, line_);
    return number;
  }

  std::string path_, line_;
  std::ifstream file_;
  std::map<std::string, size_t> columns_;
  std::vector<std::string> cells_;
  bool inclusive_ = false;
  int row_ = 1;
};

// Only the order of the moments matters: they become 0, 1, 2 ..., and the upper end is included.
std::vector<Item> items_of(const std::vector<Buffer>& buffers) {
  std::vector<int64_t> moments;
  for (const Buffer& buffer : buffers) moments.insert(moments.end(), {buffer.lower, buffer.upper});
  std::ranges::sort(moments);
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  const auto number = [&](int64_t moment) {
    return static_cast<int>(std::ranges::lower_bound(moments, moment) - moments.begin());
  };
  std::vector<Item> items;
  for (const Buffer& buffer : buffers)
    items.push_back({number(buffer.lower), number(buffer.upper) - 1, buffer.size});
  return items;
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

void write(const std::string& path, const std::vector<Buffer>& buffers,
           const Placement& placement) {
  std::ofstream file(path);
  file << "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    file << fmt::format("{},{},{},{},{}\n", b.id, b.lower, b.upper, b.size, placement.offsets[i]);
  }
  if (!file.flush()) throw FileError("{}: cannot be written", path);
}

int run(const std::string& path, int64_t capacity, const std::string& output) {
  const std::vector<Buffer> buffers = BufferFile(path).read();
  const std::vector<Item> items = items_of(buffers);
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
  if (!output.empty()) write(output, buffers, exact.placement);
  return valid ? 0 : 1;
}

}  // namespace
}  // namespace snug

int main(int argc, char** argv) {
  constexpr const char* kUsage = "usage: place FILE.csv [--capacity N] [--output FILE]\n";
  if (argc == 2 && std::string(argv[1]) == "--help") {
    std::cout << kUsage;
    return 0;
  }
  try {
    int64_t capacity = 0;
    std::string output;
    const std::vector<std::string> names = snug::bench::Arguments()
                                               .value("--capacity", capacity)
                                               .value("--output", output)
                                               .parse(argc, argv);
    if (names.size() != 1) throw snug::Error("which file? {}", kUsage);
    return snug::run(names[0], capacity, output);
  } catch (const snug::Error& error) {
    std::cerr << "place: " << error.what() << "\n";
    return error.exit_code();
  }
}
