#include "snug/train/room.h"

#include <algorithm>

#include "snug/base/bytes.h"
#include "snug/base/memory.h"

namespace snug {
namespace {

constexpr int64_t kMuch = 2048_MiB;  // Nothing that is planned or compiled takes as much.
constexpr int64_t kSpare = 1_MiB;    // For what the kernel keeps for the process meanwhile.

}  // namespace

RoomScope::RoomScope(bool watched) {
  if (!watched) return;
  const int64_t left = available_memory().bytes();
  rlimit limit{};
  if (left > kMuch || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const auto most = static_cast<rlim_t>(data_bytes() + std::max<int64_t>(0, left - kSpare));
  if (limit.rlim_cur <= most) return;
  before_ = limit;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_DATA, &limit);
}

RoomScope::~RoomScope() {
  if (before_) setrlimit(RLIMIT_DATA, &*before_);
}

std::function<void()> watched_room(bool watched) {
  if (!watched || available_memory().bytes() > kMuch) return {};
  return [calls = 0]() mutable {
    constexpr int kOften = 16;
    if (calls++ % kOften != 0) return;
    const AvailableMemory memory = available_memory();
    if (memory.bytes() > 2 * kSpare) return;
    throw BudgetError("fit: its kernels cannot be compiled: {} leaves {}", memory.binding().name,
                      bytes_text(memory.bytes()));
  };
}

}  // namespace snug
