// What a budget costs: workloads at shares of their unconstrained arena.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "bench/arguments.h"
#include "bench/workloads/workloads.h"
#include "snug/base/bytes.h"
#include "snug/base/threads.h"
#include "snug/exec/calibration.h"
#include "snug/exec/disk_speed.h"
#include "snug/exec/spill_file.h"
#include "snug/nn/dense.h"
#include "snug/plan/squeezer.h"
#include "snug/plan/transfers.h"
#include "snug/tensor/arena.h"
#include "snug/train/fit.h"

namespace snug::bench {
namespace {

constexpr const char* kHelp =
    R"(usage: budget_bench [options] [W5 W6 ...]     without names: W5 W6 W11 resnet50

  --threads N    default: all cores
  --turns N      steps of each plan; default 7
  --nodes        instead: the predicted and the measured time of each kind of node without a budget
  --share N      with --nodes: in an Nth of the arena, as it is planned then
  --part-rows N  with --nodes: in parts of N rows, one after the other; --lanes: side by side
  --whole        with --nodes: node by node on all rows
  --narrow       with --nodes: in narrower stages

Of each workload, from all of its arena to the least that works: the plan, its predicted and its
measured time. The fastest plan may already run the batch in parts: "of the batch" is the share of
what one node after the other on the whole batch takes. "same bits" is all of it in a reproducible
run. The plans of a workload take turns,
so that the machine's moods hit all alike; times are the least of the turns, on the clock and of the
processor, and ratios the median of the turns' own. SNUG_NO_SPILL=1: without a file.
A name like deep-60-256-128 is a net of 60 dense layers of 256 units on batches of 128 rows.
)";

struct Settings {
  int threads = 0;
  int turns = 7;
  bool nodes = false;
  int share = 1;
  PartitionOptions cut{.one_lane = true};  // Of --nodes.
  bool lanes = false, whole = false;
  std::vector<std::string> names;
};

// deep-LAYERS-UNITS-BATCH, or nothing.
std::optional<Workload> deep_net(const std::string& name) {
  int layers = 0, units = 0, batch = 0;
  if (std::sscanf(name.c_str(), "deep-%d-%d-%d", &layers, &units, &batch) != 3) return {};
  return Workload{.name = name,
                  .batch = batch,
                  .model =
                      [=] {
                        std::vector<Layer> all = {Input({units})};
                        for (int i = 0; i < layers; ++i) all.push_back(Dense(units, "relu"));
                        all.push_back(Dense(1, "sigmoid"));
                        return Model(Sequential(all));
                      },
                  .compile = {.optimizer = Adam(), .loss = "binary_crossentropy"},
                  .inputs = {{units}}};
}

const char* words_of(Transfer transfer) {
  static constexpr const char* kWords[] = {"", "start to write", "wait for a write",
                                           "start to read", "wait for a read"};
  return kWords[static_cast<int>(transfer)];
}

double clock_ns(clockid_t clock) { return 1e9 * seconds_of(clock); }

// What one step took.
struct StepTime {
  double wall_ns = 0, processor_ns = 0;
};

// A workload's training step, planned within a budget for the arena and the variables.
class Trial {
 public:
  Trial(const Workload& workload, int threads, int64_t budget_bytes, bool reproducible = false,
        const PartitionOptions& cut = {})
      : threads_(threads), data_(workload, 1), model_(workload.model()) {
    const double start = clock_ns(CLOCK_MONOTONIC);
    model_.compile(workload.compile);
    model_.network().set_paths();
    stager_.emplace(data_.source, StagerOptions{.range = {.count = workload.batch},
                                                .batch_size = workload.batch});
    runner_ = std::make_unique<Runner>(
        training_step(model_.network(), model_.compiled(),
                      target_types(*data_.source, model_.network(), false)),
        std::vector{workload.batch}, options_of(threads, budget_bytes, reproducible, cut));
    planning_seconds_ = (clock_ns(CLOCK_MONOTONIC) - start) / 1e9;
  }

  const Plan& plan() const { return runner_->programs()[0]->plan(); }
  double predicted_ns() const {
    return snug::predicted_ns(runner_->programs()[0]->problem(), plan());
  }
  int64_t again() const {
    return static_cast<int64_t>(plan().steps.size() -
                                runner_->programs()[0]->problem().nodes.size());
  }
  const PartitionOptions& cut() const { return runner_->cuts()[0]; }
  double planning_seconds() const { return planning_seconds_; }

  // All trials of a workload may run in one arena.
  void bind(const Arena& arena) {
    Variables state;
    for (const auto& [variable, value] : runner_->step().variables) state.push_back(variable);
    allocate(model_.weights(), 1);
    allocate(state, 1);
    if (runner_->file_bytes() > 0)
      spill_.emplace(real_files(), runner_->spill_options().folder, runner_->file_bytes());
    runner_->bind(arena.data(), spill_ ? &spill_->queue() : nullptr);
  }

