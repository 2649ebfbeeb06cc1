// What safety costs: the guard in each step, and a checkpoint that is saved beside the steps.

#include <unistd.h>

#include <algorithm>
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
  --rounds N     pairs of models, made anew each time; default 5, of small models 8 times as many
  --turns N      of each model of a pair; default 5
  --wall         wall time instead of the process's CPU time: for a quiet machine

Of each workload two lines. The time of a step without and with the guard: of each pair the least of
turns that alternate, then the median of the pairs, because where a model's memory happens to stand
moves a small step by more than the guard does. And the stall of a save beside the steps against a
plain memcpy of the state, medians.
)";

struct Settings {
  int threads = 0;
  int rounds = 5, turns = 5;
  bool wall = false;
  std::vector<std::string> names;

  clockid_t clock() const { return wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID; }
};

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

// A turn: about 50 ms of the small ones, some steps of the largest, in epochs over a few batches.
struct Turn {
  int64_t steps;  // Of an epoch.
  int epochs;

  explicit Turn(const Workload& workload) {
    const auto all = static_cast<int64_t>(50'000 / workload.megaflops);
    steps = std::min<int64_t>(workload.steps, workload.megaflops < 1000 ? all : 2);
    epochs =
        static_cast<int>(std::clamp<int64_t>(all / steps, 1, workload.megaflops < 1000 ? 1 : 5));
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
  void turn(clockid_t clock) {
    const double start = seconds_of(clock);
    fit_->run();
    const double us = 1e6 * (seconds_of(clock) - start);
    least_ = std::min(least_, us / static_cast<double>(turn_.steps * turn_.epochs));
  }
  double least() const { return least_; }

 private:
  Turn turn_;
  Model model_;
  std::optional<FitRun> fit_;
  double least_ = 1e12;
};

// Of each pair.
struct GuardCost {
  std::vector<double> without, with, more;
};

GuardCost guard_cost(const Workload& workload, const Settings& settings) {
  GuardCost cost;
  const WorkloadData data(workload, Turn(workload).steps);
  // Of small ones many: their differences scatter most.
  const int rounds = workload.megaflops < 10 ? 8 * settings.rounds : settings.rounds;
  for (int round = 0; round < rounds; ++round) {
    Side without(workload, data, settings, GuardOptions::Policy::off);
    Side with(workload, data, settings, GuardOptions::Policy::stop);
    for (int turn = 0; turn < settings.turns; ++turn) {
      without.turn(settings.clock());
      with.turn(settings.clock());
    }
    cost.without.push_back(without.least());
    cost.with.push_back(with.least());
    cost.more.push_back(with.least() - without.least());
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
  const int saves = settings.rounds * settings.turns;
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
       .epochs = static_cast<int>((saves * every + steps) / steps),
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
  const double without = median(guard.without), more = median(guard.more);
  std::printf(
      "%-4s guard %10.2f -> %10.2f us a step: %+.2f us, %+.2f %% (of %d pairs: %+.2f to "
      "%+.2f us)\n",
      workload.name.c_str(), without, median(guard.with), more, 100 * more / without,
      static_cast<int>(guard.more.size()), std::ranges::min(guard.more),
      std::ranges::max(guard.more));
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
                       .value("--rounds", settings.rounds)
                       .value("--turns", settings.turns)
                       .flag("--wall", settings.wall)
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
