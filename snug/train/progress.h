// Keras's progress line, with memory beside it, through the log sink.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "snug/plan/planning_notice.h"
#include "snug/train/history.h"

namespace snug {

class Progress {
 public:
  // verbose 0: nothing; 1: a bar that is drawn again; 2: a line an epoch. `steps` of an epoch where
  // known.
  // `note` ends each line.
  Progress(int verbose, int epochs, std::optional<int64_t> steps, std::string note = "");

  void begin_epoch(int epoch);
  // Whether the bar is to be drawn now: at most every 50 ms. Cheap enough for every step.
  bool is_due() const;
  void update(int64_t step, const Logs& logs);
  void steps_done(int64_t steps) { done_ = steps; }
  void end_epoch(const Logs& logs);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(int64_t step, const Logs& logs, bool last);

  int verbose_;
  int epochs_;
  std::optional<int64_t> steps_;
  std::string note_;
  int64_t done_ = 0;
  int64_t drawn_step_ = 0;
  size_t drawn_width_ = 0;
  Clock::time_point start_, drawn_, after_first_;
  bool past_first_ = false;
};

// Says that planning takes long, where it does and `verbose` is not 0.
PlanningNotice planning_notice(int verbose);

// The parts of Keras's line: " - accuracy: 0.9012 - loss: 0.3312", "8ms/step", "1:05".
std::string logs_text(const Logs& logs);
std::string step_time_text(double seconds);
std::string duration_text(double seconds);

}  // namespace snug
