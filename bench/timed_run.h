// A workload made ready to be timed: its first step is behind it, and block() trains on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace snug {
class FitRun;
}

namespace snug::bench {

struct RunOptions {
  int threads = 0;
  // step     fit without shuffling, metrics and progress: what the step itself costs
  // user     fit as users call it: shuffled, with accuracy and the progress bar
  // touched  W9: as step, after every row of every table has been trained once
  // lazy     W9: as touched, with an Adam that leaves rows alone which are not in the batch
  std::string mode = "step";
  int64_t most_steps = 0;  // Of a block, for a quick look; 0: as the workload has them.
};

// Of making the first step: what came before main counts too.
struct FirstStep {
  double seconds = 0;       // From the start of the process to the end of step 1, without the data.
  double data_seconds = 0;  // Drawing the rows of that step.
};

class TimedRun {
 public:
  virtual ~TimedRun() = default;
  // One pass over the rows held. Of W10: build, compile and fit one model.
  virtual void block() = 0;
  // What a block's time is divided by.
  virtual int64_t steps() const = 0;
  virtual int64_t data_bytes() const = 0;
  virtual int64_t arena_bytes() const = 0;
  virtual double megaflops() const = 0;  // Of a step.
  virtual double loss() const = 0;       // Of the last block.
  // The run that the blocks are of; none for W10.
  virtual FitRun* fit() { return nullptr; }
};

// Every workload, and W10: a fresh W1 for each block, on 1,000 rows for 2 epochs, shuffled.
// Throws Error if the workload has no such mode.
struct ReadyRun {
  FirstStep first_step;
  std::unique_ptr<TimedRun> run;
};
// `on_first_step` is called when the first step has ended, before the rows held are drawn.
ReadyRun make_run(const std::string& name, const RunOptions& options,
                  void (*on_first_step)(const FirstStep&) = nullptr);

}  // namespace snug::bench
