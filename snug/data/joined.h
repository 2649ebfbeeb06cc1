// Two sources as one.
#pragma once

#include "snug/data/source.h"

namespace snug::data {

// Sources with random access. The rows of the first, then those of the second. Throws Error, which
// names both, when their fields differ in number, role or shape.
SourcePtr concatenated(SourcePtr first, SourcePtr second);

// The fields of both, row by row. Throws Error when both have weights.
SourcePtr zipped(SourcePtr first, SourcePtr second);

// So many rows, whose only field is their own number, counted from `first`.
SourcePtr numbered(int64_t count, int64_t first = 0);

}  // namespace snug::data
