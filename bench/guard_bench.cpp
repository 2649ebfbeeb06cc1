// What safety costs: the guard in each step, and a checkpoint that is saved beside the steps.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>

#include "bench/workloads/workloads.h"
#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/train/fit.h"
#include "snug/train/state_copy.h"

namespace snug::bench {
namespace {

constexpr const char* kHelp =
    R"(usage: guard_bench [options] [W1 W5 ...]     without names: W1 to W6

  --threads N    default: all cores
  --rounds N     turns of each side; default 15
  --wall         wall time instead of the process's CPU time: for a quiet machine

Of each workload a line: the least and the median of the time of a step without and with the guard
(turn by turn in one process), and the longest stall of a save beside the steps against a memcpy of
the state.
)";

struct Settings {
  int threads = 0;
  int rounds = 15;
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  std::vector<std::string> names;
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least and the one in the middle.
struct Figures {
  double least = 0, median = 0;
};
Figures figures(std::vector<double> all) {
  std::ranges::sort(all);
  return {all.front(), all[all.size() / 2]};
}

// Steps of a turn: about 50 ms of the small ones, one of the largest.
int64_t steps_of(const Workload& workload) {
  return std::clamp<int64_t>(static_cast<int64_t>(2000 / std::max(1.0, workload.megaflops)), 2,
                             workload.steps);
}

class Side {
 public:
  Side(const Workload& workload, const WorkloadData& data, const Settings& settings,
       GuardOptions::Policy policy)
      : model_(workload.model()) {
    model_.compile(workload.compile);
    fit_.emplace(model_, data.source,
                 FitOptions{.batch_size = workload.batch,
                            .shuffle = false,
                            .verbose = 0,
                            .threads = settings.threads,
                            .guard = {.policy = policy}});
  }
  void turn(clockid_t clock, int64_t steps) {
    const double start = seconds_of(clock);
    fit_->run();
    times_.push_back(1e6 * (seconds_of(clock) - start) / static_cast<double>(steps));
  }
  Figures figures() const { return bench::figures({times_.begin() + 1, times_.end()}); }

 private:
  Model model_;
  std::optional<FitRun> fit_;
  std::vector<double> times_;
};

struct GuardCost {
  Figures without, with;
};

GuardCost guard_cost(const Workload& workload, const Settings& settings) {
  const int64_t steps = steps_of(workload);
  const WorkloadData data(workload, steps);
  Side without(workload, data, settings, GuardOptions::Policy::off);
  Side with(workload, data, settings, GuardOptions::Policy::stop);
  for (int round = 0; round <= settings.rounds; ++round) {
    without.turn(settings.clock, steps);
    with.turn(settings.clock, steps);
  }
  return {without.figures(), with.figures()};
}

// Stalls of single saves, and memcpys of as many bytes in the same pieces between them.
struct SaveCost {
  int64_t bytes = 0;
  Figures stall, copy;
};

class SaveWatch final : public Callback {
 public:
  explicit SaveWatch(const FitRun*& fit) : fit_(fit) {}

  // After a step: what its save took.
  void on_train_batch_begin(int64_t) override {
    const SavingCost now = fit_->saving_cost();
    if (now.saves == last_.saves) return;
    stalls.push_back(1e6 * (now.stalled_seconds - last_.stalled_seconds));
    last_ = now;
  }
  std::vector<double> stalls;

 private:
  const FitRun*& fit_;
  SavingCost last_;
};

SaveCost save_cost(const Workload& workload, const Settings& settings) {
  const Path folder = std::filesystem::temp_directory_path() /
                      fmt::format("guard_bench.{}.{}", workload.name, ::getpid());
  const WorkloadData data(workload, 2);
  Model model = workload.model();
  model.compile(workload.compile);
  const FitRun* watched = nullptr;
  const auto watch = std::make_shared<SaveWatch>(watched);
  FitRun fit(
      model, data.source,
      {.batch_size = workload.batch,
       .epochs = 2 * settings.rounds,
       .shuffle = false,
       .callbacks = {watch},
       .verbose = 0,
       .threads = settings.threads,
       .checkpoint = {.directory = folder, .every_seconds = 0, .every_steps = 4, .keep = 1}});
  watched = &fit;
  fit.run();
  std::filesystem::remove_all(folder);
  std::vector<CheckpointVariable> variables;
  Variables state = model.weights();
  for (const VariablePtr& slot : model.compiled().slots()) state.push_back(slot);
  for (const VariablePtr& variable : state)
    variables.push_back({variable->path(), variable->tensor()});
  StateCopy copy;
  copy.reserve(variables);
  std::vector<double> copies;
  for (int round = 0; round < settings.rounds; ++round) {
    fit.plan().training->program(workload.batch).compute({});  // The caches as a step leaves them.
    const double start = seconds_of(CLOCK_MONOTONIC);
    copy.take();
    copies.push_back(1e6 * (seconds_of(CLOCK_MONOTONIC) - start));
  }
  return {StateCopy::bytes_for(state), figures(watch->stalls), figures(copies)};
}

void print(const Workload& workload, const Settings& settings) {
  const GuardCost guard = guard_cost(workload, settings);
  const SaveCost save = save_cost(workload, settings);
  const double percent = 100 * (guard.with.least / guard.without.least - 1);
  std::printf(
      "%-4s guard: %9.2f -> %9.2f us (least), %9.2f -> %9.2f (median): %+.2f us, %+.2f %%   "
      "save of %.2f MiB: stall %.1f us (median %.1f), memcpy %.1f (median %.1f): %.2f x\n",
      workload.name.c_str(), guard.without.least, guard.with.least, guard.without.median,
      guard.with.median, guard.with.least - guard.without.least, percent,
      static_cast<double>(save.bytes) / (1 << 20), save.stall.least, save.stall.median,
      save.copy.least, save.copy.median, save.stall.median / save.copy.median);
  std::fflush(stdout);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      settings.threads = std::atoi(argv[++i]);
    else if (argument == "--rounds" && i + 1 < argc)
      settings.rounds = std::max(3, std::atoi(argv[++i]));
    else if (argument == "--wall")
      settings.clock = CLOCK_MONOTONIC;
    else if (argument.starts_with("-"))
      throw Error("unknown option {}; --help lists them", argument);
    else
      settings.names.push_back(argument);
  }
  if (settings.threads == 0) settings.threads = hardware_threads();
  if (settings.names.empty()) settings.names = {"W1", "W2", "W3", "W4", "W5", "W6"};
  return settings;
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(snug::bench::kHelp, stdout);
    return 0;
  }
  try {
    const snug::bench::Settings settings = snug::bench::parse(argc, argv);
    for (const std::string& name : settings.names)
      snug::bench::print(snug::bench::workload(name), settings);
  } catch (const snug::Error& error) {
    std::fprintf(stderr, "guard_bench: %s\n", error.what());
    return error.exit_code();
  }
}
