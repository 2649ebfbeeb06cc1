// Numbers that are looked up in tables: those that a table does not have are bad data.
#pragma once

#include <optional>

#include "snug/data/source.h"
#include "snug/graph/graph.h"

namespace snug {

// The rows of the smallest table in which the numbers of this input are looked up as they are, or
// nullopt where they are not: they must be from 0 up to, but not, this. Numbers that the step
// changes first (other than in shape and type) are not followed.
std::optional<int64_t> ids_below(const Graph& graph, Value input);

// The first element of the slot (int32, or float32 that is cut to a whole number) that is no such
// number, or nullopt.
std::optional<int64_t> first_bad_id(const Tensor& slot, int64_t below);

}  // namespace snug
