// What safety costs: the guard in each step, and a checkpoint that is saved beside the steps.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "bench/arguments.h"
#include "bench/workloads/workloads.h"
#include "snug/base/threads.h"
#include "snug/tensor/arena.h"
#include "snug/train/fit.h"

namespace snug::bench {
namespace {

constexpr const char* kHelp =
    R"(usage: guard_bench [options] [W1 W5 ...]     without names: W1 to W6

  --threads N    default: all cores
  --seconds N    of each workload, for the guard; default 20
  --turns N      couples of turns of each pair of models; default 8
  --wall         wall time instead of the process's CPU time: for a quiet machine
  --guard-only   without the saves

Of each workload two lines. The time of a step without and with the guard: two models take turns of
some 10 ms, of 10 or of 2 steps, off on, on off, ..., and each couple gives a ratio, so that a
machine that changes its speed changes both; models are made anew after some couples, because where
their memory happens to stand moves a small step by more than the guard does. Printed are the
median of the couples and twice its standard error: that of the couples, or of the models' medians
where that is larger. A turn looks at all weights once, as training does once an epoch. And the
stall of a save beside the steps against a plain memcpy of the state, medians.
)";

struct Settings {
  int threads = 0;
  double seconds = 20;
  int turns = 8;
  bool wall = false, guard_only = false;
  std::vector<std::string> names;

  clockid_t clock() const { return wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID; }
};

// The element that so large a share of the others is below.
double quantile(std::vector<double> all, double share) {
  std::ranges::sort(all);
  return all[static_cast<size_t>(share * static_cast<double>(all.size() - 1) + 0.5)];
}

double median(const std::vector<double>& all) { return quantile(all, 0.5); }

// Of the median, as if the elements were normal; from their quartiles, so that a few that were
// disturbed do not count.
double standard_error(const std::vector<double>& all) {
  const double between = quantile(all, 0.75) - quantile(all, 0.25);
  return 0.93 * between / std::sqrt(static_cast<double>(all.size()));
}

struct Turn {
  int64_t steps;  // Of an epoch.
  int epochs;

  explicit Turn(const Workload& workload) {
    const bool small = workload.megaflops < 100;
    steps = std::min<int64_t>(workload.steps, workload.megaflops < 1 ? 1000 : small ? 50 : 2);
    epochs = small || workload.megaflops > 10'000 ? 1 : 5;
  }
};

class Side {
 public:
  Side(const Workload& workload, const WorkloadData& data, const Settings& settings,
       GuardOptions::Policy policy)
      : turn_(workload), model_(workload.model()) {
    model_.compile(workload.compile);
    fit_.emplace(model_, data.source,
                 FitOptions{.batch_size = workload.batch,
                            .epochs = turn_.epochs,
                            .shuffle = false,
                            .verbose = 0,
                            .threads = settings.threads,
                            .guard = {.policy = policy}});
    fit_->run();
  }
  // Microseconds of a step.
  double turn(clockid_t clock) {
    const double start = seconds_of(clock);
    fit_->run();
    const double us = 1e6 * (seconds_of(clock) - start);
    return us / static_cast<double>(turn_.steps * turn_.epochs);
  }

 private:
  Turn turn_;
  Model model_;
  std::optional<FitRun> fit_;
};

// Of each couple of turns, and the medians of each pair of models.
struct GuardCost {
  std::vector<double> without, ratios, ratios_of_models;

  void add(const std::vector<double>& without_now, const std::vector<double>& ratios_now) {
    without.insert(without.end(), without_now.begin(), without_now.end());
    ratios.insert(ratios.end(), ratios_now.begin(), ratios_now.end());
    ratios_of_models.push_back(median(ratios_now));
  }
  double error() const {
    return std::max(standard_error(ratios), standard_error(ratios_of_models));
  }
};

GuardCost guard_cost(const Workload& workload, const Settings& settings) {
  constexpr int kLeastModels = 3;
  GuardCost cost;
  const WorkloadData data(workload, Turn(workload).steps);
  const double end = seconds_of(CLOCK_MONOTONIC) + settings.seconds;
  for (int round = 0; round < kLeastModels || seconds_of(CLOCK_MONOTONIC) < end; ++round) {
    // Each is the first to be made, and to run, as often as the other.
    using Policy = GuardOptions::Policy;
    const bool turned = round % 2 == 1;
    Side first(workload, data, settings, turned ? Policy::stop : Policy::off);
    Side second(workload, data, settings, turned ? Policy::off : Policy::stop);
    std::vector<double> without, ratios;
    for (int turn = 0; turn < settings.turns; ++turn) {
      const bool second_first = turn % 2 == 1;
      double times[2] = {};
      for (const bool is_second : {second_first, !second_first})
        times[is_second] = (is_second ? second : first).turn(settings.clock());
      without.push_back(times[turned]);
      ratios.push_back(times[!turned] / times[turned]);
    }
    cost.add(without, ratios);
  }
  return cost;
}

// Stalls of single saves, and memcpys of as many bytes in the same pieces.
struct SaveCost {
  int64_t bytes = 0;
  std::vector<double> stalls, copies;
};

// Plain memcpys of a state, into memory that was made ready beforehand.
class PlainCopy {
 public:
  explicit PlainCopy(const Model& model) : state_(model.weights()) {
    for (const VariablePtr& slot : model.compiled().slots()) state_.push_back(slot);
    for (const VariablePtr& variable : state_) bytes_ += variable->type().bytes();
    to_ = Arena(bytes_);
    to_.touch();
  }
  size_t bytes() const { return bytes_; }
  // Microseconds.
  double take() {
    const double start = seconds_of(CLOCK_MONOTONIC);
    std::byte* to = to_.data();
    for (const VariablePtr& variable : state_) {
      const Tensor tensor = variable->tensor();
      std::memcpy(to, tensor.data, tensor.bytes());
      to += tensor.bytes();
    }
    return 1e6 * (seconds_of(CLOCK_MONOTONIC) - start);
  }

