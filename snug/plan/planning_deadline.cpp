#include "snug/plan/planning_deadline.h"

#include <utility>

namespace snug {
namespace {

thread_local PlanningDeadline* deadline = nullptr;

}  // namespace

PlanningDeadline::PlanningDeadline(double seconds)
    : end_(std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC)),
      outer_(std::exchange(deadline, this)) {}

PlanningDeadline::~PlanningDeadline() { deadline = outer_; }

void PlanningDeadline::look_at_clock() {
  if (deadline != nullptr && std::clock() > deadline->end_) throw OutOfTimeError();
}

}  // namespace snug
