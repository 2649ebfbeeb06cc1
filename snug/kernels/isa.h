// Which instruction set the kernels may use.
#pragma once

#include <cstdint>
#include <string_view>

namespace snug {

enum class Isa { baseline, avx2, avx512 };

// The lesser of what this CPU has and the cap in ONEDNN_MAX_CPU_ISA or DNNL_MAX_CPU_ISA, read once,
// before main: oneDNN obeys the same variable, so one switch puts both on the same path. Highway's
// dispatch is held to the same answer.
Isa isa();

// What a cap such as "AVX2" or "avx512_core_bf16" allows. As in oneDNN, case does not matter, and a
// word that is not known (or none) caps nothing.
Isa isa_allowed(std::string_view cap);

// Whether a line that was flushed out of all caches comes back soon (AMD's CPUs). On Intel's it
// comes from the memory: a step of W3 on two threads took 1,340 us with flushes in its update and
// takes 525 without (Sapphire Rapids).
bool flushes_lines_soon();

// How many floats before its turn a loop calls for what it reads and writes. Intel's CPUs do it by
// themselves, but too late for loops with some arithmetic in them: out of cache they take 0.65 to
// 0.8 of the time (Sapphire Rapids). AMD's need no help, and are slower with it: rows of a layer
// norm took 1.5 times as long (Zen 4); so there it is 0.
int64_t floats_ahead();

}  // namespace snug
