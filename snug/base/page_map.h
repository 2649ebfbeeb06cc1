// The memory of this process, page by page, as the system tells it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace snug {

inline constexpr uint64_t kSystemPageBytes = 4096;

struct Mapping {
  uint64_t first = 0, end = 0;  // Numbers of pages.
  bool is_writable = false, is_private = false, is_of_file = false;
  std::string name;  // The file's path, or "[heap]" and the like; empty for none.
};

// Of /proc/self/maps; none where the system does not say.
std::vector<Mapping> own_mappings();

enum class PageState { absent, own, of_file };  // Own: no file has it, or it was changed.

// Calls `visit` with each page of the mapping; false where the system does not say.
bool visit_pages(const Mapping& mapping, const std::function<void(uint64_t, PageState)>& visit);

}  // namespace snug
