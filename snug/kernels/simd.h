// Included before anything of Highway in every source that uses it: fixes the targets that are
// compiled (baseline, AVX2, AVX-512) and holds Highway's run-time choice to isa(). The sanitizers
// look at AVX2 only, for their builds take long; of the few kernels that are for AVX-512 alone
// (pooled_winograd, pooled_gather, pointwise) they see nothing: -DSNUG_SANITIZE_ALL_TARGETS.
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
#if defined(SNUG_SANITIZED) && !defined(SNUG_SANITIZE_ALL_TARGETS)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif

namespace snug {

// Their initialisers run before the first dispatch in a source that includes this file.
inline const Isa kIsa = isa();
inline const int64_t kFloatsAhead = floats_ahead();

}  // namespace snug
