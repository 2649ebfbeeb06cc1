#include "snug/base/file_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

#include "snug/base/proc.h"

namespace snug {
namespace {

constexpr uint64_t kPageBytes = 4096;

struct Mapping {
  uint64_t first = 0, end = 0;  // Pages.
};

// /proc/self/maps: "<begin>-<end> r-xp <offset> <device> <inode> <path>". Private and not
// writable: code and constants; what others may write is none of ours.
std::vector<Mapping> read_only_mappings() {
  std::vector<Mapping> mappings;
  for (const std::string& line : lines_of("/proc/self/maps")) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 6 || words[1][1] == 'w' || words[1][3] != 'p' || words[4] == "0") continue;
    size_t dash = 0;
    const uint64_t begin = std::stoull(words[0], &dash, 16);
    const uint64_t end = std::stoull(words[0].substr(dash + 1), nullptr, 16);
    mappings.push_back({begin / kPageBytes, end / kPageBytes});
  }
  return mappings;
}

// Of /proc/self/pagemap: the page is there, and it is the file's (a relocated one is not).
bool is_of_file(uint64_t entry) {
  constexpr uint64_t kPresent = uint64_t{1} << 63, kOfFile = uint64_t{1} << 61;
  return (entry & kPresent) != 0 && (entry & kOfFile) != 0;
}

}  // namespace

// Runs come in the order of their first pages.
void FilePages::add(Run run) {
  if (run.first >= run.end) return;
  if (!runs_.empty() && run.first <= runs_.back().end) {
    runs_.back().end = std::max(runs_.back().end, run.end);
  } else {
    runs_.push_back(run);
  }
}

FilePages FilePages::resident() {
  FilePages pages;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> map(std::fopen("/proc/self/pagemap", "r"),
                                                            std::fclose);
  if (map == nullptr) return pages;
  std::array<uint64_t, 512> entries{};
  for (const Mapping& mapping : read_only_mappings()) {
    std::fseek(map.get(), static_cast<long>(mapping.first * sizeof(uint64_t)), SEEK_SET);
    for (uint64_t page = mapping.first; page < mapping.end;) {
      const size_t count = std::min<uint64_t>(entries.size(), mapping.end - page);
      if (std::fread(entries.data(), sizeof(uint64_t), count, map.get()) != count) return {};
      for (size_t i = 0; i < count; ++i, ++page) {
        if (is_of_file(entries[i])) pages.add({page, page + 1});
      }
    }
  }
  return pages;
}

int64_t FilePages::bytes() const {
  uint64_t pages = 0;
  for (const Run& run : runs_) pages += run.end - run.first;
  return static_cast<int64_t>(pages * kPageBytes);
}

FilePages FilePages::plus(const FilePages& others) const {
  std::vector<Run> all;
  std::ranges::merge(runs_, others.runs_, std::back_inserter(all), {}, &Run::first, &Run::first);
  FilePages pages;
  for (const Run& run : all) pages.add(run);
  return pages;
}

FilePages FilePages::minus(const FilePages& others) const {
  FilePages pages;
  auto other = others.runs_.begin();
  for (Run rest : runs_) {
    while (other != others.runs_.end() && other->end <= rest.first) ++other;
    for (auto at = other; at != others.runs_.end() && at->first < rest.end; ++at) {
      pages.add({rest.first, at->first});
      rest.first = at->end;
    }
    pages.add(rest);
  }
  return pages;
}

void FilePages::give_back() const {
  for (const Run& run : runs_) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the system as numbers.
    auto* address = reinterpret_cast<void*>(run.first * kPageBytes);
    madvise(address, (run.end - run.first) * kPageBytes, MADV_DONTNEED);
  }
}

// Whole pages: between a sanitizer's own guards, too.
__attribute__((no_sanitize("address"))) void FilePages::touch() const {
  for (const Run& run : runs_) {
    for (uint64_t page = run.first; page < run.end; ++page) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the system as numbers.
      static_cast<void>(*reinterpret_cast<const volatile char*>(page * kPageBytes));
    }
  }
}

}  // namespace snug
