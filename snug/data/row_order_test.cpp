#include "snug/data/row_order.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "snug/data/source_testing.h"

namespace snug {
namespace {

using testing::expect_within;
using testing::message_of;

using Rows = std::vector<int64_t>;

Rows rows_of(const RowOrder& order, uint64_t pass = 0) {
  Rows rows(order.size());
  for (int64_t i = 0; i < order.size(); ++i) rows[i] = order.row(pass, i);
  return rows;
}

Rows sorted(Rows rows) {
  std::ranges::sort(rows);
  return rows;
}

TEST(RowOrder, AppliesVerbsInTheirOrder) {
  const RowOrder five(5);
  EXPECT_EQ(rows_of(five), (Rows{0, 1, 2, 3, 4}));
  EXPECT_EQ(rows_of(five.take(3).skip(1)), (Rows{1, 2}));
  EXPECT_EQ(rows_of(five.skip(1).take(3)), (Rows{1, 2, 3}));
  EXPECT_EQ(rows_of(five.skip(2).skip(2)), (Rows{4}));
  EXPECT_EQ(rows_of(five.skip(9)), Rows{});
  EXPECT_EQ(rows_of(five.take(9)), rows_of(five));
  EXPECT_EQ(rows_of(five.take(-1)), rows_of(five));
  EXPECT_EQ(rows_of(five.take(2).repeat(2)), (Rows{0, 1, 0, 1}));
  EXPECT_EQ(rows_of(five.skip(3).repeat(2).skip(1).take(2)), (Rows{4, 3}));
  EXPECT_EQ(rows_of(five.repeat(0)), Rows{});
  EXPECT_EQ(rows_of(five.take(0).repeat({})), Rows{});
}

TEST(RowOrder, ShardsHaveEveryRowOnce) {
  const RowOrder seven(7);
  EXPECT_EQ(rows_of(seven.shard(3, 0)), (Rows{0, 3, 6}));
  EXPECT_EQ(rows_of(seven.shard(3, 2)), (Rows{2, 5}));
  EXPECT_EQ(rows_of(seven.shard(9, 8)), Rows{});
  EXPECT_EQ(rows_of(seven.skip(1).shard(2, 1).take(2)), (Rows{2, 4}));
  EXPECT_EQ(rows_of(seven.repeat({}).shard(2, 1).take(4)), (Rows{1, 3, 5, 0}));
  expect_within(message_of([&] { seven.shard(2, 2); }), "shard(2, 2)");
  expect_within(message_of([&] { seven.shard(0, 0); }), "shard(0, 0)");
}

TEST(RowOrder, ShufflesAnewInEachPass) {
  const RowOrder shuffled = RowOrder(100).shuffle(7, true);
  EXPECT_EQ(rows_of(shuffled, 3), rows_of(shuffled, 3));
  EXPECT_NE(rows_of(shuffled, 3), rows_of(shuffled, 4));
  EXPECT_EQ(sorted(rows_of(shuffled, 4)), rows_of(RowOrder(100)));
  const RowOrder fixed = RowOrder(100).shuffle(7, false);
  EXPECT_EQ(rows_of(fixed, 3), rows_of(fixed, 4));
}

// The rows of take and skip after a shuffle that stays the same share none: a split.
TEST(RowOrder, SplitsWithoutLoss) {
  const RowOrder shuffled = RowOrder(100).shuffle(1, false);
  Rows both = rows_of(shuffled.take(30), 5);
  const Rows rest = rows_of(shuffled.skip(30), 8);
  both.insert(both.end(), rest.begin(), rest.end());
  EXPECT_EQ(sorted(both), rows_of(RowOrder(100)));
}

TEST(RowOrder, ShufflesAnewInEachRepetition) {
  for (const bool endless : {false, true}) {
    const RowOrder order =
        RowOrder(50).shuffle(1, true).repeat(endless ? std::nullopt : std::optional(4));
    const auto repetition = [&](uint64_t pass, int64_t number) {
      Rows rows(50);
      for (int64_t i = 0; i < 50; ++i) rows[i] = order.row(pass, number * 50 + i);
      EXPECT_EQ(sorted(rows), rows_of(RowOrder(50)));
      return rows;
    };
    EXPECT_NE(repetition(0, 0), repetition(0, 1));
    EXPECT_NE(repetition(0, 3), repetition(1, 0));
    EXPECT_NE(repetition(0, 1), repetition(1, 1));
  }
}

TEST(RowOrder, KnowsItsEnd) {
  const RowOrder endless = RowOrder(5).repeat(std::nullopt);
  EXPECT_EQ(endless.size(), RowOrder::kEndless);
  EXPECT_EQ(endless.skip(7).size(), RowOrder::kEndless);
  EXPECT_EQ(endless.skip(7).row(0, 0), 2);
  EXPECT_EQ(endless.take(7).size(), 7);
  EXPECT_EQ(RowOrder(int64_t{1} << 40).repeat(int64_t{1} << 40).size(), RowOrder::kEndless);
  EXPECT_EQ(rows_of(endless.take(12).shuffle(1, true)).size(), 12);
  expect_within(message_of([&] { endless.shuffle(1, true); }), "put shuffle before repeat");
}

TEST(RowOrder, KnowsStretches) {
  EXPECT_TRUE(RowOrder(9).skip(2).take(3).is_stretch());
  EXPECT_FALSE(RowOrder(9).shuffle(1, true).is_stretch());
  EXPECT_FALSE(RowOrder(9).repeat(2).is_stretch());
}

TEST(RowOrder, RefusesNegativeNumbers) {
  expect_within(message_of([] { RowOrder(5).take(-2); }), "take(-2)");
  expect_within(message_of([] { RowOrder(5).skip(-1); }), "skip(-1)");
  expect_within(message_of([] { RowOrder(5).repeat(-1); }), "repeat(-1)");
}

// Many positions at once give what each of them gives alone, over repetitions too.
TEST(RowOrder, ManyPositionsAtOnce) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 50; ++trial) {
    RowOrder order(static_cast<int64_t>(2 + random() % 40));
    for (int verb = 0; verb < 4; ++verb) {
      switch (random() % 5) {
        case 0:
          order = order.shuffle(random(), random() % 2 == 0);
          break;
        case 1:
          order = order.repeat(static_cast<int64_t>(1 + random() % 3));
          break;
        case 2:
          order = order.skip(static_cast<int64_t>(random() % 3));
          break;
        case 3:
          order = order.shard(2, static_cast<int64_t>(random() % 2));
          break;
        default:
          order = order.take(static_cast<int64_t>(1 + random() % 60));
      }
      if (order.size() == 0) break;
    }
    std::vector<int64_t> positions, rows;
    for (int64_t i = 0; i < 2 * order.size(); ++i) {
      positions.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(order.size())));
    }
    rows.resize(positions.size());
    order.rows(trial % 4, positions, rows);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], order.row(trial % 4, positions[i]));
  }
}

}  // namespace
}  // namespace snug