 private:
  Variables state_;
  size_t bytes_ = 0;
  Arena to_;
};

// Notes what saves take, and half-way between them copies the state, so that both find the caches
// as steps leave them.
class SaveWatch final : public Callback {
 public:
  SaveWatch(const FitRun*& fit, std::optional<PlainCopy>& copy, int64_t every)
      : fit_(fit), copy_(copy), every_(every) {}

  bool wants_batch_logs() const override { return false; }
  void on_train_batch_begin(int64_t) override {
    if (++step_ % every_ == every_ / 2) copies.push_back(copy_->take());
    const SavingCost now = fit_->saving_cost();
    if (now.saves == last_.saves) return;
    stalls.push_back(1e6 * (now.stalled_seconds - last_.stalled_seconds));
    last_ = now;
  }
  std::vector<double> stalls, copies;

 private:
  const FitRun*& fit_;
  std::optional<PlainCopy>& copy_;
  int64_t every_, step_ = 0;
  SavingCost last_;
};

SaveCost save_cost(const Workload& workload, const Settings& settings, double step_us) {
  constexpr double kBetweenSaves = 50'000;  // Microseconds: the writer has ended.
  const auto every = std::max<int64_t>(4, static_cast<int64_t>(kBetweenSaves / step_us));
  const Path folder = std::filesystem::temp_directory_path() /
                      fmt::format("guard_bench.{}.{}", workload.name, ::getpid());
  constexpr int kSaves = 25;
  const int64_t steps = std::min(every, workload.steps);
  const WorkloadData data(workload, steps);
  Model model = workload.model();
  model.compile(workload.compile);
  std::optional<PlainCopy> copy;
  const FitRun* watched = nullptr;
  const auto watch = std::make_shared<SaveWatch>(watched, copy, every);
  FitRun fit(
      model, data.source,
      {.batch_size = workload.batch,
       .epochs = static_cast<int>((kSaves * every + steps) / steps),
       .shuffle = false,
       .callbacks = {watch},
       .verbose = 0,
       .threads = settings.threads,
       .checkpoint = {.directory = folder, .every_seconds = 0, .every_steps = every, .keep = 1}});
  watched = &fit;
  copy.emplace(model);  // Now it has all its state.
  fit.run();
  std::filesystem::remove_all(folder);
  return {static_cast<int64_t>(copy->bytes()), watch->stalls, watch->copies};
}

void print(const Workload& workload, const Settings& settings) {
  const GuardCost guard = guard_cost(workload, settings);
  const double without = median(guard.without), more = median(guard.ratios) - 1;
  const double error = 2 * guard.error();
  std::printf(
      "%-4s guard %10.2f us a step without: %+.2f +- %.2f us, %+.2f +- %.2f %% (%d couples, %d "
      "pairs "
      "of models)\n",
      workload.name.c_str(), without, without * more, without * error, 100 * more, 100 * error,
      static_cast<int>(guard.ratios.size()), static_cast<int>(guard.ratios_of_models.size()));
  std::fflush(stdout);
  if (settings.guard_only) return;
  const SaveCost save = save_cost(workload, settings, without);
  const double stall = median(save.stalls), copy = median(save.copies);
  std::printf("%-4s save of %.2f MiB: stall %.1f us, memcpy %.1f us: %.2f x, %+.1f us\n",
              workload.name.c_str(), static_cast<double>(save.bytes) / (1 << 20), stall, copy,
              stall / copy, stall - copy);
  std::fflush(stdout);
}

void run(int argc, char** argv) {
  Settings settings;
  settings.names = Arguments()
                       .value("--threads", settings.threads)
                       .value("--seconds", settings.seconds)
                       .value("--turns", settings.turns)
                       .flag("--wall", settings.wall)
                       .flag("--guard-only", settings.guard_only)
                       .parse(argc, argv);
  if (settings.threads == 0) settings.threads = hardware_threads();
  if (settings.names.empty()) settings.names = {"W1", "W2", "W3", "W4", "W5", "W6"};
  for (const std::string& name : settings.names) print(workload(name), settings);
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  return snug::bench::run_bench("guard_bench", snug::bench::kHelp, argc, argv, snug::bench::run);
}
