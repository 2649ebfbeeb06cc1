// Finds the command, and turns what it throws into one line and an exit code.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <new>

#include "snug/base/error.h"
#include "snug/base/heap.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/base/threads.h"
#include "snug/cli/arguments.h"
#include "snug/cli/json_text.h"

namespace snug::cli {
namespace {

constexpr int kOurFault = 1;

// Unlike fmt::print, which throws: a log on a disk that is full does not end a run.
template <typename... Args>
void put(FILE* stream, fmt::format_string<Args...> format, Args&&... args) try {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stream);
} catch (const std::exception&) {
  // Nor does a line that there is no memory for.
}

// Progress and news to stdout, unless that is kept for JSON; warnings to stderr.
void start_log(const Arguments& arguments) {
  FILE* news = arguments.json ? stderr : stdout;
  set_log_sink([news, command = arguments.command](LogLevel level, std::string_view message) {
    if (level == LogLevel::debug) return;
    if (level == LogLevel::progress) {
      put(news, "{}", message);
    } else if (level == LogLevel::info) {
      put(news, "{}\n", message);
    } else {
      put(stderr, "snug {}: {}: {}\n", command, name(level), message);
    }
    std::fflush(news);
  });
}

// The library begins with the function's name, which the user has not called; it may stand behind a
// place in the run file.
void drop_call(std::string& message, const std::string& call) {
  const std::string name = call + ": ";
  if (message.starts_with(name)) {
    message.erase(0, name.size());
  } else if (const size_t at = message.find(": " + name); at != std::string::npos) {
    message.erase(at, name.size());
  }
}

int report(const Arguments& arguments, int exit, std::string message) {
  std::fflush(stdout);
  const std::string who = arguments.command.empty() ? "snug" : "snug " + arguments.command;
  for (const char* call : {arguments.command.c_str(), "fit", "compile", "save"})
    drop_call(message, call);
  put(stderr, "{}: {}\n", who, message);
  if (arguments.json) {
    const nlohmann::ordered_json json = {
        {"command", arguments.command}, {"exit", exit}, {"error", message}};
    put(stdout, "{}\n", json_text(json));
  }
  return exit;
}

int run_command(const Arguments& arguments) {
  if (arguments.command == "fit") return fit_command(arguments);
  if (arguments.command == "plan") return plan_command(arguments);
  if (arguments.command == "check") return check_command(arguments);
  if (arguments.command == "summary") return summary_command(arguments);
  if (arguments.command == "checkpoint") return checkpoint_command(arguments);
  if (arguments.command == "evaluate") return evaluate_command(arguments);
  if (arguments.command == "predict") return predict_command(arguments);
  if (arguments.command == "convert") return convert_command(arguments);
  return doctor_command(arguments);
}

// Enough to report with, if the rest of the line is not understood.
Arguments guessed(std::span<const std::string> words) {
  Arguments arguments;
  if (!words.empty() && is_command(words[0])) arguments.command = words[0];
  arguments.json = std::ranges::find(words, "--json") != words.end();
  return arguments;
}

// Who reads it would take nothing, or a part, for the result.
int exit_if_printed(const Arguments& arguments, int exit) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
  const FileError found(
      "stdout: cannot write all that was to be printed; make room on the disk, or look at what "
      "reads it. What the command does was done");
  return report(arguments, found.exit_code(), found.what());
}

int run(std::span<const std::string> words) {
  Arguments arguments = guessed(words);
  try {
    const ParsedArguments parsed = parse_arguments(words);
    put(stdout, "{}", parsed.text);
    int exit = 0;
    if (parsed.arguments) {
      arguments = *parsed.arguments;
      start_log(arguments);
      exit = run_command(arguments);
      set_log_sink({});
    }
    return exit_if_printed(arguments, exit);
  } catch (const InternalError& error) {
    return report(
        arguments, error.exit_code(),
        fmt::format("this is a fault of Snug, not yours; please report it: {}", error.what()));
  } catch (const Error& error) {
    return report(arguments, error.exit_code(), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    const FileError found("{}: {}; check the path", error.path1().string(), error.code().message());
    return report(arguments, found.exit_code(), found.what());
  } catch (const std::bad_alloc&) {
    const BudgetError found(
        "the system gives no more memory; end other programs, or raise the limits of this one "
        "(`snug doctor` names them)");
    return report(arguments, found.exit_code(), found.what());
  } catch (const std::exception& error) {
    return report(
        arguments, kOurFault,
        fmt::format("this is a fault of Snug, not yours; please report it: {}", error.what()));
  }
}

// Where a shell has closed them (>&-), the next file that is opened would be printed to.
void open_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // The lowest number that is free: this one.
    if (::open("/dev/null", O_RDWR) != stream) return;
  }
}

}  // namespace

}  // namespace snug::cli

int main(int argc, char** argv) {
  snug::cli::open_closed_streams();
  snug::use_small_pages();
  snug::use_one_heap();
  snug::ask_for_short_slices();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return snug::cli::run(words);
}
