#include "snug/base/file_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "snug/base/page_map.h"

namespace snug {

// Runs come in the order of their first pages.
void FilePages::add(Run run) {
  if (run.first >= run.end) return;
  if (!runs_.empty() && run.first <= runs_.back().end) {
    runs_.back().end = std::max(runs_.back().end, run.end);
  } else {
    runs_.push_back(run);
  }
}

// Private and not writable: code and constants; what others may write is none of ours.
FilePages FilePages::resident() {
  FilePages pages;
  for (const Mapping& mapping : own_mappings()) {
    if (mapping.is_writable || !mapping.is_private || !mapping.is_of_file) continue;
    const bool is_told = visit_pages(mapping, [&](uint64_t page, PageState state) {
      if (state == PageState::of_file) pages.add({page, page + 1});
    });
    if (!is_told) return {};
  }
  return pages;
}

int64_t FilePages::bytes() const {
  uint64_t pages = 0;
  for (const Run& run : runs_) pages += run.end - run.first;
  return static_cast<int64_t>(pages * kSystemPageBytes);
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
    auto* address = reinterpret_cast<void*>(run.first * kSystemPageBytes);
    madvise(address, (run.end - run.first) * kSystemPageBytes, MADV_DONTNEED);
  }
}

// Whole pages: between a sanitizer's own guards, too.
__attribute__((no_sanitize("address"))) void FilePages::touch() const {
  for (const Run& run : runs_) {
    for (uint64_t page = run.first; page < run.end; ++page) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the system as numbers.
      static_cast<void>(*reinterpret_cast<const volatile char*>(page * kSystemPageBytes));
    }
  }
}

}  // namespace snug
