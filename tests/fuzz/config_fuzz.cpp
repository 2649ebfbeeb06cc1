// Any bytes as the config of a model: read, or refused with an error of the user's kind.

#include "snug/interop/network_config.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto network = snug::read_network(snug::parse_json(text, "input"));
    network->set_paths();
    snug::write_network(*network);
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
    return 0;
  }
  return 0;
}
