// Included before anything of Highway in every source that uses it: fixes the targets that are
// compiled (baseline, SSE4, AVX2, AVX-512) and holds Highway's run-time choice to isa().
#pragma once

#include "snug/kernels/isa.h"

#ifdef HWY_HIGHWAY_INCLUDED
#error "snug/kernels/simd.h must come before Highway's headers"
#endif
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)

namespace snug {

// Its initialiser runs before the first dispatch in a source that includes this file.
inline const Isa kIsa = isa();

}  // namespace snug
