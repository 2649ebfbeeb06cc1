// For tests of messages.
#pragma once

#include <string>

#include "snug/base/error.h"

namespace snug::cli {

// What the function throws as an Error, or "nothing".
template <typename Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace snug::cli
