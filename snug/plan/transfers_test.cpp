#include "snug/plan/transfers.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/plan/layout.h"

namespace snug {
namespace {

constexpr int64_t kBytes = 5000;  // Two pages, not whole.

// x is made and goes to the file; y is made, and then z from both.
struct Trip {
  Problem problem;
  Plan plan;
  std::vector<PlanTransfer> transfers;

  Trip() {
    problem.stages = {{}};
    for (const char* name : {"x", "y", "z"})
      problem.values.push_back({.name = name, .bytes = kBytes});
    problem.values[2].pinned = true;
    problem.nodes = {{.name = "make x", .out = {0}, .cost_ns = 10},
                     {.name = "make y", .out = {1}, .cost_ns = 100},
                     {.name = "make z", .in = {0, 1}, .out = {2}, .cost_ns = 10}};
    transfers = {{.what = Transfer::start_write, .value = 0, .trip = 0, .ns = 50},
                 {.what = Transfer::end_write, .value = 0, .trip = 0, .ns = 50},
                 {.what = Transfer::start_read, .value = 0, .trip = 1, .ns = 70},
                 {.what = Transfer::end_read, .value = 0, .trip = 1, .ns = 70}};
  }

  // Nodes 3 to 6 are the transfers.
  void lay_out_in(const std::vector<int>& order) {
    const Problem whole = with_transfers(problem, transfers);
    Schedule schedule;
    for (const int node : order) schedule.push_back({whole.nodes[node].stage, {node}});
    plan = lay_out(whole, schedule, kUnlimited, Aim::lowest);
    plan.transfers = transfers;
    plan.file_bytes = whole_pages(kBytes);
  }
  void check() const { validate(with_transfers(problem, transfers), plan); }
};

TEST(Transfers, AValueGoesAwayAndComesBack) {
  Trip trip;
  trip.lay_out_in({0, 3, 4, 1, 5, 6, 2});
  EXPECT_NO_THROW(trip.check());
  EXPECT_EQ(spilled_bytes(trip.problem, trip.plan).written, 2 * kPageBytes);
  EXPECT_EQ(spilled_bytes(trip.problem, trip.plan).read, 2 * kPageBytes);
  const Buffer& first = trip.plan.buffers[trip.plan.steps[0].out[0]];
  EXPECT_EQ(first.offset % kPageBytes, 0);
  EXPECT_EQ(first.last_step, 2);
}

TEST(Transfers, TimeCountsWhereTheDiskIsWaitedFor) {
  Trip trip;
  trip.lay_out_in({0, 3, 4, 1, 5, 6, 2});
  EXPECT_EQ(predicted_ns(trip.problem, trip.plan), 10 + 50 + 100 + 70 + 10);
  trip.lay_out_in({0, 3, 1, 4, 5, 6, 2});
  EXPECT_EQ(predicted_ns(trip.problem, trip.plan), 10 + 100 + 70 + 10);
}

TEST(Transfers, TheValidatorFindsWhatIsWrong) {
  const std::vector<std::pair<std::vector<int>, const char*>> wrong = {
      {{0, 3, 5, 4, 1, 6, 2}, "read before it was written"},
      {{0, 3, 4, 1, 5, 2, 6}, "used while it is away"},
      {{0, 3, 4, 5, 6, 1, 2, 4}, "waited for twice"},
      {{0, 4, 3, 1, 5, 6, 2}, "waited for before it starts"},
      {{0, 3, 4, 1, 5, 2}, "a read that never ends"},
  };
  for (const auto& [order, why] : wrong) {
    Trip trip;
    trip.lay_out_in(order);
    EXPECT_THROW(trip.check(), InternalError) << why;
  }
}

TEST(Transfers, TheValidatorWatchesPlaces) {
  Trip trip;
  trip.lay_out_in({0, 3, 4, 1, 5, 6, 2});
  Trip moved = trip;
  for (Buffer& buffer : moved.plan.buffers) buffer.offset += buffer.value == 0 ? 64 : 0;
  moved.plan.arena_bytes += 2 * kPageBytes;
  EXPECT_THROW(moved.check(), InternalError) << "not on a page";
  Trip cut = trip;
  cut.plan.file_bytes -= kPageBytes;
  EXPECT_THROW(cut.check(), InternalError) << "outside the file";
  Trip other = trip;
  other.transfers[2].file_offset = other.transfers[3].file_offset = kPageBytes;
  other.plan.file_bytes *= 2;
  EXPECT_THROW(other.check(), InternalError) << "read from where it was not written";
}

// y takes x's bytes while they are still being written.
TEST(Transfers, TheValidatorKeepsBytesUnderWayFromReuse) {
  Trip trip;
  trip.lay_out_in({0, 3, 1, 4, 5, 6, 2});
  EXPECT_NO_THROW(trip.check());
  Plan& plan = trip.plan;
  const int64_t x = plan.buffers[plan.steps[0].out[0]].offset;
  plan.buffers[plan.steps[2].out[0]].offset = x;
  EXPECT_THROW(trip.check(), InternalError);
}

// Two values in one stretch of the file at the same time.
TEST(Transfers, TheValidatorWatchesTheFile) {
  Trip trip;
  trip.transfers.push_back({.what = Transfer::start_write, .value = 1, .trip = 2});
  trip.transfers.push_back({.what = Transfer::end_write, .value = 1, .trip = 2});
  trip.lay_out_in({0, 3, 4, 1, 7, 8, 5, 6, 2});
  EXPECT_THROW(trip.check(), InternalError);
  trip.transfers[4].file_offset = trip.transfers[5].file_offset = whole_pages(kBytes);
  trip.lay_out_in({0, 3, 4, 1, 7, 8, 5, 6, 2});
  trip.plan.file_bytes *= 2;
  EXPECT_NO_THROW(trip.check());
}

TEST(Transfers, WithAndWithoutAreInverse) {
  const Trip trip;
  const Problem back = without_transfers(with_transfers(trip.problem, trip.transfers));
  EXPECT_EQ(back.nodes.size(), trip.problem.nodes.size());
  EXPECT_EQ(back.stages.size(), trip.problem.stages.size());
  EXPECT_FALSE(back.values[0].paged);
}

// What may be overwritten by a value on pages stands on pages itself.
TEST(Transfers, PagesGoWithThePlace) {
  Trip trip;
  trip.problem.nodes[2].overwrites = {{.output = 0, .input = 1}};
  const std::vector<char> paged = paged_values(trip.problem, {0, 1, 0});
  EXPECT_EQ(paged, (std::vector<char>{0, 1, 1}));
}

TEST(Transfers, PagesGoWithThePlaceThatAPartTakes) {
  Problem problem{.values = {{.bytes = 1024, .part_bytes = 256},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 512, .part_bytes = 128},
                             {.bytes = 1024}},
                  .stages = {{.parts = 4}, {.parts = 4}}};
  problem.nodes = {{.out = {0}, .stage = 0}, {.in = {0}, .out = {1, 2, 3}, .stage = 1}};
  EXPECT_EQ(paged_values(problem, {0, 1, 0, 0}), (std::vector<char>{1, 1, 0, 0}));
  problem.stages[1].parts = 1;
  EXPECT_EQ(paged_values(problem, {0, 1, 0, 0}), (std::vector<char>{0, 1, 0, 0}));
}

}  // namespace
}  // namespace snug
