#include "snug/data/read_probe.h"

#include <gtest/gtest.h>

#include "snug/data/arrays.h"
#include "snug/data/random_source.h"

namespace snug {
namespace {

// A disk with a clock of its own: so long for each stretch, and so long for each row.
class Disk final : public RandomSource {
 public:
  Disk(double seek, double row, int64_t rows = 100'000) : seek_(seek), row_(row) {
    set_fields({{.name = "x", .row = {4}}}, {&rows, 1});
  }
  double clock = 0;

 protected:
  void read_run(int /*field*/, int64_t /*first*/, int64_t count, void* /*to*/,
                DType /*dtype*/) override {
    clock += seek_ + static_cast<double>(count) * row_;
    if (++reads_ == held_up_read) clock += 20e-3;
  }

 public:
  int held_up_read = 0;

 private:
  double seek_, row_;
  int reads_ = 0;
};

ReadProbe probe(Disk disk) {
  return probe_reads(disk, 5, [&disk] { return disk.clock; });
}

TEST(ReadProbe, TellsSeeksFromReading) {
  const ReadProbe slow = probe(Disk(5e-3, 1e-5));
  EXPECT_NEAR(slow.single, 5.01e-3, 1e-6);
  EXPECT_NEAR(slow.stretch, 5e-3 / 16 + 1e-5, 1e-6);
  const ReadProbe fast = probe(Disk(1e-6, 1e-5));
  EXPECT_NEAR(fast.single / fast.stretch, 1.1, 0.02);
}

// Other processes hold up a read now and then.
TEST(ReadProbe, OneReadThatIsHeldUpSaysNothing) {
  for (const int read : {1, 7, 16}) {
    Disk disk(1e-6, 1e-6);
    disk.held_up_read = read;
    const ReadProbe fast = probe(disk);
    EXPECT_NEAR(fast.single, 2e-6, 1e-9);
    EXPECT_FALSE(fast.starves(32, 1e-3));
  }
}

TEST(ReadProbe, LooksNoLongerThanItMust) {
  Disk disk(1, 0);
  probe_reads(disk, 5, [&disk] { return disk.clock; });
  EXPECT_EQ(disk.clock, 3) << "one row, two stretches";
}

TEST(ReadProbe, FewRowsWillDo) {
  EXPECT_GT(probe(Disk(1e-3, 1e-5, 1)).single, 0);
  EXPECT_GT(probe(Disk(1e-3, 1e-5, 3)).stretch, 0);
}

TEST(ReadProbe, StarvesWhereStretchesWouldNot) {
  const ReadProbe slow{.single = 5e-3, .stretch = 1e-4}, cached{.single = 1e-6, .stretch = 1e-7},
      decoded{.single = 5e-3, .stretch = 4e-3};
  EXPECT_TRUE(slow.starves(32, 1e-2));
  EXPECT_FALSE(slow.starves(32, 1)) << "the step takes longer";
  EXPECT_FALSE(cached.starves(32, 1e-6)) << "nobody would notice";
  EXPECT_FALSE(decoded.starves(32, 1e-2)) << "stretches would not help";
}

}  // namespace
}  // namespace snug
