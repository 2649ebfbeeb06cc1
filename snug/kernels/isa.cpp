#include "snug/kernels/isa.h"

#include "snug/kernels/simd.h"
//
#include <hwy/targets.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

namespace snug {
namespace {

Isa isa_of_cpu() {
  const int64_t targets = hwy::SupportedTargets();
  if (targets & HWY_AVX3) return Isa::avx512;
  return targets & HWY_AVX2 ? Isa::avx2 : Isa::baseline;
}

std::string_view cap_of_environment() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    if (const char* cap = std::getenv(name); cap != nullptr && *cap != 0) return cap;
  }
  return {};
}

// Highway has one choice for the whole process, which the host may use too: without a cap it is
// left alone.
Isa capped() {
  const Isa have = isa_of_cpu();
  const Isa allowed = std::min(have, isa_allowed(cap_of_environment()));
  if (allowed < have) {
    const int64_t above_avx2 = HWY_AVX3 | HWY_AVX3_DL;
    hwy::DisableTargets(allowed == Isa::avx2 ? above_avx2 : above_avx2 | HWY_AVX2);
  }
  return allowed;
}

bool is_amd() {
#if defined(__x86_64__)
  unsigned leaf = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &leaf, &b, &c, &d) != 0 && b == signature_AMD_ebx &&
         c == signature_AMD_ecx && d == signature_AMD_edx;
#else
  return false;
#endif
}

}  // namespace

// AVX512_MIC lacks instructions that Highway's AVX-512 target and oneDNN's matmul are made of.
Isa isa_allowed(std::string_view cap) {
  std::string word(cap);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  if (word == "SSE41" || word == "AVX") return Isa::baseline;
  if (word == "AVX2" || word == "AVX2_VNNI" || word == "AVX2_VNNI_2") return Isa::avx2;
  return word.starts_with("AVX512_MIC") ? Isa::avx2 : Isa::avx512;
}

bool flushes_lines_soon() { return is_amd(); }

int64_t floats_ahead() { return is_amd() ? 0 : 512; }

Isa isa() {
  static const Isa allowed = capped();
  return allowed;
}

}  // namespace snug
