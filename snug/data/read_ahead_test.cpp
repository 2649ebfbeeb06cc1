#include "snug/data/read_ahead.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "snug/data/arrays.h"
#include "snug/data/permutation.h"
#include "snug/data/source_testing.h"
#include "snug/testing/sanitized.h"

namespace snug {
namespace {

// Rows that say their own number, some of which are bad; counts how often each was read.
class Numbered final : public Source {
 public:
  struct Log {
    explicit Log(int64_t rows) : reads(static_cast<size_t>(rows)) {}
    std::vector<std::atomic<int>> reads;
    std::atomic<int> inside = 0;
  };
  Numbered(int64_t rows, std::vector<int64_t> bad, bool has_twin)
      : Numbered(std::make_shared<Log>(rows), std::move(bad), has_twin) {}
  Numbered(std::shared_ptr<Log> log, std::vector<int64_t> bad, bool has_twin)
      : log_(std::move(log)), bad_(std::move(bad)), has_twin_(has_twin) {}

  const std::vector<Field>& fields() const override { return fields_; }
  std::optional<int64_t> rows() const override { return std::ssize(log_->reads); }
  Access access() const override { return Access::random; }
  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    const int others = log_->inside++;
    EXPECT_TRUE(has_twin_ || others == 0) << "two threads use one source";
    for (size_t i = 0; i < rows.size(); ++i) {
      if (std::ranges::count(bad_, rows[i]) > 0) {
        --log_->inside;
        throw DataError("row {} is bad", rows[i]);
      }
      if (field == 0) ++log_->reads[static_cast<size_t>(rows[i])];
      slot.as<float>()[i] = static_cast<float>(rows[i] * (field + 1));
    }
    --log_->inside;
  }
  int64_t next(int64_t, std::span<const Tensor>) override { return 0; }
  void restart() override {}
  SourcePtr twin() override {
    return has_twin_ ? std::make_shared<Numbered>(log_, bad_, true) : nullptr;
  }
  const Log& log() const { return *log_; }

 private:
  std::vector<Field> fields_ = {{.name = "x", .row = {}},
                                {.name = "y", .role = FieldRole::target, .row = {}}};
  std::shared_ptr<Log> log_;
  std::vector<int64_t> bad_;
  bool has_twin_;
};

ReadAheadOptions options(int64_t batch, size_t bytes, int threads) {
  const Type number{DType::float32, Shape{}};
  return {.slots = {number, number}, .batch_rows = batch, .bytes = bytes, .threads = threads};
}

ReadAhead::Numbers shuffled(int64_t rows, uint64_t seed) {
  return [order = Permutation(rows, seed, 0)](int64_t first, std::span<int64_t> numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = order(first + static_cast<int64_t>(i));
  };
}

// All batches from a position on, as a stager asks for them.
std::vector<float> batches_of(ReadAhead& ahead, const ReadAhead::Numbers& numbers, int64_t first,
                              int64_t end, int64_t batch) {
  std::vector<float> all;
  std::vector<int64_t> rows(static_cast<size_t>(batch));
  for (int64_t position = first; position < end; position += batch) {
    const int64_t count = std::min(batch, end - position);
    rows.resize(static_cast<size_t>(count));
    numbers(position, rows);
    testing::OwnedSlot<float> x(count, Shape{}), y(count, Shape{});
    const std::vector<Tensor> slots = {x.tensor(), y.tensor()};
    ahead.read_rows(rows, slots);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(y.values()[static_cast<size_t>(i)], 2 * x.values()[static_cast<size_t>(i)]);
    }
    all.insert(all.end(), x.values().begin(), x.values().end());
  }
  return all;
}

TEST(ReadAhead, GivesTheSameRowsForAnyDepthAndThreads) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const auto rows = static_cast<int64_t>(1 + random() % 900);
    const auto batch = static_cast<int64_t>(1 + random() % 70);
    const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
    const size_t bytes = trial % 3 == 0 ? 0 : 128 << random() % 8;
    const auto source = std::make_shared<Numbered>(rows, std::vector<int64_t>(), trial % 2 == 0);
    ReadAheadOptions how = options(batch, bytes, 1 + trial % 3);
    // Both ways of reading, by turns of a few batches.
    if (trial % 4 < 2) how.turn = std::chrono::nanoseconds(0);
    ReadAhead ahead(source, how);
    const ReadAhead::Numbers numbers = shuffled(rows, random());
    ahead.begin_pass(0);
    ahead.announce(numbers, first, rows);
    const std::vector<float> given = batches_of(ahead, numbers, first, rows, batch);
    std::vector<int64_t> expected(static_cast<size_t>(rows - first));
    numbers(first, expected);
    EXPECT_TRUE(std::ranges::equal(given, expected)) << trial;
    for (const int64_t row : expected) {
      // Twice only where the thread was too slow to wait for.
      const int reads = source->log().reads[static_cast<size_t>(row)];
      EXPECT_TRUE(reads == 1 || (reads == 2 && trial % 2 == 0)) << reads;
    }
  }
}

