// What goes wrong, and who can mend it. A mistake of the user's throws Error or one of its kinds; a
// mistake of ours fails SNUG_CHECK and throws InternalError; an expected outcome is an optional and
// throws nothing.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace snug {

// One sentence: "where: what is wrong, with the values; what to do".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}

  // The exit code of the CLI for this kind of error.
  virtual int exit_code() const { return 2; }
};

// Shapes or types that do not go together, found when a node is added.
class ShapeError : public Error {
 public:
  using Error::Error;
};

// The run does not fit the memory budget.
class BudgetError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 3; }
};

// A row, a label or a cell that cannot be trained on.
class DataError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 4; }
};

// The guard stopped the run before a bad update.
class NumericsError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 5; }
};

// A file or the disk failed us.
class FileError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 6; }
};

// A file of ours that is damaged.
class CorruptFile : public FileError {
 public:
  using FileError::FileError;
};

// A mistake in Snug itself.
class InternalError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 1; }
};

inline std::string check_detail() { return {}; }
template <typename... Args>
std::string check_detail(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& detail);

}  // namespace snug

// Holds or Snug is wrong. Never used on input. A format and its arguments may follow the condition.
#define SNUG_CHECK(condition, ...)                                                           \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      ::snug::fail_check(__FILE__, __LINE__, #condition, ::snug::check_detail(__VA_ARGS__)); \
    }                                                                                        \
  } while (false)
