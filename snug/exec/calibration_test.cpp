#include "snug/exec/calibration.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace snug {
namespace {

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("snug-speed-{}", getpid())) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  const Path& path() const { return path_; }

 private:
  Path path_;
};

TEST(Calibration, GivesNumbersThatCanBe) {
  const CostModel costs = measure_costs(2);
  for (const Rate& rate :
       {costs.matmul, costs.convolution, costs.other, costs.cache, costs.memory, costs.weights}) {
    EXPECT_GT(rate.one, 0.001);
    EXPECT_LT(rate.one, 1e5);
    EXPECT_GE(rate.all, rate.one);
  }
  EXPECT_GT(costs.node_ns, 0);
  EXPECT_GE(costs.fork_ns, 0);
}

TEST(Calibration, ComesBackAsItWasStored) {
  const Folder folder;
  EXPECT_FALSE(stored_costs(real_files(), folder.path(), 1));
  const CostModel measured = calibrated_costs(real_files(), folder.path(), 1);
  const std::optional<CostModel> stored = stored_costs(real_files(), folder.path(), 1);
  ASSERT_TRUE(stored);
  EXPECT_EQ(text_of(*stored, "m"), text_of(measured, "m"));
  EXPECT_EQ(text_of(calibrated_costs(real_files(), folder.path(), 1), "m"), text_of(measured, "m"));
  EXPECT_FALSE(stored_costs(real_files(), folder.path(), 2)) << "that is another number of threads";
}

TEST(Calibration, RefusesWhatIsOfAnotherMachineOrBroken) {
  const std::string text = text_of({}, "here");
  EXPECT_TRUE(costs_in(text, "here"));
  EXPECT_FALSE(costs_in(text, "there"));
  EXPECT_FALSE(costs_in(text.substr(0, text.size() / 2), "here"));
  EXPECT_FALSE(costs_in("", "here"));
  std::string broken = text;
  broken.replace(broken.find("cache_one: "), 12, "cache_one: -");
  EXPECT_FALSE(costs_in(broken, "here"));
}

TEST(Calibration, NeedsNoFolder) {
  EXPECT_GT(calibrated_costs(real_files(), {}, 1).matmul.one, 0);
  EXPECT_GT(calibrated_costs(real_files(), "/proc/nowhere", 1).matmul.one, 0);
}

}  // namespace
}  // namespace snug
