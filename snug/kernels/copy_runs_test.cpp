#include "snug/kernels/copy_runs.h"

#include <vector>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(int64_t n) {
  Bytes bytes(static_cast<size_t>(n));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

// Runs of every length around the borders of vectors, more of them than are called for ahead.
TEST(CopyRuns, CopyTheirBytesAndNoOther) {
  for (const int64_t bytes : {1, 7, 16, 63, 64, 65, 127, 200, 1024, 5000}) {
    for (const int64_t count : {1, 2, 40}) {
      const int64_t from_step = bytes + 5, to_step = bytes + 3;
      const Bytes from = numbered(from_step * count);
      Bytes to(static_cast<size_t>(to_step * count), std::byte{99}), expected = to;
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(from.begin() + i * from_step, bytes, expected.begin() + i * to_step);
      copy_runs({from.data(), from_step}, {to.data(), to_step}, bytes, count);
      ASSERT_EQ(to, expected) << bytes << " bytes, " << count << " runs";
    }
  }
}

// A step of 0 repeats a run, a negative one goes backwards.
TEST(CopyRuns, RepeatAndTurnRound) {
  const Bytes from = numbered(300);
  Bytes to(300);
  copy_runs({from.data(), 0}, {to.data(), 100}, 100, 3);
  for (int64_t i = 0; i < 300; ++i) ASSERT_EQ(to[i], from[i % 100]);
  copy_runs({from.data() + 200, -100}, {to.data(), 100}, 100, 3);
  for (int64_t i = 0; i < 300; ++i) ASSERT_EQ(to[i], from[200 - i / 100 * 100 + i % 100]);
}

}  // namespace
}  // namespace snug::kernels
