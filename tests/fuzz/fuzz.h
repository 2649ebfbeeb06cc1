// What a fuzzer is: `read_input` in a file of its own. Any bytes are read, or refused with an error
// of the user's kind; fuzz.cpp hands them over and lets everything else through to libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "snug/base/error.h"

namespace snug::fuzz {

using Input = std::span<const uint8_t>;

// Defined by each fuzzer. May throw Error, but not InternalError.
void read_input(Input bytes);

inline std::string_view text_of(Input bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// For a fuzzer that reads the same bytes in several ways: each of them may be refused.
template <typename Read>
void refused_or_read(const Read& read) {
  try {
    read();
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
    return;
  }
}

}  // namespace snug::fuzz
