#include "snug/data/reader_choice.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// What a batch takes, as a whole and for reading, each way.
struct Machine {
  microseconds ahead{100}, on_demand{100}, reading{5};

  // Returns how many of the batches were read ahead.
  int run(ReaderChoice& choice, int batches) const {
    int count = 0;
    for (int i = 0; i < batches; ++i) {
      count += choice.is_ahead() ? 1 : 0;
      choice.add(choice.is_ahead() ? ahead : on_demand,
                 choice.is_ahead() ? microseconds(1) : reading);
    }
    return count;
  }
};

ReaderChoice choice() { return ReaderChoice(milliseconds(1), 2); }

TEST(ReaderChoice, TakesTheWayThatIsFaster) {
  ReaderChoice one = choice(), other = choice();
  Machine{.ahead = microseconds(80)}.run(one, 200);
  EXPECT_TRUE(one.is_ahead());
  Machine{.ahead = microseconds(120)}.run(other, 200);
  EXPECT_FALSE(other.is_ahead());
}

TEST(ReaderChoice, TheOtherWayIsTriedLessAndLessOften) {
  ReaderChoice one = choice(), other = choice();
  EXPECT_GE(Machine{.ahead = microseconds(80)}.run(one, 100'000), 99'000);
  EXPECT_LE(Machine{.ahead = microseconds(120)}.run(other, 100'000), 1'000);
}

TEST(ReaderChoice, NoticesWhenTheOtherWayBecomesFaster) {
  ReaderChoice one = choice();
  Machine{.ahead = microseconds(120)}.run(one, 2'000);
  EXPECT_FALSE(one.is_ahead());
  Machine{.ahead = microseconds(60)}.run(one, 10'000);
  EXPECT_TRUE(one.is_ahead());
}

// Where reading is much of a batch, the thread has it, whatever a busy machine makes of a turn.
TEST(ReaderChoice, MuchReadingIsTheThreads) {
  ReaderChoice one = choice();
  const Machine machine{.ahead = microseconds(120), .reading = microseconds(50)};
  EXPECT_GE(machine.run(one, 20'000), 19'000);
  EXPECT_TRUE(one.is_ahead());
}

// Where reading is next to nothing, a thread for it is not tried again and again.
TEST(ReaderChoice, LittleReadingIsNotWorthATrial) {
  ReaderChoice one = choice();
  const Machine machine{.reading = microseconds(0)};
  EXPECT_LE(machine.run(one, 40), 22);  // A turn, and the time before it.
  EXPECT_FALSE(one.is_ahead());
}

// The first batches behind a change are as before: they would blame the wrong way.
TEST(ReaderChoice, PassesOverWhatWasReadBefore) {
  ReaderChoice one = choice();
  for (int i = 0, since = 2; i < 500; ++i) {
    const bool ahead = one.is_ahead();
    const microseconds first = ahead ? microseconds(100) : microseconds(5000);
    const microseconds later = ahead ? microseconds(1000) : microseconds(500);
    one.add(since < 2 ? first : later, microseconds(40));
    since = ahead == one.is_ahead() ? since + 1 : 0;
  }
  EXPECT_FALSE(one.is_ahead());
}

// So it is with a thread that waits for a core at first.
TEST(ReaderChoice, PassesOverTheTimeOfWaking) {
  ReaderChoice one(milliseconds(4), 0);
  microseconds since(0);
  for (int i = 0; i < 300; ++i) {
    const bool ahead = one.is_ahead();
    const bool wakes = ahead && since < microseconds(4000);
    const microseconds time(wakes ? 200 : (ahead ? 95 : 100));
    one.add(time, microseconds(5));
    since = ahead == one.is_ahead() ? since + time : microseconds(0);
  }
  EXPECT_TRUE(one.is_ahead());
}

}  // namespace
}  // namespace snug
