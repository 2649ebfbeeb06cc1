// A JSON text.

#include "snug/interop/json.h"
#include "tests/fuzz/fuzz.h"

void snug::fuzz::read_input(Input bytes) { shown(parse_json(text_of(bytes), "input")); }
