#include "bench/timed_run.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "bench/arguments.h"
#include "bench/workloads/workloads.h"
#include "snug/base/error.h"
#include "snug/train/fit.h"

namespace snug::bench {
namespace {

constexpr int64_t kUserRows = 200'000;
constexpr int64_t kSmallFitRows = 1000;
constexpr int kSmallFitEpochs = 2;

// To a tick of the kernel's clock, 10 ms.
double seconds_since_process_start() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // The name in brackets may hold spaces; the start is the 22nd field, the 20th after it.
  size_t at = text.rfind(')');
  for (int field = 0; field < 20 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  SNUG_CHECK(at != std::string::npos);
  const double ticks = std::stod(text.substr(at));
  return seconds_of(CLOCK_BOOTTIME) - ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double last_loss(const History& history) { return history.history.at("loss").back(); }

int64_t steps_of(const Workload& workload, const RunOptions& options) {
  const int64_t steps = options.mode == "user" ? kUserRows / workload.batch : workload.steps;
  return options.most_steps > 0 ? std::min(steps, options.most_steps) : steps;
}

class FitBlocks : public TimedRun {
 public:
  FitBlocks(const Workload& workload, const RunOptions& options, Model model)
      : workload_(workload),
        steps_(steps_of(workload, options)),
        data_(workload, steps_),
        model_(std::move(model)),
        fit_(model_, data_.source, fit_options(options)) {}

  void block() override { loss_ = last_loss(fit_.run()); }
  int64_t steps() const override { return steps_; }
  int64_t data_bytes() const override { return data_.bytes(); }
  int64_t arena_bytes() const override { return fit_.plan().arena_bytes; }
  double megaflops() const override { return workload_.megaflops; }
  double loss() const override { return loss_; }
  FitRun* fit() override { return &fit_; }

 private:
  FitOptions fit_options(const RunOptions& options) const {
    const bool user = options.mode == "user";
    return {.batch_size = workload_.batch,
            .shuffle = user,
            .verbose = user ? 1 : 0,
            .threads = options.threads};
  }

  const Workload& workload_;
  int64_t steps_;
  WorkloadData data_;
  Model model_;
  FitRun fit_;
  double loss_ = 0;
};

// W10: what a search over many small models pays.
class SmallFits : public TimedRun {
 public:
  explicit SmallFits(const RunOptions& options)
      : workload_(small()), data_(workload_, 1), threads_(options.threads) {}

  void block() override {
    Model model = workload_.model();
    model.compile(workload_.compile);
    loss_ = last_loss(model.fit(
        data_.source,
        {.batch_size = 32, .epochs = kSmallFitEpochs, .verbose = 0, .threads = threads_}));
  }
  int64_t steps() const override { return 1; }
  int64_t data_bytes() const override { return data_.bytes(); }
  int64_t arena_bytes() const override { return 0; }
  double megaflops() const override { return 64 * workload_.megaflops; }
  double loss() const override { return loss_; }

 private:
  // Its rows are one "batch" of the data, so that there are exactly so many.
  static Workload small() {
    Workload result = workload("W1");
    result.batch = kSmallFitRows;
    return result;
  }

  Workload workload_;
  WorkloadData data_;
  int threads_;
  double loss_ = 0;
};

void check_mode(const std::string& name, const RunOptions& options) {
  const bool known = options.mode == "step" || (options.mode == "user" && name == "W1") ||
                     ((options.mode == "touched" || options.mode == "lazy") && name == "W9");
  if (known) return;
  throw Error("{} has no mode {}; every workload has step, W1 also user, W9 also touched and lazy",
              name, options.mode);
}

// Every row of every table has moments from here on, so that no update can be left out.
void touch_tables(Model& model, const Workload& workload, int threads) {
  const int64_t steps = (workload.integer_bound + workload.batch - 1) / workload.batch;
  const WorkloadData rows(workload, steps, WorkloadData::Integers::in_order);
  model.fit(rows.source, {.batch_size = workload.batch, .verbose = 0, .threads = threads});
}

}  // namespace

ReadyRun make_run(const std::string& name, const RunOptions& options,
                  void (*on_first_step)(const FirstStep&)) {
  check_mode(name, options);
  ReadyRun ready;
  const bool many = name == "W10";
  const Workload& workload = bench::workload(many ? "W1" : name);
  const double drawing = seconds_of(CLOCK_MONOTONIC);
  const WorkloadData rows(workload, 1);
  ready.first_step.data_seconds = seconds_of(CLOCK_MONOTONIC) - drawing;
  Model model = workload.model();
  CompileOptions compile = workload.compile;
  if (options.mode == "user") compile.metrics = {"accuracy"};
  if (options.mode == "lazy") compile.optimizer = Adam({.lazy = true});
  model.compile(compile);
  model.fit(rows.source, {.batch_size = workload.batch, .verbose = 0, .threads = options.threads});
  ready.first_step.seconds = seconds_since_process_start() - ready.first_step.data_seconds;
  if (on_first_step != nullptr) on_first_step(ready.first_step);
  if (many) {
    ready.run = std::make_unique<SmallFits>(options);
    return ready;
  }
  if (options.mode == "touched" || options.mode == "lazy")
    touch_tables(model, workload, options.threads);
  ready.run = std::make_unique<FitBlocks>(workload, options, std::move(model));
  return ready;
}

}  // namespace snug::bench
