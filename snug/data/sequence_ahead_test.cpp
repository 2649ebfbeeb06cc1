#include "snug/data/sequence_ahead.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "snug/data/dataset.h"
#include "snug/data/source_testing.h"

namespace snug::testing {
namespace {

// 0, 1, ... rows - 1, some at a time; bad: where it throws.
struct Counting {
  std::shared_ptr<int32_t> at = std::make_shared<int32_t>(0);
  std::shared_ptr<std::set<std::thread::id>> threads =
      std::make_shared<std::set<std::thread::id>>();

  SourcePtr open(int32_t rows, int32_t bad = -1, int64_t most = 1000) const {
    return data::generator(
        [=, at = at, threads = threads](std::span<const Tensor> slots) -> int64_t {
          threads->insert(std::this_thread::get_id());
          int64_t made = 0;
          for (int32_t& row : slots[0].as<int32_t>()) {
            if (*at == rows || made == most) break;
            if (*at == bad) throw DataError("row {} is bad", bad);
            row = (*at)++;
            ++made;
          }
          return made;
        },
        {.x = {{}, DType::int32}, .y = {}, .restart = [at = at] { *at = 0; }});
  }
};

SourcePtr ahead(SourcePtr source, int64_t batches, int64_t rows) {
  return data::made_ahead(std::move(source), {.batches = batches, .batch_rows = rows});
}

TEST(SequenceAhead, TheSameRowsForAnyDepthAndSize) {
  for (const int32_t rows : {0, 1, 7, 8, 100}) {
    for (const int64_t batches : {1, 2, 5}) {
      for (const int64_t made : {1, 4, 64}) {
        for (const int64_t asked : {1, 3, 4, 50}) {
          const SourcePtr source = ahead(Counting().open(rows, -1, 3), batches, made);
          for (int pass = 0; pass < 2; ++pass) {
            source->begin_pass(pass);
            std::vector<int32_t> wanted(static_cast<size_t>(rows));
            for (int32_t i = 0; i < rows; ++i) wanted[static_cast<size_t>(i)] = i;
            EXPECT_EQ(rest_of<int32_t>(*source, 0, asked), wanted);
          }
        }
      }
    }
  }
}

TEST(SequenceAhead, AnotherThreadMakesThem) {
  const Counting counting;
  {
    const SourcePtr source = ahead(counting.open(100), 2, 8);
    EXPECT_TRUE(counting.threads->empty()) << "nothing is made before it is asked for";
    EXPECT_EQ(rest_of<int32_t>(*source, 0, 8).size(), 100u);
  }
  EXPECT_EQ(counting.threads->size(), 1u);
  EXPECT_FALSE(counting.threads->contains(std::this_thread::get_id()));
}

TEST(SequenceAhead, APassMayEndEarly) {
  const SourcePtr source = ahead(Counting().open(1000), 3, 16);
  OwnedSlot<int32_t> slot(16, {});
  for (int pass = 0; pass < 50; ++pass) {
    source->begin_pass(static_cast<uint64_t>(pass));
    ASSERT_EQ(source->next(16, {&slot.tensor(), 1}), 16);
    EXPECT_EQ(slot.values()[15], 15);
  }
}

// In its turn, after the rows before it; and again, until the pass begins anew.
TEST(SequenceAhead, AnErrorComesWhereItsRowWould) {
  const SourcePtr source = ahead(Counting().open(100, 40, 8), 4, 8);
  OwnedSlot<int32_t> slot(8, {});
  for (int i = 0; i < 5; ++i) ASSERT_EQ(source->next(8, {&slot.tensor(), 1}), 8);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(message_of<DataError>([&] {
                source->next(8, {&slot.tensor(), 1});
              }),
              "row 40 is bad");
  }
  source->restart();
  EXPECT_EQ(source->next(8, {&slot.tensor(), 1}), 8);
  EXPECT_EQ(slot.values()[0], 0);
}

TEST(SequenceAhead, CastsAndCountsWhatWaits) {
  const SourcePtr inner = Counting().open(10), source = ahead(inner, 3, 4);
  EXPECT_GE(source->buffer_bytes(), inner->buffer_bytes() + 3 * 4 * sizeof(int32_t));
  EXPECT_EQ(rest_of<float>(*source, 0, 4).back(), 9.0F);
}

// Whichever piece it is in, and in a later pass too.
TEST(SequenceAhead, ARowThatCannotBeCastIsNamed) {
  const auto at = std::make_shared<int>(0);
  const SourcePtr source = ahead(data::generator(
                                     [at](std::span<const Tensor> slots) -> int64_t {
                                       slots[0].as<float>()[0] = (*at)++ == 7 ? 1.5F : 1.0F;
                                       return 1;
                                     },
                                     {.x = {{}}, .y = {}, .restart = [at] { *at = 0; }}),
                                 2, 4);
  OwnedSlot<int32_t> slot(3, {});
  for (const uint64_t pass : {0, 1}) {
    source->begin_pass(pass);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(source->next(3, {&slot.tensor(), 1}), 3);
    expect_within(message_of<DataError>([&] { source->next(3, {&slot.tensor(), 1}); }), "row 7");
  }
}

TEST(SequenceAhead, IsWhatPrefetchOfAGeneratorIs) {
  const Counting counting;
  const Dataset rows(counting.open(100));
  for (const Dataset& dataset : {rows.batch(8).prefetch(2), rows.batch(8).prefetch(),
                                 rows.batch(8).prefetch(3).take(4), rows.batch(8)}) {
    for (int pass = 0; pass < 2; ++pass) {
      int32_t next = 0;
      for (const Batch& batch : dataset) {
        for (const int32_t row : batch.x[0].as<int32_t>()) EXPECT_EQ(row, next++);
      }
      EXPECT_TRUE(next == 100 || next == 32);
    }
  }
  int32_t at = 0;
  const Dataset once(data::generator(
      [&at](std::span<const Tensor> slots) -> int64_t {
        slots[0].as<int32_t>()[0] = at++;
        return 1;
      },
      {.x = {{}, DType::int32}, .y = {}}));
  for (const Batch& batch : once.batch(2).prefetch(4)) {
    if (batch.x[0].as<int32_t>()[1] == 9) break;
  }
  EXPECT_EQ(at, 10) << "no row is made that might be lost";
}

}  // namespace
}  // namespace snug::testing
