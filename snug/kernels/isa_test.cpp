#include "snug/kernels/isa.h"

#include "snug/kernels/simd.h"
//
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace snug {
namespace {

TEST(Isa, CapIsReadAsOneDnnReadsIt) {
  EXPECT_EQ(isa_allowed("AVX2"), Isa::avx2);
  EXPECT_EQ(isa_allowed("avx2"), Isa::avx2);
  EXPECT_EQ(isa_allowed("AVX2_VNNI"), Isa::avx2);
  EXPECT_EQ(isa_allowed("AVX512_MIC"), Isa::avx2);
  EXPECT_EQ(isa_allowed("SSE41"), Isa::baseline);
  EXPECT_EQ(isa_allowed("AVX"), Isa::baseline);
  EXPECT_EQ(isa_allowed("AVX512_CORE"), Isa::avx512);
  EXPECT_EQ(isa_allowed("AVX512_CORE_BF16"), Isa::avx512);
  EXPECT_EQ(isa_allowed("ALL"), Isa::avx512);
  EXPECT_EQ(isa_allowed(""), Isa::avx512);
}

TEST(Isa, HighwayChoosesNothingAbove) {
  const int64_t targets = hwy::SupportedTargets();
  EXPECT_EQ((targets & HWY_AVX3) != 0, isa() == Isa::avx512);
  EXPECT_EQ((targets & HWY_AVX2) != 0, isa() >= Isa::avx2);
}

// This program again, with a cap, as the variable is read before main.
std::string output_with(const std::string& setting) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env -u ONEDNN_MAX_CPU_ISA -u DNNL_MAX_CPU_ISA " + setting + " '" +
                              program +
                              "' --gtest_filter=Isa.DISABLED_Print "
                              "--gtest_also_run_disabled_tests";
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 256> line;
  while (pipe != nullptr && fgets(line.data(), line.size(), pipe)) output += line.data();
  return pipe != nullptr && pclose(pipe) == 0 ? output : "";
}

TEST(Isa, DISABLED_Print) {
  const int64_t targets = hwy::SupportedTargets();
  const char* best = targets & HWY_AVX3   ? "AVX3"
                     : targets & HWY_AVX2 ? "AVX2"
                     : targets & HWY_SSE4 ? "SSE4"
                                          : "baseline";
  std::printf("Highway takes %s\n", best);
}

TEST(Isa, CapReachesHighway) {
  if (isa() == Isa::baseline) GTEST_SKIP() << "nothing to cap here";
  for (const std::string name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    EXPECT_NE(output_with(name + "=AVX2").find("Highway takes AVX2"), std::string::npos);
    EXPECT_NE(output_with(name + "=SSE41").find("Highway takes SSE4"), std::string::npos);
  }
}

}  // namespace
}  // namespace snug
