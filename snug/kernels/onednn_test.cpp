#include "snug/kernels/onednn.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "snug/base/error.h"

namespace snug {
namespace {

TEST(Onednn, NamesItsVersionAndInstructionSet) {
  EXPECT_EQ(onednn_version().rfind(
                fmt::format("oneDNN {}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR), 0),
            0u)
      << onednn_version();
}

TEST(Onednn, ABadStatusIsOurMistake) {
  check_onednn(dnnl_success, "engine_create");
  try {
    check_onednn(dnnl_unimplemented, "engine_create");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("dnnl_engine_create failed with no such primitive for this CPU"),
              std::string::npos)
        << error.what();
  }
}

TEST(Onednn, LeavesNoCacheOfPrimitives) {
  onednn_engine();
  int capacity = 0;
  ASSERT_EQ(dnnl_get_primitive_cache_capacity(&capacity), dnnl_success);
  EXPECT_EQ(capacity, 0);
}

TEST(Onednn, PutsTheHostsThreadsBack) {
  const int host = omp_get_max_threads();
  {
    const OnednnThreads guard(host + 3);
    EXPECT_EQ(omp_get_max_threads(), host + 3);
  }
  EXPECT_EQ(omp_get_max_threads(), host);
}

TEST(OnednnFormat, KnowsItsBytes) {
  const int64_t sizes[] = {3, 5}, strides[] = {1, 3}, others[] = {5, 1};
  const OnednnFormat format = OnednnFormat::strided(sizes, strides);
  EXPECT_EQ(format.bytes(), 60u);
  EXPECT_EQ(OnednnFormat().bytes(), 0u);
  EXPECT_TRUE(format == OnednnFormat::strided(sizes, strides));
  EXPECT_FALSE(format == OnednnFormat::strided(sizes, others));
}

}  // namespace
}  // namespace snug
