#include "snug/data/shared_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "snug/data/block_shuffle.h"
#include "snug/data/dataset.h"
#include "snug/data/source_testing.h"
#include "snug/data/split.h"

namespace snug::testing {
namespace {

constexpr int64_t kRows = 400;

// Rows in a file, as far as others can tell: each reader counts the threads that use it.
class OneAtATime final : public Source {
 public:
  OneAtATime(bool has_twin, std::shared_ptr<std::atomic<int>> clashes)
      : has_twin_(has_twin), clashes_(std::move(clashes)) {}

  const std::vector<Field>& fields() const override { return fields_; }
  std::optional<int64_t> rows() const override { return kRows; }
  Access access() const override { return Access::random; }
  int64_t batches_ahead() const override { return kAsManyAsHelp; }
  void read(int /*field*/, std::span<const int64_t> rows, const Tensor& slot) override {
    *clashes_ += inside_++ > 0 ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (size_t i = 0; i < rows.size(); ++i) slot.as<float>()[i] = static_cast<float>(rows[i]);
    --inside_;
  }
  int64_t next(int64_t, std::span<const Tensor>) override { return 0; }
  void restart() override {}
  SourcePtr twin() override {
    return has_twin_ ? std::make_shared<OneAtATime>(true, clashes_) : nullptr;
  }

 private:
  std::vector<Field> fields_ = {{.name = "x", .row = {}}};
  bool has_twin_;
  std::shared_ptr<std::atomic<int>> clashes_;
  std::atomic<int> inside_ = 0;
};

// As a thread that reads ahead does, and the one that trains.
int clashes_of(bool has_twin, const std::function<SourcePtr(SourcePtr)>& training_stage) {
  auto clashes = std::make_shared<std::atomic<int>>(0);
  const data::SplitData split =
      data::split(std::make_shared<OneAtATime>(has_twin, clashes), {.share = 0.5});
  const SourcePtr training = training_stage(split.train);
  const auto read_all = [](Source& source) {
    for (int64_t row = 0; row < *source.rows(); row += 10) {
      std::vector<int64_t> rows(10);
      std::iota(rows.begin(), rows.end(), row);
      testing::read_rows(source, 0, rows);
    }
  };
  std::thread ahead([&] { read_all(*training); });
  read_all(*split.validation);
  ahead.join();
  return *clashes;
}

SourcePtr as_it_is(SourcePtr source) { return source; }
SourcePtr in_blocks(SourcePtr source) {
  return data::block_shuffled(std::move(source), {.window_bytes = 64, .block_bytes = 16});
}
SourcePtr mapped(SourcePtr source) {
  const auto copy = [](std::span<const Tensor> in, std::span<const Tensor> out) {
    std::ranges::copy(in[0].as<float>(), out[0].as<float>().begin());
  };
  return data::mapped(std::move(source), copy, {.x = Shape{}, .num_parallel_calls = 1});
}

TEST(SharedSource, BothSidesOfASplitMayBeReadAtOnce) {
  EXPECT_EQ(clashes_of(/*has_twin=*/false, as_it_is), 0);
  EXPECT_EQ(clashes_of(/*has_twin=*/false, in_blocks), 0);
}

// A stage that one thread must do reads the source itself, and not by a twin.
TEST(SharedSource, AStageWithoutATwinMeetsNobody) {
  EXPECT_EQ(clashes_of(/*has_twin=*/true, in_blocks), 0);
  EXPECT_EQ(clashes_of(/*has_twin=*/true, mapped), 0);
  EXPECT_EQ(clashes_of(/*has_twin=*/false, mapped), 0);
}

TEST(SharedSource, IsWrappedOnceAndOnlyWhereThreadsReadAhead) {
  const std::vector<float> x = {1, 2};
  const SourcePtr held = data::arrays({.x = {Array(x)}});
  EXPECT_EQ(data::shared(held), held);
  auto clashes = std::make_shared<std::atomic<int>>(0);
  const SourcePtr file = data::shared(std::make_shared<OneAtATime>(true, clashes));
  EXPECT_EQ(data::shared(file), file);
  EXPECT_EQ(file->place(0, 7), "x: row 7");
  EXPECT_EQ(read_rows(*file, 0, {3, 1}), (std::vector<float>{3, 1}));
  EXPECT_TRUE(file->twin());
}

// take() and skip() are a split by hand.
TEST(SharedSource, PartsOfADatasetMayBeReadAtOnce) {
  auto clashes = std::make_shared<std::atomic<int>>(0);
  const Dataset all(std::make_shared<OneAtATime>(false, clashes));
  const SourcePtr first = all.take(200).source(), second = all.skip(200).source();
  const auto read_all = [](Source& source) {
    for (int64_t row = 0; row < *source.rows(); ++row) read_rows(source, 0, {row});
  };
  std::thread ahead([&] { read_all(*first); });
  read_all(*second);
  ahead.join();
  EXPECT_EQ(*clashes, 0);
}

}  // namespace
}  // namespace snug::testing
