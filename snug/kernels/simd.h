// Included before anything of Highway in every source that uses it: fixes the targets that are
// compiled (baseline, AVX2, AVX-512) and holds Highway's run-time choice to isa(). The sanitizers
// look at AVX2 only: their builds take long, and the sources are the same.
#pragma once

#include "snug/kernels/isa.h"

#ifdef HWY_HIGHWAY_INCLUDED
#error "snug/kernels/simd.h must come before Highway's headers"
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SNUG_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SNUG_SANITIZED 1
#endif
#endif
#ifdef SNUG_SANITIZED
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif

namespace snug {

// Their initialisers run before the first dispatch in a source that includes this file.
inline const Isa kIsa = isa();
inline const int64_t kFloatsAhead = floats_ahead();

}  // namespace snug
