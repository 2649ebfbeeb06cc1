// Whether a sanitizer watches: its own memory is in every figure of the process, so tests of such
// figures are left out then.
#pragma once

namespace snug::testing {

#if defined(__has_feature)
#define SNUG_HAS_FEATURE(name) __has_feature(name)
#else
#define SNUG_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || SNUG_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || SNUG_HAS_FEATURE(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = kThreadSanitized;
#endif

#undef SNUG_HAS_FEATURE

}  // namespace snug::testing