TEST(ReadAhead, AnAnnouncementEndsTheOneBefore) {
  const auto source = std::make_shared<Numbered>(500, std::vector<int64_t>(), true);
  ReadAhead ahead(source, options(20, 4096, 2));
  for (uint64_t pass = 0; pass < 40; ++pass) {
    const ReadAhead::Numbers numbers = shuffled(500, pass);
    ahead.begin_pass(pass);
    ahead.announce(numbers, 0, 500);
    // Left in the middle.
    const auto end = static_cast<int64_t>(20 * (1 + pass % 20));
    const std::vector<float> given = batches_of(ahead, numbers, 0, end, 20);
    std::vector<int64_t> expected(static_cast<size_t>(end));
    numbers(0, expected);
    EXPECT_TRUE(std::ranges::equal(given, expected));
  }
}

TEST(ReadAhead, RowsThatWereNotAnnouncedAreReadToo) {
  const auto source = std::make_shared<Numbered>(100, std::vector<int64_t>(), true);
  ReadAhead ahead(source, options(10, 1024, 2));
  EXPECT_EQ(testing::read_rows(ahead, 1, {7, 3}), (std::vector<float>{14, 6}));
  testing::OwnedSlot<float> x(3, Shape{});
  ahead.read_rows(std::vector<int64_t>{9, 8, 1}, std::vector<Tensor>{x.tensor(), {}});
  EXPECT_EQ(x.values(), (std::vector<float>{9, 8, 1}));
}

// The first bad row in the order in which rows are asked for, wherever it was read.
TEST(ReadAhead, AnErrorReachesTheCallerWithItsBatch) {
  for (const size_t bytes : {size_t{0}, size_t{256}, size_t{8192}}) {
    for (const int threads : {1, 2, 3}) {
      const auto source =
          std::make_shared<Numbered>(300, std::vector<int64_t>{150, 180, 151}, true);
      ReadAhead ahead(source, options(30, bytes, threads));
      const auto in_order = [](int64_t first, std::span<int64_t> rows) {
        std::iota(rows.begin(), rows.end(), first);
      };
      ahead.begin_pass(0);
      ahead.announce(in_order, 0, 300);
      EXPECT_EQ(std::ssize(batches_of(ahead, in_order, 0, 150, 30)), 150);
      EXPECT_EQ(testing::message_of<DataError>([&] { batches_of(ahead, in_order, 150, 180, 30); }),
                "row 150 is bad");
      // It can be begun again.
      ahead.begin_pass(1);
      ahead.announce(in_order, 0, 300);
      EXPECT_EQ(std::ssize(batches_of(ahead, in_order, 0, 90, 30)), 90);
    }
  }
}

// A thread that is slow, as on a busy machine, holds nobody up: its rows are read by the caller.
TEST(ReadAhead, ASlowThreadIsNotWaitedFor) {
  class Slow final : public Source {
   public:
    explicit Slow(bool is_twin) : is_twin_(is_twin) {}
    const std::vector<Field>& fields() const override { return fields_; }
    std::optional<int64_t> rows() const override { return 40; }
    Access access() const override { return Access::random; }
    void read(int, std::span<const int64_t> rows, const Tensor& slot) override {
      if (is_twin_) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      for (size_t i = 0; i < rows.size(); ++i) slot.as<float>()[i] = static_cast<float>(rows[i]);
    }
    int64_t next(int64_t, std::span<const Tensor>) override { return 0; }
    void restart() override {}
    SourcePtr twin() override { return std::make_shared<Slow>(true); }

   private:
    std::vector<Field> fields_ = {{.name = "x", .row = {}}};
    bool is_twin_;
  };
  const ReadAheadOptions options{
      .slots = {Type{DType::float32, Shape{}}}, .batch_rows = 4, .bytes = 1024, .threads = 1};
  ReadAhead ahead(std::make_shared<Slow>(false), options);
  const ReadAhead::Numbers numbers = shuffled(40, 3);
  for (uint64_t pass = 0; pass < 3; ++pass) {
    ahead.begin_pass(pass);
    ahead.announce(numbers, 0, 40);
    for (int64_t first = 0; first < 40; first += 4) {
      std::vector<int64_t> rows(4);
      numbers(first, rows);
      testing::OwnedSlot<float> x(4, Shape{});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ahead.read_rows(rows, std::vector<Tensor>{x.tensor()});
      EXPECT_TRUE(std::ranges::equal(x.values(), rows));
    }
  }
}

