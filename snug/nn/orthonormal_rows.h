#pragma once

#include <cstdint>
#include <span>

namespace snug {

// Turns `count` vectors of `length` elements (count <= length) into orthonormal ones that span the
// same space, each with a positive share of the vector that stood in its place: the QR
// decomposition with a positive diagonal.
void make_orthonormal_rows(std::span<float> vectors, int64_t count, int64_t length);

}  // namespace snug
