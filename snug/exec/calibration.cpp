#include "snug/exec/calibration.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <thread>

#include "snug/base/bytes.h"
#include "snug/base/proc.h"
#include "snug/base/resident_limit.h"
#include "snug/base/threads.h"
#include "snug/ops/ops.h"
#include "snug/tensor/arena.h"

namespace snug {
namespace {

constexpr int kVersion = 6;
constexpr double kMeasureNs = 15e6;  // Of one measurement; there are about thirty.

// More than this is another program's time on the same cores.
constexpr double kMostForkNs = 2e3;
// Between two nodes of a step threads have waited for longer than here, and for each other.
constexpr double kWokenNs = 3e3;

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The best time of one call, over some milliseconds: what disturbs only makes it longer.
template <typename Call, typename Before>
double best_ns(const Call& call, const Before& before) {
  call();
  double best = HUGE_VAL;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < 3 || ns_since(begin) < kMeasureNs; ++i) {
    before();
    const Clock::time_point start = Clock::now();
    call();
    best = std::min(best, ns_since(start));
    if (i > 2 && ns_since(begin) > 4 * kMeasureNs) break;
  }
  return best;
}

template <typename Call>
double best_ns(const Call& call) {
  return best_ns(call, [] {});
}

// Out of every cache: large caches hold more than a calibration may take, and what a step keeps for
// later comes from memory.
void flush(const Arena& arena) {
#if defined(__x86_64__)
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < arena.bytes(); at += kLine) __builtin_ia32_clflush(arena.data() + at);
  __builtin_ia32_mfence();
#else
  (void)arena;
#endif
}

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

// Threads that were just started may stand on one core until the system has moved them apart: waits
// for that, for so long at most.
void spread_threads(int threads) {
  constexpr double kTurnNs = 1e6, kMostNs = 200e6, kSideBySide = 1.3;
  const auto spin = [](int) {
    const double start = cpu_ns();
    while (cpu_ns() - start < kTurnNs) continue;
  };
  const Clock::time_point begin = Clock::now();
  while (ns_since(begin) < kMostNs) {
    const Clock::time_point turn = Clock::now();
    parallel_parts(threads, threads, spin);
    if (ns_since(turn) < kSideBySide * kTurnNs) return;
  }
}

// What it takes beyond the parts to have them run by all threads, which have just worked, as in a
// step: one time in four it is less.
double fork_ns(int threads) {
  constexpr double kPartNs = 10e3;
  const auto part = [](int) {
    const Clock::time_point start = Clock::now();
    while (ns_since(start) < kPartNs) continue;
  };
  std::vector<double> beyond;
  const Clock::time_point begin = Clock::now();
  while (beyond.size() < 8 || ns_since(begin) < kMeasureNs) {
    const Clock::time_point turn = Clock::now();
    parallel_parts(threads, threads, part);
    beyond.push_back(std::max(0.0, ns_since(turn) - kPartNs));
  }
  std::nth_element(beyond.begin(), beyond.begin() + beyond.size() / 4, beyond.end());
  return kWokenNs + std::min(beyond[beyond.size() / 4], kMostForkNs);
}

// A node's kernel on memory of its own, one copy a lane, all lanes at once.
class LoneKernel {
 public:
  LoneKernel(const Node& node, int64_t rows, int lanes) : lanes_(lanes) {
    Types types = node.input_types();
    for (Type& type : types) type = type.at(rows);
    cost_ = node.op().cost(types);
    kernel_ = node.op().kernel(types, {.threads = 1});
    kernel_->compile(lanes);
    size_t bytes = 0;
    const auto take = [&](size_t size) {
      const size_t at = bytes;
      bytes += (size + 63) / 64 * 64;
      return at;
    };
    std::vector<size_t> in, out;
    for (const Type& type : types) in.push_back(take(type.bytes()));
    for (const Type& type : node.op().infer(types)) out.push_back(take(type.bytes()));
    const size_t prepared = take(kernel_->prepared_bytes()),
                 scratch = take(kernel_->scratch_bytes());
    for (int lane = 0; lane < lanes; ++lane) {
      arenas_.emplace_back(bytes + 64);
      std::byte* memory = arenas_.back().data();
      auto* floats = reinterpret_cast<float*>(memory);
      std::fill(floats, floats + bytes / sizeof(float), 0.5F);
      Lane one;
      for (const size_t at : in) one.in.push_back(memory + at);
      for (const size_t at : out) one.out.push_back(memory + at);
      one.prepared = memory + prepared;
      one.scratch = memory + scratch;
      lanes_memory_.push_back(std::move(one));
      Run run = run_of(lane);
      if (kernel_->prepared_bytes() > 0) kernel_->prepare(run, lanes_memory_.back().prepared);
    }
  }