// A thread that could read everything ahead does not always get to: the other way is tried.
TEST(ReadAhead, TheCallerReadsByTurns) {
  class Named final : public Source {
   public:
    const std::vector<Field>& fields() const override { return fields_; }
    std::optional<int64_t> rows() const override { return 400; }
    Access access() const override { return Access::random; }
    void read(int, std::span<const int64_t> rows, const Tensor& slot) override {
      const bool here = std::this_thread::get_id() == caller_;
      for (size_t i = 0; i < rows.size(); ++i) slot.as<float>()[i] = here ? 1.0F : 0.0F;
    }
    int64_t next(int64_t, std::span<const Tensor>) override { return 0; }
    void restart() override {}
    SourcePtr twin() override { return std::make_shared<Named>(*this); }

   private:
    std::thread::id caller_ = std::this_thread::get_id();
    std::vector<Field> fields_ = {{.name = "x", .row = {}}};
  };
  ReadAheadOptions how{
      .slots = {Type{DType::float32, Shape{}}}, .batch_rows = 4, .bytes = 1024, .threads = 1};
  how.turn = std::chrono::nanoseconds(0);
  ReadAhead ahead(std::make_shared<Named>(), how);
  const ReadAhead::Numbers numbers = shuffled(400, 3);
  ahead.begin_pass(0);
  ahead.announce(numbers, 0, 400);
  int whole = 0;  // Batches of which every row was read here.
  for (int64_t first = 0; first < 400; first += 4) {
    std::vector<int64_t> rows(4);
    numbers(first, rows);
    testing::OwnedSlot<float> x(4, Shape{});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // The thread could read them all.
    ahead.read_rows(rows, std::vector<Tensor>{x.tensor()});
    whole += std::ranges::count(x.values(), 1.0F) == 4 ? 1 : 0;
  }
  EXPECT_GE(whole, 4);
}

// Batches that are worth several threads: the same rows, and the first bad one.
TEST(ReadAhead, LargeBatchesAreReadByAllThreads) {
  const int64_t rows = 300'000;
  const auto in_order = [](int64_t first, std::span<int64_t> numbers) {
    std::iota(numbers.begin(), numbers.end(), first);
  };
  for (const int threads : {1, 2, 3}) {
    const auto source = std::make_shared<Numbered>(rows, std::vector<int64_t>{}, true);
    ReadAhead ahead(source, options(rows / 2, 0, threads));
    ahead.begin_pass(0);
    ahead.announce(in_order, 0, rows);
    const std::vector<float> given = batches_of(ahead, in_order, 0, rows, rows / 2);
    for (int64_t i = 0; i < rows; i += 1009) EXPECT_EQ(given[static_cast<size_t>(i)], i);
    const auto bad =
        std::make_shared<Numbered>(rows, std::vector<int64_t>{70'000, 140'000, 69'000}, true);
    ReadAhead fails(bad, options(rows / 2, 0, threads));
    EXPECT_EQ(
        testing::message_of<DataError>([&] { batches_of(fails, in_order, 0, rows / 2, rows / 2); }),
        "row 69000 is bad");
  }
}

TEST(ReadAhead, HoldsWhatItSays) {
  const auto source = std::make_shared<Numbered>(100, std::vector<int64_t>(), true);
  const ReadAheadOptions wide = {.slots = {Type{DType::float32, Shape{1000}}, Type{}},
                                 .batch_rows = 64,
                                 .bytes = 1 << 20,
                                 .threads = 2};
  EXPECT_LE(ReadAhead::slot_bytes(wide), size_t{1} << 20);
  EXPECT_GE(ReadAhead::slot_bytes(wide), size_t{3} << 18);
  EXPECT_EQ(ReadAhead::slot_bytes(options(10, 0, 2)), 0u);
  EXPECT_EQ(ReadAhead::needed_bytes(*source, options(10, 0, 2)), 0u);
}

// Two pieces have room, whatever a row has: one is read while the other is copied.
TEST(ReadAhead, HasRoomForTwoPieces) {
  for (const int64_t width : {1, 100, 4000, 8000, 16'000}) {
    const ReadAheadOptions some = {.slots = {Type{DType::float32, Shape{width}}, Type{}},
                                   .batch_rows = 64,
                                   .bytes = size_t{256} << 10,
                                   .threads = 1};
    EXPECT_GE(ReadAhead::slot_bytes(some), static_cast<size_t>(2 * width) * sizeof(float)) << width;
  }
}

// Rows of a few bytes make many small pieces: what stands around their rows is counted, too.
TEST(ReadAhead, HoldsNoMoreForSmallRows) {
  if (testing::kSanitized) GTEST_SKIP() << "the heap is the sanitizer's";
  const auto source = std::make_shared<Numbered>(100, std::vector<int64_t>(), true);
  for (const int64_t batch_rows : {1, 2, 16, 51, 1000}) {
    const ReadAheadOptions small = options(batch_rows, size_t{256} << 10, 2);
    const size_t before = mallinfo2().uordblks;
    const ReadAhead ahead(source, small);
    EXPECT_LE(mallinfo2().uordblks - before, ReadAhead::slot_bytes(small) + (size_t{16} << 10))
        << batch_rows << " rows";
  }
}

}  // namespace
}  // namespace snug
