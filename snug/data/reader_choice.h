// Who reads the rows of a step: a thread of its own, meanwhile, or the step's threads, before it.
#pragma once

#include <chrono>
#include <cstdint>

namespace snug {

// A thread that reads ahead takes time that the step leaves, such as that of a disk or of a core
// that is idle. Where a step leaves none, it takes the step's: there its threads read faster by
// themselves. Which it is cannot be known but by trying, in turns, and comparing the time that a
// batch takes as a whole. Where reading would take much of a batch (a slow disk, decoding, tiny
// steps), it is the thread's, and where it takes next to nothing it is not. What was found is tried
// again later, less often each time that it holds.
class ReaderChoice {
 public:
  using Time = std::chrono::nanoseconds;

  // A turn has at least this time, and a few batches. The first `stale` batches behind a change are
  // not counted, of which rows were read as before. Nor is the time of a turn where the thread was
  // woken: on a busy machine it waits for a core until the system moves it to one.
  ReaderChoice(Time turn, int64_t stale) : turn_(turn), stale_(stale), time_passed_over_(turn) {}

  bool is_ahead() const { return is_ahead_; }

  // A batch took this time as a whole, and this for reading while the step waited.
  void add(Time whole, Time reading);

 private:
  static constexpr int64_t kBatches = 4;  // Of a turn, at least.
  static constexpr int kTurns = 4;        // Of a trial, by and by one of each.
  static constexpr int kFirstRest = 32, kLongestRest = 512;

  struct Turn {
    int64_t batches = 0;
    Time whole{0}, reading{0};
    double time_of_batch() const;
  };

  void end_turn();
  void change_to(bool ahead);
  void decide(bool ahead);

  Time turn_;
  int64_t stale_;
  bool is_ahead_ = true;
  bool last_verdict_ = true;
  int64_t passed_over_ = 0;  // Batches that are still to be, and time.
  Time time_passed_over_;
  Turn now_;
  Turn sums_[2];       // Of the trial: on demand, ahead.
  int turns_ = 0;      // Of the trial, that were counted.
  int rest_ = 0;       // Turns before the next trial.
  int next_rest_ = 0;  // Behind this trial, if it finds what the last one found.
};

}  // namespace snug