  double ns(bool from_memory = false) const {
    const auto empty_caches = [&] {
      for (const Arena& arena : arenas_) {
        if (from_memory) flush(arena);
      }
    };
    const auto run_all = [&] {
      parallel_parts(lanes_, lanes_, [&](int lane) { kernel_->run(run_of(lane)); });
    };
    if (lanes_ == 1 || from_memory) return best_ns(run_all, empty_caches);
    return best_cpu_ns();
  }
  const Cost& cost() const { return cost_; }

 private:
  struct Lane {
    std::vector<const void*> in;
    std::vector<void*> out;
    std::byte *prepared = nullptr, *scratch = nullptr;
  };

  // Of the slowest lane, in time of the processor: on a busy machine lanes may stand on one core,
  // one after the other. Of rounds in which each had a thread of its own, if there are any: lanes
  // that run one after the other do not take anything from each other.
  double best_cpu_ns() const {
    constexpr int kCalls = 16;  // To read the clock takes as long as a small kernel.
    std::vector<double> lane_ns(lanes_);
    std::vector<std::thread::id> threads(lanes_);
    double best = HUGE_VAL, best_apart = HUGE_VAL;
    best_ns([&] {
      parallel_parts(lanes_, lanes_, [&](int lane) {
        threads[lane] = std::this_thread::get_id();
        const double start = cpu_ns();
        for (int call = 0; call < kCalls; ++call) kernel_->run(run_of(lane));
        lane_ns[lane] = (cpu_ns() - start) / kCalls;
      });
      const double slowest = *std::max_element(lane_ns.begin(), lane_ns.end());
      best = std::min(best, slowest);
      std::sort(threads.begin(), threads.end());
      if (std::adjacent_find(threads.begin(), threads.end()) == threads.end())
        best_apart = std::min(best_apart, slowest);
    });
    return std::isfinite(best_apart) ? best_apart : best;
  }

  Run run_of(int lane) const {
    const Lane& one = lanes_memory_[lane];
    return {.in = one.in.data(),
            .out = one.out.data(),
            .scratch = one.scratch,
            .prepared = one.prepared,
            .step = &step_,
            .lane = lane};
  }

  int lanes_;
  Cost cost_;
  StepInfo step_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Arena> arenas_;
  std::vector<Lane> lanes_memory_;
};

// The nodes that stand for all others.
struct Samples {
  Graph graph;
  Value product, back, convolution, curve, sum;

  Samples() {
    const Value x = graph.input("x", {DType::float32, {kRows, 256}});
    product = ops::matmul(x, graph.variable("w", {DType::float32, {256, 256}}));
    back = ops::matmul(x, graph.variable("v", {DType::float32, {256, 256}}), {.transpose_b = true});
    const Value image = graph.input("image", {DType::float32, {kRows, 28, 28, 32}});
    convolution =
        ops::conv2d(image, graph.variable("kernel", {DType::float32, {3, 3, 32, 32}}), {});
    curve = ops::tanh(x);
    sum = ops::add(x, graph.input("y", {DType::float32, {kRows, 256}}));
  }
};

Rate rate_of(const Value& value, int64_t rows, int threads, double Cost::*what,
             bool from_memory = false) {
  const auto speed = [&](int lanes) {
    const LoneKernel kernel(*value.producer(), rows, lanes);
    return lanes * (kernel.cost().*what) / kernel.ns(from_memory);
  };
  Rate rate;
  rate.one = speed(1);
  rate.all = threads > 1 ? std::max(rate.one, speed(threads)) : rate.one;
  return rate;
}

void measure_rates(const Samples& samples, int threads, CostModel& costs) {
  costs.matmul = rate_of(samples.product, 256, threads, &Cost::flops);
  costs.convolution = rate_of(samples.convolution, 4, threads, &Cost::flops);
  costs.other = rate_of(samples.curve, 64, threads, &Cost::flops);
  costs.cache = rate_of(samples.sum, 128, threads, &Cost::bytes);
  costs.near = rate_of(samples.sum, 2048, threads, &Cost::bytes);
  costs.memory = rate_of(samples.sum, 2048, threads, &Cost::bytes, /*from_memory=*/true);
  costs.weights = rate_of(samples.back, 1, threads, &Cost::bytes, /*from_memory=*/true);
}

void take_better(Rate& rate, const Rate& other) {
  rate.one = std::max(rate.one, other.one);
  rate.all = std::max(rate.all, other.all);
}

