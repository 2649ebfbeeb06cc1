#include "snug/plan/planning_notice.h"

#include <utility>

namespace snug {
namespace {

thread_local PlanningNotice* notice = nullptr;

}  // namespace

PlanningNotice::PlanningNotice(std::function<void()> say, std::chrono::milliseconds after)
    : say_(std::move(say)), due_(Clock::now() + after), is_outermost_(notice == nullptr) {
  if (is_outermost_) notice = this;
}

PlanningNotice::~PlanningNotice() {
  if (is_outermost_) notice = nullptr;
}

void PlanningNotice::look_at_clock() {
  if (notice == nullptr || !notice->say_ || Clock::now() < notice->due_) return;
  std::exchange(notice->say_, {})();
}

}  // namespace snug
