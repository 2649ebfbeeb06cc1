// What the library warns of, for tests.
#pragma once

#include <string>

#include "snug/base/log.h"

namespace snug::testing {

// Hears the log as long as it lives.
class Warnings {
 public:
  Warnings() {
    before_ = set_log_sink([this](LogLevel level, std::string_view message) {
      if (level == LogLevel::warning) text_ += std::string(message) + "\n";
    });
  }
  ~Warnings() { set_log_sink(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  const std::string& text() const { return text_; }

 private:
  LogSink before_;
  std::string text_;
};

}  // namespace snug::testing