// Every number of a model, with its name.
template <typename Model, typename Visit>
void visit_numbers(Model& costs, const Visit& visit) {
  visit("matmul_one", costs.matmul.one);
  visit("matmul_all", costs.matmul.all);
  visit("convolution_one", costs.convolution.one);
  visit("convolution_all", costs.convolution.all);
  visit("other_one", costs.other.one);
  visit("other_all", costs.other.all);
  visit("cache_one", costs.cache.one);
  visit("cache_all", costs.cache.all);
  visit("near_one", costs.near.one);
  visit("near_all", costs.near.all);
  visit("memory_one", costs.memory.one);
  visit("memory_all", costs.memory.all);
  visit("weights_one", costs.weights.one);
  visit("weights_all", costs.weights.all);
  visit("node_ns", costs.node_ns);
  visit("fork_ns", costs.fork_ns);
}

Path path_of(const Path& folder, int threads) {
  return folder / fmt::format("speed-{}.txt", threads);
}

void store(FileSystem& files, const Path& path, const CostModel& costs) {
  try {
    files.create_directories(path.parent_path());
    write_atomically(files, path, [&](File& file) {
      const std::string text = text_of(costs, machine_name());
      file.append(std::as_bytes(std::span(text)));
    });
  } catch (const FileError&) {
    // Not worth a run: it is measured again next time.
  }
}

}  // namespace

CostModel measure_costs(int threads) {
  const WithoutResidentLimit whole;  // Kernels do not throw.
  const Samples samples;
  CostModel costs{.threads = threads, .fork_ns = 0};
  if (threads > 1) spread_threads(threads);
  measure_rates(samples, threads, costs);
  costs.node_ns = LoneKernel(*samples.sum.producer(), 1, 1).ns();
  if (threads > 1) costs.fork_ns = fork_ns(threads);
  // Again: a host may take a core away for longer than one measurement.
  CostModel again = costs;
  measure_rates(samples, threads, again);
  constexpr std::array kRates = {&CostModel::matmul, &CostModel::convolution, &CostModel::other,
                                 &CostModel::cache,  &CostModel::near,        &CostModel::memory,
                                 &CostModel::weights};
  for (Rate CostModel::*rate : kRates) take_better(costs.*rate, again.*rate);
  return costs;
}

std::string machine_name() {
  std::string processor = "unknown";
  for (const std::string& line : lines_of("/proc/cpuinfo")) {
    const size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    processor = line.substr(colon + 2);
    break;
  }
  return fmt::format("{}, {} cores", processor, hardware_threads());
}

std::string text_of(const CostModel& costs, const std::string& machine) {
  std::string text =
      fmt::format("version: {}\nmachine: {}\nthreads: {}\n", kVersion, machine, costs.threads);
  visit_numbers(costs, [&](const char* name, double number) {
    text += fmt::format("{}: {}\n", name, number);
  });
  return text;
}

std::optional<CostModel> costs_in(const std::string& text, const std::string& machine) {
  std::map<std::string, std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) lines[line.substr(0, colon)] = line.substr(colon + 2);
  }
  if (lines["version"] != std::to_string(kVersion) || lines["machine"] != machine) return {};
  CostModel costs{.threads = std::atoi(lines["threads"].c_str())};
  bool whole = costs.threads > 0;
  visit_numbers(costs, [&](const char* name, double& number) {
    number = std::atof(lines[name].c_str());
    const bool counts = std::string_view(name) != "fork_ns";
    whole = whole && std::isfinite(number) && (counts ? number > 0 : number >= 0);
  });
  return whole ? std::optional(costs) : std::nullopt;
}

Path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return Path(cache) / "snug";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? Path(home) / ".cache" / "snug" : Path();
}

std::optional<CostModel> stored_costs(FileSystem& files, const Path& folder, int threads) {
  const Path path = path_of(folder, threads);
  try {
    const std::optional<int64_t> size = files.size(path);
    constexpr int64_t kMostBytes = 64 << 10;
    if (folder.empty() || !size || *size > kMostBytes) return {};
    std::string text(static_cast<size_t>(*size), '\0');
    files.open(path, OpenMode::read)->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
    const std::optional<CostModel> costs = costs_in(text, machine_name());
    return costs && costs->threads == threads ? costs : std::nullopt;
  } catch (const FileError&) {
    return {};
  }
}

CostModel calibrated_costs(FileSystem& files, const Path& folder, int threads) {
  if (const auto stored = stored_costs(files, folder, threads)) return *stored;
  const CostModel costs = measure_costs(threads);
  if (!folder.empty()) store(files, path_of(folder, threads), costs);
  // As it will be read back, so that this plan is the one of every later run.
  return costs_in(text_of(costs, machine_name()), machine_name()).value_or(costs);
}

}  // namespace snug
