#include "snug/base/resident_limit.h"

#include <fcntl.h>

#include <algorithm>
#include <new>
#include <utility>

#include "snug/base/memory.h"

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

int64_t resident_now() {
  static const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  return resident_bytes(statm);
}

void resident_limit::look(int64_t bytes) {
  unseen = 0;
  if (bytes > limit - resident_now()) throw std::bad_alloc();
}

}  // namespace snug
