#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "snug/cli/command.h"

namespace snug::cli {

struct ParsedArguments {
  std::optional<Arguments> arguments;
  std::string text;  // What to print where there is nothing to run: help, or the version.
};

// Without the name of the program. Throws Error, which names the nearest right word, for what it
// does not understand.
ParsedArguments parse_arguments(std::span<const std::string> words);

bool is_command(std::string_view word);

// The version of Snug.
std::string version();

}  // namespace snug::cli
