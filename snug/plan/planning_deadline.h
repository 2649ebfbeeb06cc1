// An end to searches that only advise.
#pragma once

#include <ctime>

#include "snug/base/error.h"

namespace snug {

// A search was broken off: whether there is a plan is not known.
class OutOfTimeError : public BudgetError {
 public:
  OutOfTimeError() : BudgetError("the search for a plan was broken off; give it more time") {}
};

// While it lives, a search of this thread that goes on after so many seconds of the process's own
// time throws OutOfTimeError. The innermost counts.
class PlanningDeadline {
 public:
  explicit PlanningDeadline(double seconds);
  ~PlanningDeadline();
  PlanningDeadline(const PlanningDeadline&) = delete;
  PlanningDeadline& operator=(const PlanningDeadline&) = delete;

  // By the searches, now and then.
  static void look_at_clock();

 private:
  std::clock_t end_;
  PlanningDeadline* outer_;
};

}  // namespace snug
