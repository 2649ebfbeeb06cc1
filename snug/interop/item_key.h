// What stands between the brackets of x[:, 0], as Keras's files have it: numbers, null (a new
// axis), {"class_name": "__slice__"} and {"class_name": "__ellipsis__"}.
#pragma once

#include <vector>

#include "snug/interop/json.h"
#include "snug/nn/get_item.h"

namespace snug {

OrderedJson write_key(const std::vector<ops::Index>& key);

// A list of them, or one alone. Throws Error for anything else.
std::vector<ops::Index> read_key(const Json& json);

}  // namespace snug
