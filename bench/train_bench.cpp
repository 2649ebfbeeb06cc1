// Microseconds a step of each workload, on this machine, with the arena and the resident memory.
// bench/train.py runs it beside the peers.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "bench/arguments.h"
#include "bench/timed_run.h"
#include "bench/workloads/workloads.h"
#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/base/threads.h"
#include "snug/train/fit.h"

namespace snug::bench {
namespace {

constexpr const char* kHelp =
    R"(usage: train_bench [options] [W1 W5 ...]     without names: all workloads, and W10

  --mode step       fit alone: no shuffling, metrics or progress (default)
         user       W1: fit as users call it, shuffled, with accuracy and the progress bar
         touched    W9: once every row of every table has been trained
         lazy       W9: as touched, with a lazy Adam
  --threads N       default: all cores
  --steps N         at most so many steps a block, for a quick look
  --seconds S       how long blocks are timed; default 2
  --json            one line of JSON a workload. us_per_step is the median of blocks (of W10: of
                    models); first_step_s counts from the start of the process, so give one name
  --turns           for bench/train.py, one name: says when the first step has ended and when it is
                    ready; then each line on stdin is the seconds of a turn, answered by the
                    microseconds a step of its blocks
  --profile         the 25 dearest nodes of a step, on one thread
  --plan            the step's plan
)";

using Clock = std::chrono::steady_clock;

struct Settings {
  RunOptions run;
  double seconds = 2;
  bool profile = false, plan = false, json = false, turns = false;
  std::vector<std::string> names;
};

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Microseconds a step of each block, in order.
std::vector<double> time_blocks(TimedRun& run, double seconds) {
  std::vector<double> blocks;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    run.block();
    blocks.push_back(microseconds_since(start) / static_cast<double>(run.steps()));
  } while (microseconds_since(begin) < 1e6 * seconds);
  return blocks;
}

void print_plan(TimedRun& run) {
  const Program& program = run.fit()->plan().training->program(run.fit()->plan().batch_size);
  std::printf("%s\n", report(program.problem(), program.plan()).c_str());
}

// Of some steps, because the first in this mode finds nothing in the caches.
void print_profile(TimedRun& run, double seconds) {
  Program& program = run.fit()->plan().training->program(run.fit()->plan().batch_size);
  const auto begin = Clock::now();
  int steps = 0;
  for (; steps < 3 || microseconds_since(begin) < 1e6 * seconds; ++steps) {
    program.compute({}, Program::Mode::profiled);
    program.commit({}, Program::Mode::profiled);
  }
  std::vector<NodeProfile> nodes = program.profile();
  std::ranges::sort(nodes, std::greater(), &NodeProfile::nanoseconds);
  for (size_t i = 0; i < std::min<size_t>(nodes.size(), 25); ++i) {
    std::printf("  %10.1f us  %5lld runs  %s\n", nodes[i].nanoseconds / 1e3 / steps,
                static_cast<long long>(nodes[i].runs / steps), nodes[i].name.c_str());
  }
}

void print_result(const std::string& name, const Settings& settings, const ReadyRun& ready,
                  std::vector<double> blocks) {
  std::ranges::sort(blocks);
  const double median = blocks[blocks.size() / 2];
  const TimedRun& run = *ready.run;
  const double gflops = run.megaflops() * 1e3 / median, arena = mebibytes(run.arena_bytes());
  const double peak = mebibytes(peak_resident_bytes());
  if (settings.json) {
    std::printf(
        "{\"framework\": \"snug\", \"workload\": \"%s\", \"mode\": \"%s\", \"threads\": %d, "
        "\"us_per_step\": %.2f, \"us_min\": %.2f, \"us_max\": %.2f, \"blocks\": %zu, "
        "\"gflops\": %.2f, \"arena_mib\": %.2f, \"data_mib\": %.2f, \"hwm_mib\": %.1f, "
        "\"first_step_s\": %.3f, \"loss\": %.6g}\n",
        name.c_str(), settings.run.mode.c_str(), settings.run.threads, median, blocks.front(),
        blocks.back(), blocks.size(), gflops, arena, mebibytes(run.data_bytes()), peak,
        ready.first_step.seconds, run.loss());
  } else {
    std::printf(
        "%-4s %12.1f us a %s (least %.1f)  %7.1f GFLOP/s  arena %8.2f MiB  resident %8.1f MiB\n",
        name.c_str(), median, name == "W10" ? "model" : "step", blocks[0], gflops, arena, peak);
  }
  std::fflush(stdout);
}

void run_once(const std::string& name, const Settings& settings) {
  const ReadyRun ready = make_run(name, settings.run);
  const bool has_step = ready.run->fit() != nullptr;
  if (settings.plan && has_step) print_plan(*ready.run);
  ready.run->block();  // Warm.
  print_result(name, settings, ready, time_blocks(*ready.run, settings.seconds));
  if (settings.profile && has_step) print_profile(*ready.run, settings.seconds);
}

// The protocol of bench/peers/turns.py.
void run_in_turns(const std::string& name, const Settings& settings) {
  const ReadyRun ready = make_run(name, settings.run, [](const FirstStep& step) {
    std::printf("{\"event\": \"first_step\", \"data_s\": %.4f}\n", step.data_seconds);
    std::fflush(stdout);
  });
  ready.run->block();
  std::printf("{\"event\": \"ready\", \"arena_mib\": %.2f, \"data_mib\": %.2f}\n",
              mebibytes(ready.run->arena_bytes()), mebibytes(ready.run->data_bytes()));
  std::fflush(stdout);
  for (double seconds = 0; std::cin >> seconds;) {
    std::string numbers;
    for (const double block : time_blocks(*ready.run, seconds))
      numbers += fmt::format("{}{:.2f}", numbers.empty() ? "" : ", ", block);
    std::printf("{\"event\": \"turn\", \"us\": [%s], \"loss\": %.6g}\n", numbers.c_str(),
                ready.run->loss());
    std::fflush(stdout);
  }
}

Settings parse(int argc, char** argv) {
  Settings settings;
  settings.names = Arguments()
                       .value("--threads", settings.run.threads)
                       .value("--seconds", settings.seconds)
                       .value("--steps", settings.run.most_steps)
                       .value("--mode", settings.run.mode)
                       .flag("--profile", settings.profile)
                       .flag("--plan", settings.plan)
                       .flag("--json", settings.json)
                       .flag("--turns", settings.turns)
                       .parse(argc, argv);
  if (settings.run.threads == 0) settings.run.threads = hardware_threads();
  if (settings.turns && settings.names.size() != 1)
    throw Error("--turns needs one workload; {} were given", settings.names.size());
  if (settings.names.empty()) {
    for (const Workload& workload : workloads()) settings.names.push_back(workload.name);
    settings.names.push_back("W10");
  }
  return settings;
}

// The progress bar is made and written, and nobody looks at it.
void write_log_to_nowhere() {
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  SNUG_CHECK(nowhere != nullptr);
  set_log_sink([nowhere](LogLevel, std::string_view message) {
    std::fwrite(message.data(), 1, message.size(), nowhere);
    std::fflush(nowhere);
  });
}

void run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  write_log_to_nowhere();
  for (const std::string& name : settings.names)
    settings.turns ? run_in_turns(name, settings) : run_once(name, settings);
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  return snug::bench::run_bench("train_bench", snug::bench::kHelp, argc, argv, snug::bench::run);
}
