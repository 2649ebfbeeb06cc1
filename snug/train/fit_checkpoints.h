// The checkpoints of one fit: what is in them, and when they are due.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "snug/train/checkpoint_store.h"
#include "snug/train/history.h"
#include "snug/train/run_state.h"

namespace snug {

// A section of named numbers.
struct StatePart {
  std::string name;
  std::function<void(StateVisitor&)> visit;
};

// All of a run that outlives it.
struct RunContents {
  std::vector<StatePart> parts;
  std::vector<CheckpointVariable> variables;
};

class FitCheckpoints {
 public:
  explicit FitCheckpoints(const CheckpointOptions& options);

  // Before planning. With `resume`, the checkpoint to go on from, if there is one; without, there
  // must be none: throws Error.
  void choose(bool resume);
  bool resumes() const { return file_.has_value(); }
  // One part alone, of the checkpoint that was chosen.
  void read_part(const StatePart& part) const;
  // All of it. Throws Error where it is of another model.
  void load(const RunContents& contents) const;

  // Before the first step. Throws FileError where the disk has no room.
  void start(RunContents contents);

  // After each step, with the number of steps so far; saves when it is due.
  void after_step(int64_t steps);
  // After each epoch; `is_best` where its monitored value is the best so far.
  void after_epoch(int epoch, int64_t steps, bool is_best);
  // At the end, or when the run is interrupted.
  bool save(int64_t steps);
  // Training has come to its end.
  void finish(int64_t steps);

  const CheckpointOptions& options() const { return options_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<CheckpointSection> sections() const;
  bool with_sections(const std::function<bool(const std::vector<CheckpointSection>&)>& save);

  CheckpointOptions options_;
  CheckpointStore store_;
  std::optional<CheckpointFile> file_;
  RunContents contents_;
  Clock::time_point last_ = Clock::now();
  int64_t last_steps_ = 0;
};

// The parts that are not a class's own.
void visit_history(History& history, StateVisitor& visitor);

}  // namespace snug