  SpilledBytes spilled() const { return spilled_bytes(runner_->programs()[0]->problem(), plan()); }

  StepTime step(Program::Mode mode = Program::Mode::plain) {
    stager_->begin_pass(pass_++);
    const auto batch = stager_->next(*runner_);
    feed_learning_rates(runner_->step(), *batch->program);
    const StepTime start{clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
    batch->program->run(batch->info, mode);
    times.push_back({clock_ns(CLOCK_MONOTONIC) - start.wall_ns,
                     clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start.processor_ns});
    return times.back();
  }

  // Of each kind of node: the name of its op, or what is done with the disk.
  struct NodeTime {
    double predicted_ns = 0, measured_ns = 0;
    int count = 0;
  };
  std::map<std::string, NodeTime> node_times() const {
    const Program& program = *runner_->programs()[0];
    std::map<std::string, NodeTime> times;
    for (size_t i = 0; i < program.profile().size(); ++i) {
      const NodeProfile& profile = program.profile()[i];
      const ProblemNode& node = program.problem().nodes[plan().steps[i].node];
      const bool moves = node.transfer != Transfer::none;
      NodeTime& time =
          times[moves ? words_of(node.transfer) : profile.name.substr(profile.name.rfind('/') + 1)];
      time.predicted_ns += node.cost_ns;
      time.measured_ns += profile.nanoseconds * runs_of(node) / static_cast<double>(profile.runs);
      ++time.count;
    }
    return times;
  }

  std::vector<StepTime> times;

 private:
  // That a step makes of a node, on the clock: lanes run side by side.
  double runs_of(const ProblemNode& node) const {
    const Stage& stage = runner_->programs()[0]->problem().stages[node.stage];
    return static_cast<double>(stage.parts) / std::min(stage.lanes, threads_);
  }
  static RunnerOptions options_of(int threads, int64_t budget_bytes, bool reproducible,
                                  const PartitionOptions& cut) {
    RunnerOptions options{.target = {.threads = threads},
                          .partition = cut,
                          .borrow_inputs = true,
                          .reproducible = reproducible,
                          .budget_bytes = budget_bytes,
                          .costs = calibrated_costs(real_files(), cache_folder(), threads)};
    if (std::getenv("SNUG_NO_SPILL") != nullptr) return options;
    options.spill = spill_limits(options.spill_file);
    options.costs->disk =
        calibrated_disk(real_files(), cache_folder(), options.spill_file.folder, threads);
    return options;
  }

  int threads_;
  WorkloadData data_;
  Model model_;
  std::optional<Stager> stager_;
  std::optional<SpillFile> spill_;
  std::unique_ptr<Runner> runner_;
  double planning_seconds_ = 0;
  uint64_t pass_ = 0;
};

double least(const Trial& trial, double StepTime::*what) {
  return (*std::ranges::min_element(trial.times, {}, what)).*what;
}

double median_ratio(const Trial& a, const Trial& b, double StepTime::*what) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.times.size(); ++i) ratios.push_back(a.times[i].*what / b.times[i].*what);
  std::ranges::nth_element(ratios, ratios.begin() + std::ssize(ratios) / 2);
  return ratios[ratios.size() / 2];
}

struct Share {
  std::string name;
  std::unique_ptr<Trial> trial;
};

void print(const Share& share, const Trial& free, int64_t batch_bytes) {
  const Trial& trial = *share.trial;
  const double wall = least(trial, &StepTime::wall_ns);
  std::printf(
      "  %-9s arena %10s (%.3f; %.3f of the batch)  planned in %5.2f s  predicted %8.2f ms, "
      "measured %8.2f ms: %.2f  "
      "factor predicted %.3f, measured %.3f (processor %.3f)  parts of %lld rows%s%s, %lld nodes "
      "again, %s to the disk\n",
      share.name.c_str(), bytes_text(trial.plan().arena_bytes).c_str(),
      static_cast<double>(trial.plan().arena_bytes) / static_cast<double>(free.plan().arena_bytes),
      static_cast<double>(trial.plan().arena_bytes) / static_cast<double>(batch_bytes),
      trial.planning_seconds(), trial.predicted_ns() / 1e6, wall / 1e6, trial.predicted_ns() / wall,
      trial.predicted_ns() / free.predicted_ns(), median_ratio(trial, free, &StepTime::wall_ns),
      median_ratio(trial, free, &StepTime::processor_ns),
      static_cast<long long>(trial.cut().forced_part_rows), trial.cut().one_lane ? " in turn" : "",
      trial.cut().narrow ? " narrow" : "", static_cast<long long>(trial.again()),
      bytes_text(trial.spilled().written).c_str());
}

