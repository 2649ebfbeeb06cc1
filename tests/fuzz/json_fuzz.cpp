// Any bytes as JSON: read, or refused with an error of the user's kind.

#include "snug/interop/json.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    snug::shown(snug::parse_json(text, "input"));
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
    return 0;
  }
  return 0;
}
