// One fit: what it is made of, and its loop.
#pragma once

#include <functional>
#include <optional>

#include "snug/base/error.h"
#include "snug/exec/spill_file.h"
#include "snug/tensor/arena.h"
#include "snug/train/best_epoch.h"
#include "snug/train/fit_checkpoints.h"
#include "snug/train/fit_data.h"
#include "snug/train/fit_guard.h"
#include "snug/train/fit_machine.h"
#include "snug/train/fit_setup.h"
#include "snug/train/history_view.h"
#include "snug/train/one_thread.h"

namespace snug {

class FitRun {
 public:
  // Resolves the options against the data, plans, binds and warms up: after it nothing more is
  // needed, and plan() says what is. Throws FitRefused when that is not within the budget: before
  // weights or arena are allocated, unless only the compiled kernels showed it.
  // With `of_many` it is one of many calls alike, each of one batch: it runs the step that one
  // before it has left, where that is known to be the same, and leaves its own by keep_step().
  // Throws Error while another thread has the model: it is this one's until the run is destroyed.
  FitRun(Model& model, const SourcePtr& data, const FitOptions& options, bool of_many = false);
  ~FitRun();

  // With `ends`, the averages of use_ema take the place of the weights afterwards, as in Keras's
  // fit.
  History run(bool ends = true);
  const FitPlan& plan() const { return plan_; }
  // Trains a few steps, for a moment, and notes in the plan what one takes, rows included. The
  // model is not what it was then: in the place of run(), where only the plan is wanted.
  void time_steps();
  // The number of its first pass, which its random numbers are drawn by; before run().
  void set_first_pass(int64_t pass) { pass_ = static_cast<uint64_t>(pass); }
  // Where a run that starts anew saves its checkpoints; before run(). Holds the directory from now
  // on. Throws Error where it cannot.
  void set_checkpoint(const CheckpointOptions& options);
  // Gives the step's memory back after run(), which cannot be called again; the plan stays.
  void free_arena() { arena_ = Arena(); }
  // After run(), which cannot be called again.
  void keep_step();
  // A text about the run that its checkpoints carry: the run file; before run().
  void set_description(std::string text) { description_ = std::move(text); }
  // Called by run() when nothing is left that may refuse it, before its first step.
  void set_begun(std::function<void()> begun) { begun_ = std::move(begun); }
  bool has_begun() const { return has_begun_; }
  SavingCost saving_cost() const { return checkpoints_ ? checkpoints_->cost() : SavingCost(); }
  // Whether the run was interrupted, or stopped by bad numbers or rows, or by a file of rows that
  // cannot be read, and there is a checkpoint of the step before.
  bool was_saved() const { return was_saved_; }
  // Whether run() came back because options.interrupted said so.
  bool was_interrupted() const { return was_interrupted_; }
  // Steps that run() has made, without those of a run that it went on with.
  int64_t steps_made() const { return steps_made_; }

 private:
  void start();
  std::optional<std::string> key() const;
  bool take_step();
  void prepare();
  void release();
  void describe_step();
  void bind();
  SpillQueue* open_spill_file();
  void warm_up();
  void open_checkpoints();
  FitMachine machine() const;
  void look_at_data(bool resumes);
  RunContents contents();
  void bring_up_to_date();
  void visit_progress(StateVisitor& visitor);
  void visit_rates(StateVisitor& visitor);
  void visit_logs(StateVisitor& visitor);
  void visit_data(StateVisitor& visitor) const;
  void visit_compiled(StateVisitor& visitor) const;
  void visit_order(StateVisitor& visitor) const;
  void visit_description(StateVisitor& visitor) const;
  void begin();
  bool is_interrupted();
  bool run_epoch(int epoch, Logs& logs, class Progress& progress);
  void run_steps(int epoch, class Progress& progress);
  std::optional<FitGuard::Outcome> run_batch(const Stager::Batch& batch, int epoch, int64_t step);
  void end_steps(int epoch, int64_t done);
  void after_step();
  void after_epoch(int epoch, const Logs& logs);
  void save_stopped();
  void validate_epoch(int epoch, Logs& logs);
  void finish();
  bool validates_after(int epoch) const;
  std::optional<int64_t> steps_of_epoch() const;
  std::optional<int64_t> left_bytes() const;

  Model& model_;
  OneThread::Hold hold_;
  SourcePtr data_;
  FitOptions options_;
  bool of_many_;
  AloneScope alone_;
  int64_t batch_size_ = 32;
  RowRange training_rows_;
  std::optional<Stager> training_, validation_;
  Budget budget_;
  FitPlan plan_;
  Arena arena_;
  std::optional<SpillFile> spill_;  // After the arena, which its transfers move.
  std::optional<FitGuard> guard_;
  StepFacts last_step_;
  std::vector<CallbackPtr> callbacks_;
  uint64_t pass_ = 0;  // The next with steps_per_epoch; without, that of epoch 0.
  bool in_pass_ = false;

  // Where the run stands, for checkpoints.
  int epoch_ = 0;              // The one that runs, or comes next.
  int64_t step_ = 0;           // Steps of it that are done.
  bool in_epoch_ = false;      // It has begun.
  bool trained_ = false;       // It has no more steps; its end may be still to come.
  int64_t steps_ = 0;          // Of all epochs.
  int64_t steps_made_ = 0;     // Since run() was called.
  bool takes_batches_ = true;  // Not yet, if resumed.
  // As of the last save, or of a resumed run.
  Stager::Place place_;
  double was_configured_rate_ = 0, rate_ = 0;
  History history_;
  HistoryView history_view_;
  std::optional<FitCheckpoints> checkpoints_;
  std::optional<FitData> looked_at_;  // As it was before the first step.
  std::optional<BestEpoch> best_;
  double configured_rate_ = 0;
  std::string description_;
  std::function<void()> begun_;
  bool has_begun_ = false;
  bool was_interrupted_ = false;
  bool in_step_ = false;  // The state may be half of a step's.
  bool was_saved_ = false;
};

// The shapes of one row of each target field, checked against the model's outputs in number.
TargetTypes target_types(const Source& data, const Network& network, bool weighted);

// Builds a network that has no shapes yet from the data's, and checks that the data's inputs fit
// it. Throws Error that names the field and both shapes.
void fit_network_to(Network& network, const Source& data);

// For a pass without a row; `what` gave none.
DataError no_rows(const std::string& what, const Source& source);

// The learning rates of the step's next updates, into their slots.
void feed_learning_rates(const StepGraph& step, Program& program, double factor = 1);

}  // namespace snug
