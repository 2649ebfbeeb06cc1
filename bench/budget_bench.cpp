// What a budget costs: workloads at shares of their unconstrained activation memory.
//   build/bench/budget_bench [--threads N] [--seconds S] [W5 W6 ...]
// For each, from all of it to the least that works: the plan, its predicted and its measured time.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/workloads/workloads.h"
#include "snug/base/bytes.h"
#include "snug/base/threads.h"
#include "snug/exec/spill_file.h"
#include "snug/plan/transfers.h"
#include "snug/tensor/arena.h"
#include "snug/train/fit.h"

namespace snug::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Settings {
  int threads = 0;
  double seconds = 2;
  std::vector<std::string> names;
};

// A workload's training step, planned within a budget for the arena and the variables.
class Trial {
 public:
  Trial(const Workload& workload, int threads, int64_t budget_bytes)
      : data_(workload, 1), model_(workload.model()), start_(Clock::now()) {
    model_.compile(workload.compile);
    model_.network().set_paths();
    stager_.emplace(data_.source, StagerOptions{.range = {.count = workload.batch},
                                                .batch_size = workload.batch});
    runner_ = std::make_unique<Runner>(
        training_step(model_.network(), model_.compiled(),
                      target_types(*data_.source, model_.network(), false)),
        std::vector{workload.batch}, options_of(threads, budget_bytes));
    planning_seconds_ = seconds_since(start_);
  }

  const Plan& plan() const { return runner_->programs()[0]->plan(); }
  int64_t again() const {
    return static_cast<int64_t>(plan().steps.size() -
                                runner_->programs()[0]->problem().nodes.size());
  }
  int64_t part_rows() const { return runner_->cuts()[0].forced_part_rows; }
  double planning_seconds() const { return planning_seconds_; }

  // The median of the steps' times, in nanoseconds.
  double measure(double seconds) {
    Variables state;
    for (const auto& [variable, value] : runner_->step().variables) state.push_back(variable);
    allocate(model_.weights(), 1);
    allocate(state, 1);
    Arena arena(runner_->arena_bytes());
    arena.touch();
    std::optional<SpillFile> spill;
    if (runner_->file_bytes() > 0)
      spill.emplace(real_files(), runner_->spill_options().folder, runner_->file_bytes());
    runner_->bind(arena.data(), spill ? &spill->queue() : nullptr);
    std::vector<double> times;
    const auto begin = Clock::now();
    for (uint64_t pass = 0; times.size() < 3 || seconds_since(begin) < seconds; ++pass) {
      stager_->begin_pass(pass);
      const auto batch = stager_->next(*runner_);
      feed_learning_rates(runner_->step(), *batch->program);
      const auto start = Clock::now();
      batch->program->run(batch->info);
      times.push_back(1e9 * seconds_since(start));
    }
    times.erase(times.begin());  // It touches everything for the first time.
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

  SpilledBytes spilled() const { return spilled_bytes(runner_->programs()[0]->problem(), plan()); }

 private:
  static RunnerOptions options_of(int threads, int64_t budget_bytes) {
    RunnerOptions options{.target = {.threads = threads}, .budget_bytes = budget_bytes};
    if (std::getenv("SNUG_NO_SPILL") == nullptr) options.spill = spill_limits(options.spill_file);
    return options;
  }

  WorkloadData data_;
  Model model_;
  Clock::time_point start_;
  std::optional<Stager> stager_;
  std::unique_ptr<Runner> runner_;
  double planning_seconds_ = 0;
};

void run(const Workload& workload, const Settings& settings) {
  Trial free(workload, settings.threads, kUnlimited);
  const double free_ns = free.measure(settings.seconds);
  const int64_t persistent = free.plan().persistent_bytes, arena = free.plan().arena_bytes;
  std::printf("%s: variables %s, arena %s, %.2f ms a step\n", workload.name.c_str(),
              bytes_text(persistent).c_str(), bytes_text(arena).c_str(), free_ns / 1e6);
  const auto try_one = [&](const char* what, int64_t budget) {
    Trial tight(workload, settings.threads, budget);
    const Plan& plan = tight.plan();
    const double ns = tight.measure(settings.seconds);
    std::printf(
        "  %-8s arena %10s (%.3f)  planned in %5.2f s  predicted %8.2f ms x%.3f  measured %8.2f ms "
        "x%.3f  parts of %lld rows, %lld nodes again, %s to the disk\n",
        what, bytes_text(plan.arena_bytes).c_str(),
        static_cast<double>(plan.arena_bytes) / static_cast<double>(arena),
        tight.planning_seconds(), plan.step_ns / 1e6, plan.step_ns / plan.fastest_ns, ns / 1e6,
        ns / free_ns, static_cast<long long>(tight.part_rows()),
        static_cast<long long>(tight.again()), bytes_text(tight.spilled().written).c_str());
  };
  int64_t least = 0;
  const auto start = Clock::now();
  try {
    Trial(workload, settings.threads, 1);
  } catch (const StepBudgetError& error) {
    least = error.least_bytes();
  }
  std::printf(
      "  least    arena %10s (%.3f)  found in %.2f s\n", bytes_text(least - persistent).c_str(),
      static_cast<double>(least - persistent) / static_cast<double>(arena), seconds_since(start));
  for (const auto& [what, share] : {std::pair("half", 2), {"quarter", 4}, {"eighth", 8}}) {
    if (persistent + arena / share > least) try_one(what, persistent + arena / share);
  }
  try_one("least", least);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      settings.threads = std::atoi(argv[++i]);
    else if (argument == "--seconds" && i + 1 < argc)
      settings.seconds = std::atof(argv[++i]);
    else
      settings.names.push_back(argument);
  }
  if (settings.threads == 0) settings.threads = hardware_threads();
  if (settings.names.empty()) settings.names = {"W5", "W6", "W11"};
  return settings;
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  const auto settings = snug::bench::parse(argc, argv);
  try {
    for (const std::string& name : settings.names)
      snug::bench::run(snug::bench::workload(name), settings);
  } catch (const snug::Error& error) {
    std::fprintf(stderr, "budget_bench: %s\n", error.what());
    return error.exit_code();
  }
}
