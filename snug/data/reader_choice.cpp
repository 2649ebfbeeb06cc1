#include "snug/data/reader_choice.h"

#include <algorithm>
#include <utility>

namespace snug {

double ReaderChoice::Turn::time_of_batch() const {
  return static_cast<double>(whole.count()) / static_cast<double>(batches);
}

void ReaderChoice::add(Time whole, Time reading) {
  if (passed_over_ > 0 || time_passed_over_ > Time(0)) {
    --passed_over_;
    time_passed_over_ -= whole;
    return;
  }
  ++now_.batches;
  now_.whole += whole;
  now_.reading += reading;
  if (now_.batches >= kBatches && now_.whole >= turn_) end_turn();
}

void ReaderChoice::end_turn() {
  constexpr int kLittle = 100, kMuch = 8;  // Parts of the time that need no trial.
  const Turn turn = std::exchange(now_, {});
  if (rest_ > 0 && --rest_ > 0) return;
  Turn& sum = sums_[is_ahead_ ? 1 : 0];
  sum.batches += turn.batches;
  sum.whole += turn.whole;
  if (!is_ahead_ && turn.reading * kLittle < turn.whole) return decide(false);
  if (!is_ahead_ && turn.reading * kMuch > turn.whole) return decide(true);
  if (++turns_ < kTurns) return change_to(!is_ahead_);
  decide(sums_[1].time_of_batch() < sums_[0].time_of_batch());
}

void ReaderChoice::change_to(bool ahead) {
  if (ahead != is_ahead_) {
    passed_over_ = stale_;
    time_passed_over_ = ahead ? turn_ : Time(0);
  }
  is_ahead_ = ahead;
}

void ReaderChoice::decide(bool ahead) {
  const bool again = ahead == last_verdict_ && next_rest_ > 0;
  next_rest_ = again ? std::min(2 * next_rest_, kLongestRest) : kFirstRest;
  rest_ = next_rest_;
  last_verdict_ = ahead;
  turns_ = 0;
  sums_[0] = sums_[1] = {};
  change_to(ahead);
}

}  // namespace snug
