// A warning about something that keeps failing: told at first, and then from time to time.
#pragma once

#include <cstdint>
#include <string_view>

#include "snug/base/log.h"

namespace snug {

// One thread at a time.
class RepeatedWarning {
 public:
  void failed(std::string_view message) {
    if (failures_++ % kEvery == 0) log_message(LogLevel::warning, "{}", message);
  }
  // The next failure is a first one again.
  void worked() { failures_ = 0; }
  int64_t failures() const { return failures_; }  // In a row.

 private:
  static constexpr int64_t kEvery = 10;
  int64_t failures_ = 0;
};

}  // namespace snug
