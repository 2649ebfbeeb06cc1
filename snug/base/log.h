// Messages for the host program. The library prints nothing: without a sink, a message goes
// nowhere.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace snug {

// `progress` is text for a terminal as it stands, control characters included: to be written
// without a newline.
enum class LogLevel { debug, progress, info, warning, error };

// Called by one thread at a time, with one message without a newline. It must not throw or set
// another sink; what it logs itself is dropped.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Puts `sink` in place for the whole process and returns the one it replaces; an empty sink
// switches logging off. When it returns, the old sink is not running and will not be called again.
LogSink set_log_sink(LogSink sink);

// Whether anybody listens: for messages that are dear to make.
bool log_is_on();

void send_to_log(LogLevel level, std::string_view message);

// Formats only if anybody listens. Any thread may call it.
template <typename... Args>
void log_message(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_is_on()) send_to_log(level, fmt::format(format, std::forward<Args>(args)...));
}

// "debug", "info", "warning", "error".
std::string_view name(LogLevel level);

}  // namespace snug
