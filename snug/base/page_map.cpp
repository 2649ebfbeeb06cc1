#include "snug/base/page_map.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "snug/base/proc.h"

namespace snug {
namespace {

// An entry of /proc/self/pagemap. A relocated page of a file is no longer the file's.
PageState state_of(uint64_t entry) {
  constexpr uint64_t kPresent = uint64_t{1} << 63, kOfFile = uint64_t{1} << 61;
  if ((entry & kPresent) == 0) return PageState::absent;
  return (entry & kOfFile) != 0 ? PageState::of_file : PageState::own;
}

}  // namespace

// "<begin>-<end> r-xp <offset> <device> <inode> <path>"
std::vector<Mapping> own_mappings() {
  std::vector<Mapping> mappings;
  for (const std::string& line : lines_of("/proc/self/maps")) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 5 || words[1].size() < 4) continue;
    size_t dash = 0;
    const uint64_t begin = std::stoull(words[0], &dash, 16);
    const uint64_t end = std::stoull(words[0].substr(dash + 1), nullptr, 16);
    mappings.push_back({.first = begin / kSystemPageBytes,
                        .end = end / kSystemPageBytes,
                        .is_writable = words[1][1] == 'w',
                        .is_private = words[1][3] == 'p',
                        .is_of_file = words[4] != "0",
                        .name = words.size() > 5 ? words[5] : ""});
  }
  return mappings;
}

bool visit_pages(const Mapping& mapping, const std::function<void(uint64_t, PageState)>& visit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> map(std::fopen("/proc/self/pagemap", "r"),
                                                            std::fclose);
  if (map == nullptr) return false;
  std::array<uint64_t, 512> entries{};
  std::fseek(map.get(), static_cast<long>(mapping.first * sizeof(uint64_t)), SEEK_SET);
  for (uint64_t page = mapping.first; page < mapping.end;) {
    const size_t count = std::min<uint64_t>(entries.size(), mapping.end - page);
    if (std::fread(entries.data(), sizeof(uint64_t), count, map.get()) != count) return false;
    for (size_t i = 0; i < count; ++i) visit(page++, state_of(entries[i]));
  }
  return true;
}

}  // namespace snug
