#include "snug/base/resident_limit.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <string_view>
#include <utility>

namespace snug {

ResidentLimit::ResidentLimit(int64_t bytes)
    : outer_(std::exchange(resident_limit::limit, std::min(bytes, resident_limit::limit))) {
  resident_limit::unseen = resident_limit::kUnseen;  // The next allocation looks.
}

ResidentLimit::~ResidentLimit() { resident_limit::limit = outer_; }

WithoutResidentLimit::WithoutResidentLimit()
    : outer_(std::exchange(resident_limit::limit, resident_limit::kNone)) {}

WithoutResidentLimit::~WithoutResidentLimit() {
  resident_limit::limit = outer_;
  resident_limit::unseen = resident_limit::kUnseen;
}

// /proc/self/statm: "<size> <resident> ...", in pages.
int64_t resident_now() {
  static const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  std::array<char, 128> text{};
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  const std::string_view all(text.data(), static_cast<size_t>(std::max<ssize_t>(0, length)));
  const size_t second = all.find(' ');
  if (second == std::string_view::npos) return 0;
  int64_t pages = 0;
  std::from_chars(all.data() + second + 1, all.data() + all.size(), pages);
  return pages * page_bytes;
}

void resident_limit::look(int64_t bytes) {
  unseen = 0;
  if (bytes > limit - resident_now()) throw std::bad_alloc();
}

}  // namespace snug
