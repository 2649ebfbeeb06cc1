#include "snug/base/log.h"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

namespace snug {
namespace {

struct Log {
  std::mutex mutex;
  LogSink sink;
  std::atomic<bool> is_on = false;
};

// Never destroyed, so that a thread may log while the process ends.
Log& process_log() {
  static Log& log = *new Log;
  return log;
}

thread_local bool inside_sink = false;

}  // namespace

LogSink set_log_sink(LogSink sink) {
  Log& log = process_log();
  const std::lock_guard lock(log.mutex);
  log.is_on = static_cast<bool>(sink);
  return std::exchange(log.sink, std::move(sink));
}

bool log_is_on() { return process_log().is_on.load(std::memory_order_relaxed); }

void send_to_log(LogLevel level, std::string_view message) {
  if (inside_sink) return;
  Log& log = process_log();
  const std::lock_guard lock(log.mutex);
  if (!log.sink) return;
  inside_sink = true;
  log.sink(level, message);
  inside_sink = false;
}

std::string_view name(LogLevel level) {
  constexpr std::array<std::string_view, 5> kNames = {"debug", "progress", "info", "warning",
                                                     "error"};
  return kNames[static_cast<size_t>(level)];
}

}  // namespace snug