int64_t least_budget(const Workload& workload, int threads) {
  try {
    Trial(workload, threads, 1);
  } catch (const StepBudgetError& error) {
    return error.least_bytes();
  }
  return 0;
}

void print_shares(const Workload& workload, const Settings& settings) {
  const double start = clock_ns(CLOCK_MONOTONIC);
  const int64_t least = least_budget(workload, settings.threads);
  const double seconds = (clock_ns(CLOCK_MONOTONIC) - start) / 1e9;
  std::vector<Share> shares;
  shares.push_back({"all", std::make_unique<Trial>(workload, settings.threads, kUnlimited)});
  const Trial& free = *shares[0].trial;
  const int64_t persistent = free.plan().persistent_bytes, arena = free.plan().arena_bytes;
  const int64_t batch =
      Trial(workload, settings.threads, kUnlimited, false, {.parts = false}).plan().arena_bytes;
  std::printf(
      "%s: variables %s, arena %s (on the whole batch %s); the least budget %s, found in %.2f s\n",
      workload.name.c_str(), bytes_text(persistent).c_str(), bytes_text(arena).c_str(),
      bytes_text(batch).c_str(), bytes_text(least).c_str(), seconds);
  for (const auto& [what, share] : {std::pair("half", 2), {"quarter", 4}, {"eighth", 8}}) {
    const int64_t budget = persistent + arena / share;
    if (budget > least)
      shares.push_back({what, std::make_unique<Trial>(workload, settings.threads, budget)});
  }
  shares.push_back(
      {"same bits", std::make_unique<Trial>(workload, settings.threads, kUnlimited, true)});
  shares.push_back({"least", std::make_unique<Trial>(workload, settings.threads, least)});
  int64_t most = 0;
  for (const Share& share : shares) most = std::max(most, share.trial->plan().arena_bytes);
  Arena memory(static_cast<size_t>(most));
  memory.touch();
  for (const Share& share : shares) share.trial->bind(memory);
  for (int turn = -1; turn < settings.turns; ++turn) {
    for (const Share& share : shares) share.trial->step();
    // The first one touches everything for the first time.
    if (turn < 0) {
      for (const Share& share : shares) share.trial->times.clear();
    }
  }
  for (const Share& share : shares) print(share, free, batch);
}

int64_t share_of(const Workload& workload, const Settings& settings) {
  if (settings.share <= 1) return kUnlimited;
  const Plan plan = Trial(workload, settings.threads, kUnlimited).plan();
  return plan.persistent_bytes + plan.arena_bytes / settings.share;
}

void print_nodes(const Workload& workload, const Settings& settings) {
  const int64_t budget = share_of(workload, settings);
  Trial trial(workload, settings.threads, budget, /*reproducible=*/false, settings.cut);
  Arena memory(static_cast<size_t>(trial.plan().arena_bytes));
  memory.touch();
  trial.bind(memory);
  for (int turn = 0; turn < settings.turns; ++turn) {
    trial.step();
    trial.step(Program::Mode::profiled);
  }
  std::printf("%s: predicted %.2f ms, measured %.2f ms\n", workload.name.c_str(),
              trial.predicted_ns() / 1e6, least(trial, &StepTime::wall_ns) / 1e6);
  for (const auto& [name, time] : trial.node_times()) {
    std::printf("  %-40s %4d nodes  predicted %9.3f ms, measured %9.3f ms: %.2f\n", name.c_str(),
                time.count, time.predicted_ns / 1e6, time.measured_ns / 1e6,
                time.predicted_ns / time.measured_ns);
  }
}

Settings parse(int argc, char** argv) {
  Settings settings;
  settings.names = Arguments()
                       .value("--threads", settings.threads)
                       .value("--turns", settings.turns)
                       .flag("--nodes", settings.nodes)
                       .value("--share", settings.share)
                       .value("--part-rows", settings.cut.forced_part_rows)
                       .flag("--lanes", settings.lanes)
                       .flag("--whole", settings.whole)
                       .flag("--narrow", settings.cut.narrow)
                       .parse(argc, argv);
  settings.turns = std::max(1, settings.turns);
  settings.cut.one_lane = !settings.lanes && settings.share <= 1;
  settings.cut.parts = !settings.whole;
  if (settings.threads == 0) settings.threads = hardware_threads();
  if (settings.names.empty()) settings.names = {"W5", "W6", "W11", "resnet50"};
  return settings;
}

void run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  for (const std::string& name : settings.names) {
    const std::optional<Workload> deep = deep_net(name);
    (settings.nodes ? print_nodes : print_shares)(deep ? *deep : workload(name), settings);
  }
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  return snug::bench::run_bench("budget_bench", snug::bench::kHelp, argc, argv, snug::bench::run);
}
