// The checkpoints of one fit: what is in them, and when they are due.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/beside_thread.h"
#include "snug/train/checkpoint_store.h"
#include "snug/train/run_state.h"
#include "snug/train/state_copy.h"
#include "snug/train/state_numbers.h"

namespace snug {

// A section of named numbers.
struct StatePart {
  // It is visited for a checkpoint only where it may have changed since the one before: what
  // changes at epochs by the thread that writes, so it must stay as bring_up_to_date() leaves it.
  // One that changes in place visits numbers that stay where they are as long as the run lasts: it
  // is visited once, and its numbers are copied from there.
  enum class Changes { never, at_epochs, at_steps, in_place };

  std::string name;
  std::function<void(StateVisitor&)> visit;
  Changes changes = Changes::at_steps;
  bool optional = false;  // Checkpoints of earlier versions do not have it.
};

// All of a run that outlives it.
struct RunContents {
  std::vector<StatePart> parts;
  std::vector<CheckpointVariable> variables;
  std::function<void()> bring_up_to_date;  // Called for each checkpoint, before training goes on.
  std::function<void()> best_is_lost;      // Called where the best epoch could not be saved.
};

// What a checkpoint's lists hold of each of its variables, beside the values.
inline constexpr int64_t kListedVariable = 384;

// What saving took from training, in all. Writing beside the steps is not in it.
struct SavingCost {
  int64_t saves = 0;
  double waited_seconds = 0;   // For the save before.
  double stalled_seconds = 0;  // For the copy, or for the disk where it is written in place.
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
  // All of it. Throws Error where it is of another model or another run, whose weights and moments
  // then stay as they are.
  void load(const RunContents& contents) const;

  // Before the first step, of which `steps` are done already. With `copying_threads` what is due is
  // copied, by so many, and written by a thread of its own while training goes on; with 0 it is
  // written from where it stands while training waits. Throws FileError where the disk has no room.
  void start(RunContents contents, int64_t steps, int copying_threads);

  // After each step, with the number of steps so far; saves when it is due. What is due by steps
  // waits until the last one is written, what is due by time comes after it. Throws what went wrong
  // in writing, but for the disk's faults, which are warned of.
  void after_step(int64_t steps);
  // Before callbacks may change what they keep.
  void take_back() {
    if (lends_) writer_.wait();
  }
  // Before anything else that is written may move.
  void finish_writing() { writer_.wait(); }
  // Before an epoch is compared with the best: whether that was saved is known then.
  void settle_best() {
    if (request_.best) wait();
  }
  // After each epoch; `is_best` where its monitored value is the best so far.
  void after_epoch(int epoch, int64_t steps, bool is_best);
  // When the run is interrupted: on the disk when it returns, or false where that has failed.
  bool save(int64_t steps);
  // Training has come to its end.
  void finish(int64_t steps);

  const SavingCost& cost() const { return cost_; }

 private:
  using Clock = std::chrono::steady_clock;
  // What one save is to write.
  struct Request {
    std::optional<int64_t> step;
    bool best = false;
  };
  // The parts as bytes, what they lend, and the files that must be on the disk before them.
  struct Sections {
    std::vector<CheckpointSection> all;
    std::vector<CheckpointVariable> lent;  // What callbacks keep, where they keep it.
    std::vector<std::shared_ptr<File>> files;
  };

  void list_parts();
  void fill_sections();
  void fill_section(size_t part);
  bool is_silent(size_t part) const;
  // What is to be written now, all but the variables. False where one of the files that it speaks
  // of fails: warned of.
  bool prepare(const Request& request);
  void save(const Request& request);
  bool save_in_place(const Request& request);
  void wait();
  bool write(std::vector<CheckpointVariable> variables);

  CheckpointOptions options_;
  CheckpointStore store_;
  std::optional<CheckpointFile> file_;
  RunContents contents_;
  Clock::time_point last_ = Clock::now();
  int64_t last_steps_ = 0;
  SavingCost cost_;
  bool lends_ = false;        // The last save read what callbacks keep.
  bool epoch_ended_ = false;  // Since the last save.
  // The parts that change at steps and at epochs, by their numbers: a save looks at no others.
  std::vector<size_t> of_steps_, of_epochs_;
  // While the writer is busy, these and the store are its own. Their memory is used again and
  // again: a save that allocated nothing stalls least.
  Request request_;
  bool lost_best_ = false;  // It was to be saved, and is not.
  Sections sections_;
  bool is_of_epoch_ = false;  // What changes at epochs has changed.
  StateNumbers numbers_;
  StateCopy copy_;
  // The last to be made and the first to go.
  BesideThread writer_;
};

}  // namespace snug
