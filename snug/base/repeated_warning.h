// A warning about something that keeps failing: told at first, and then more and more rarely.
#pragma once

#include <cstdint>
#include <string_view>

#include "snug/base/log.h"

namespace snug {

// One thread at a time.
class RepeatedWarning {
 public:
  // Told of the 1st failure, the 10th, the 100th, ...
  void failed(std::string_view message) {
    successes_ = 0;
    if (++failures_ != next_) return;
    next_ *= 10;
    log_message(LogLevel::warning, "{}", message);
  }
  // After some time without a failure the next one is a first one again. Not at once: a disk that
  // is nearly full takes one write and refuses the next.
  void worked() {
    if (++successes_ < kCalm) return;
    failures_ = 0;
    next_ = 1;
  }

 private:
  static constexpr int64_t kCalm = 100;
  int64_t failures_ = 0, successes_ = 0, next_ = 1;
};

}  // namespace snug
