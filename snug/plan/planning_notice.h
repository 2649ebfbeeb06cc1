// A word to whoever waits: a search for a plan may take seconds.
#pragma once

#include <chrono>
#include <functional>

namespace snug {

// While it lives, a search of this thread calls `say` once, when it goes on after so long. It must
// not throw. One inside of another says nothing.
class PlanningNotice {
 public:
  static constexpr std::chrono::milliseconds kAfter{1000};

  explicit PlanningNotice(std::function<void()> say, std::chrono::milliseconds after = kAfter);
  ~PlanningNotice();
  PlanningNotice(const PlanningNotice&) = delete;
  PlanningNotice& operator=(const PlanningNotice&) = delete;

  // By the searches, before each plan that they look for.
  static void look_at_clock();

 private:
  using Clock = std::chrono::steady_clock;

  std::function<void()> say_;
  Clock::time_point due_;
  bool is_outermost_;
};

}  // namespace snug
