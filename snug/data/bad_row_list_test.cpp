#include "snug/data/bad_row_list.h"

#include <gtest/gtest.h>

#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

constexpr int kRows = 10000;

// As many bad rows, of two kinds.
BadRowList many(BadRowPolicy policy) {
  BadRowList list;
  CsvRecord record;
  for (int i = 0; i < kRows; ++i) {
    record.line = i + 2;
    record.text = i % 100 == 0 ? "1,2,3" : "x,1";
    const RowProblem problem = i % 100 == 0 ? RowProblem{-1, "", "it has 3 cells"}
                                            : RowProblem{1, "x", "a number was expected"};
    list.add(problem, record, policy);
  }
  return list;
}

TEST(BadRowList, GivesEveryRowToTheQuarantine) {
  MemoryFiles files;
  const BadRowList list = many(BadRowPolicy::quarantine);
  EXPECT_EQ(list.count(), kRows);
  BadRows rows(files, {.policy = BadRowPolicy::quarantine, .most = 1, .rejected = "rejected.csv"});
  list.give("t.csv", {"y", "a"}, rows);
  EXPECT_EQ(rows.count(), kRows);
  EXPECT_EQ(rows.first(), "t.csv: line 2: it has 3 cells");
  rows.finish(kRows, "t.csv");
  const std::string text = read_text(files, "rejected.csv");
  EXPECT_EQ(std::ranges::count(text, '\n'), kRows + 1);
  expect_within(text, "\nt.csv,line 102,,,it has 3 cells,\"1,2,3\"\n");
  expect_within(text, "\nt.csv,line 10001,a,x,a number was expected,\"x,1\"\n");
}

TEST(BadRowList, TakesLittleMemory) {
  // A vector and a string grow to twice what they hold.
  EXPECT_LT(many(BadRowPolicy::quarantine).bytes(), size_t{2} * kRows * (32 + 5));
  EXPECT_LT(many(BadRowPolicy::stop).bytes(), 500u);
  EXPECT_LT(many(BadRowPolicy::skip).bytes(), 500u);
}

TEST(BadRowList, KeepsTheFirstForAMessage) {
  MemoryFiles files;
  BadRowList list = many(BadRowPolicy::skip);
  BadRows rows(files, {.policy = BadRowPolicy::skip});
  for (int i = 0; i < 2; ++i) list.give("t.csv", {"y", "a"}, rows);
  EXPECT_EQ(rows.count(), 2 * kRows);
  EXPECT_EQ(rows.first(), "t.csv: line 2: it has 3 cells");
  list.clear();
  list.give("t.csv", {"y", "a"}, rows);
  EXPECT_EQ(rows.count(), 2 * kRows);
}

TEST(BadRowList, CutsWhatIsLong) {
  MemoryFiles files;
  BadRowList list;
  const std::string large(100000, 'x');
  CsvRecord record;
  record.text = large;
  for (int i = 0; i < 3; ++i) {
    list.add({0, large, "a number was expected"}, record, BadRowPolicy::quarantine);
  }
  EXPECT_LT(list.bytes(), size_t{2} * 3 * (2 * BadRow::kMostText + 100));
}

}  // namespace
}  // namespace snug::testing
