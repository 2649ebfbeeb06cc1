// Microseconds a step of each workload, on this machine, with the arena and the resident memory.
//   build/bench/train_bench [--threads N] [--seconds S] [--profile] [--plan] [W1 W5 ...]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "bench/workloads/workloads.h"
#include "snug/base/memory.h"
#include "snug/base/threads.h"
#include "snug/train/fit.h"

namespace snug::bench {
namespace {

struct Settings {
  int threads = 0;
  double seconds = 2;
  bool profile = false;
  bool plan = false;
  std::vector<std::string> names;
};

// Drives the training program as fit does, without callbacks and shuffling.
void run(const Workload& workload, const Settings& settings) {
  const WorkloadData data(workload, workload.steps);
  Model model = workload.model();
  model.compile(workload.compile);
  FitRun fit(
      model, data.source,
      {.batch_size = workload.batch, .shuffle = false, .verbose = 0, .threads = settings.threads});
  Runner& runner = *fit.plan().training;
  Program& program = runner.program(workload.batch);
  if (settings.plan) std::printf("%s\n", report(program.problem(), program.plan()).c_str());
  using Clock = std::chrono::steady_clock;
  std::vector<double> blocks;
  fit.run();  // Warm.
  const auto begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < settings.seconds) {
    const auto start = Clock::now();
    fit.run();
    blocks.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                     static_cast<double>(workload.steps));
  }
  std::ranges::sort(blocks);
  const double median = blocks[blocks.size() / 2];
  std::printf(
      "%-4s %12.1f us a step (least %.1f)  %7.1f GFLOP/s  arena %8.2f MiB  resident %8.1f MiB\n",
      workload.name.c_str(), median, blocks[0], workload.megaflops * 1e6 / (median * 1e3),
      static_cast<double>(fit.plan().arena_bytes) / (1 << 20),
      static_cast<double>(peak_resident_bytes()) / (1 << 20));
  if (!settings.profile) return;
  program.compute({}, Program::Mode::profiled);
  program.commit({}, Program::Mode::profiled);
  std::vector<NodeProfile> nodes = program.profile();
  std::ranges::sort(nodes, std::greater(), &NodeProfile::nanoseconds);
  for (size_t i = 0; i < std::min<size_t>(nodes.size(), 25); ++i) {
    std::printf("  %10.1f us  %5lld runs  %s\n", nodes[i].nanoseconds / 1e3,
                static_cast<long long>(nodes[i].runs), nodes[i].name.c_str());
  }
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      settings.threads = std::atoi(argv[++i]);
    else if (argument == "--seconds" && i + 1 < argc)
      settings.seconds = std::atof(argv[++i]);
    else if (argument == "--profile")
      settings.profile = true;
    else if (argument == "--plan")
      settings.plan = true;
    else
      settings.names.push_back(argument);
  }
  if (settings.threads == 0) settings.threads = hardware_threads();
  if (settings.names.empty()) {
    for (const Workload& workload : workloads()) settings.names.push_back(workload.name);
  }
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
    std::fprintf(stderr, "train_bench: %s\n", error.what());
    return error.exit_code();
  }
}
