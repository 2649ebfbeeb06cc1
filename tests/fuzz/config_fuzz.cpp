// The config of a model: what was read is written again.

#include "snug/interop/network_config.h"
#include "tests/fuzz/fuzz.h"

void snug::fuzz::read_input(Input bytes) {
  const auto network = read_network(parse_json(text_of(bytes), "input"));
  network->set_paths();
  write_network(*network);
}
