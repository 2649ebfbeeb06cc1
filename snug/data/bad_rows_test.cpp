#include "snug/data/bad_rows.h"

#include <gtest/gtest.h>

#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

BadRow row(int line) {
  return {.file = "t.csv",
          .position = fmt::format("line {}", line),
          .column = "age",
          .value = "a,\"b\"",
          .problem = "a number was expected",
          .record = "a,\"b\"\n,1"};
}

TEST(BadRows, StopNamesTheFirst) {
  MemoryFiles files;
  BadRows bad(files, {});
  bad.finish(10, "t.csv");
  bad.add(row(3));
  bad.add(row(5));
  const std::string message = message_of<DataError>([&] { bad.finish(10, "t.csv"); });
  expect_within(message, "t.csv: line 3, column age is \"a,\"b\"\", but a number was expected");
  expect_within(message, "and 1 more row is bad");
  expect_within(message, "snug check t.csv");
}

TEST(BadRows, NamesTheCommandThatListsThem) {
  MemoryFiles files;
  for (const BadRowPolicy policy : {BadRowPolicy::stop, BadRowPolicy::skip}) {
    BadRows bad(files, {.policy = policy, .check = "snug check t.csv --label y"});
    bad.add(row(3));
    expect_within(message_of<DataError>([&] { bad.finish(10, "t.csv"); }),
                  "(this lists all: snug check t.csv --label y)");
  }
}

TEST(BadRows, SkipHasACap) {
  MemoryFiles files;
  BadRows bad(files, {.policy = BadRowPolicy::skip, .most = 0.2});
  for (int i = 0; i < 2; ++i) bad.add(row(i));
  bad.finish(10, "t.csv");
  bad.add(row(9));
  expect_within(message_of<DataError>([&] { bad.finish(10, "t.csv"); }),
                "3 of 10 rows are bad, more than the 20 %");
}

TEST(BadRows, QuarantineIsACsvFile) {
  MemoryFiles files;
  for (int source = 0; source < 2; ++source) {
    BadRows bad(files, {.policy = BadRowPolicy::quarantine, .most = 1, .rejected = "r.csv"});
    bad.add(row(source));
    bad.finish(10, "t.csv");
  }
  EXPECT_EQ(read_text(files, "r.csv"),
            "file,position,column,value,problem,record\n"
            "t.csv,line 0,age,\"a,\"\"b\"\"\",a number was expected,\"a,\"\"b\"\"\n,1\"\n"
            "t.csv,line 1,age,\"a,\"\"b\"\"\",a number was expected,\"a,\"\"b\"\"\n,1\"\n");
  expect_within(message_of([&] { BadRows(files, {.policy = BadRowPolicy::quarantine}); }),
                "needs a file");
  BadRows many(files, {.policy = BadRowPolicy::quarantine, .most = 0.1, .rejected = "many.csv"});
  for (int i = 0; i < 2; ++i) many.add(row(i));
  expect_within(message_of<DataError>([&] { many.finish(10, "t.csv"); }),
                "(their records are in many.csv)");
}

TEST(BadRows, AFullDiskIsAnError) {
  MemoryFiles files;
  FaultyFiles faulty(files);
  BadRows bad(faulty, {.policy = BadRowPolicy::quarantine, .most = 1, .rejected = "r.csv"});
  faulty.fail_call(2, Fault::no_space);
  bad.add(row(1));
  EXPECT_THROW(bad.finish(1, "t.csv"), FileError);
}

TEST(BadRows, ManyAreWrittenByFewCalls) {
  MemoryFiles files;
  FaultyFiles counted(files);
  BadRows bad(counted, {.policy = BadRowPolicy::quarantine, .most = 1, .rejected = "r.csv"});
  std::string expected = "file,position,column,value,problem,record\n";
  for (int i = 0; i < 10000; ++i) {
    bad.add({.file = "t",
             .position = std::to_string(i),
             .column = "",
             .value = "",
             .problem = "p",
             .record = ""});
    expected += fmt::format("t,{},,,p,\n", i);
  }
  EXPECT_LT(counted.calls(), 10);
  EXPECT_GT(read_text(files, "r.csv").size(), expected.size() / 2) << "what waits is bounded";
  bad.finish(10000, "t.csv");
  EXPECT_EQ(read_text(files, "r.csv"), expected);
}

TEST(BadRows, AreWrittenWhenTheRunStops) {
  const BadRowOptions options{.policy = BadRowPolicy::quarantine, .most = 0.1, .rejected = "r.csv"};
  MemoryFiles files;
  BadRows bad(files, options);
  bad.add(row(7));
  EXPECT_THROW(bad.finish(1, "t.csv"), DataError);
  expect_within(read_text(files, "r.csv"), "t.csv,line 7,age");
  // By something else, before all rows were seen.
  std::make_unique<BadRows>(files, options)->add(row(8));
  expect_within(read_text(files, "r.csv"), "t.csv,line 8,age");
}

TEST(BadRows, PoliciesHaveNames) {
  EXPECT_EQ(bad_row_policy("skip"), BadRowPolicy::skip);
  EXPECT_EQ(bad_row_policy("Quarantine"), BadRowPolicy::quarantine);
  expect_within(message_of([] { bad_row_policy("skipp"); }), "did you mean skip");
}

}  // namespace
}  // namespace snug::testing
