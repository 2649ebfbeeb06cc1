#include <cstdio>

#include "snug/base/bytes.h"
#include "snug/base/file.h"
#include "snug/base/memory.h"
#include "snug/base/proc.h"
#include "snug/base/threads.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/versions.h"
#include "snug/exec/calibration.h"
#include "snug/exec/disk_speed.h"
#include "snug/exec/spill_file.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string processor() {
  for (const std::string& line : lines_of("/proc/cpuinfo")) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// The word in brackets: "always [madvise] never".
std::string huge_pages() {
  for (const std::string& line : lines_of("/sys/kernel/mm/transparent_hugepage/enabled")) {
    const size_t open = line.find('['), close = line.find(']');
    if (open < close && close != std::string::npos) return line.substr(open + 1, close - open - 1);
  }
  return "unknown";
}

using Costs = std::optional<CostModel>;

// The disk that values are spilled to.
struct SpillDisk {
  std::string folder;
  std::string problem;  // Why there is none.
  std::optional<DiskSpeed> speed;
};

SpillDisk spill_disk() {
  try {
    const Path folder = spill_folder(real_files(), {});
    const int threads = hardware_threads();
    return {folder.string(), "", stored_disk(real_files(), cache_folder(), folder, threads)};
  } catch (const FileError& error) {
    return {"", error.what(), std::nullopt};
  }
}

Json json_of(const SpillDisk& disk) {
  Json json = {{"folder", disk.folder}};
  if (!disk.problem.empty()) json["problem"] = disk.problem;
  if (!disk.speed) return json;
  json["read_gb_per_s"] = disk.speed->read;
  json["write_gb_per_s"] = disk.speed->write;
  return json;
}

void print_spill(const SpillDisk& disk) {
  if (!disk.problem.empty()) {
    fmt::print("Spill         not possible: {}\n", disk.problem);
  } else if (!disk.speed) {
    fmt::print("Spill         to {}; its speed is measured when a budget first binds\n",
               disk.folder);
  } else {
    fmt::print("Spill         to {}: {:.3g} GB/s read, {:.3g} GB/s written\n", disk.folder,
               disk.speed->read, disk.speed->write);
  }
}

Json json_of(const Costs& costs) {
  if (!costs) return nullptr;
  const auto rate = [](const Rate& rate) { return Json{{"one", rate.one}, {"all", rate.all}}; };
  return {{"threads", costs->threads},
          {"matmul_gflops", rate(costs->matmul)},
          {"convolution_gflops", rate(costs->convolution)},
          {"other_gflops", rate(costs->other)},
          {"cache_gb_per_s", rate(costs->cache)},
          {"memory_gb_per_s", rate(costs->memory)},
          {"node_ns", costs->node_ns},
          {"fork_ns", costs->fork_ns}};
}

void print_speed(const Costs& costs) {
  if (!costs) {
    fmt::print(
        "Speed         not measured yet: it is, in less than 2 seconds, when a budget first "
        "binds\n");
    return;
  }
  fmt::print("Speed         on one thread and on {}, as plans are weighed by:\n", costs->threads);
  const auto line = [](const char* what, const Rate& rate, const char* unit) {
    fmt::print("                {:>10.3g} {:>10.3g} {}  {}\n", rate.one, rate.all, unit, what);
  };
  line("matrix products", costs->matmul, "GFLOP/s");
  line("convolutions", costs->convolution, "GFLOP/s");
  line("other kernels", costs->other, "GFLOP/s");
  line("within the cache", costs->cache, "GB/s");
  line("from memory", costs->memory, "GB/s");
}

Json json_of(const AvailableMemory& memory, int64_t disk_bytes, const Costs& costs) {
  Json limits = Json::array();
  for (const MemoryLimit& limit : memory.limits) {
    limits.push_back({{"name", limit.name},
                      {"limit_bytes", limit.limit_bytes},
                      {"used_bytes", limit.used_bytes},
                      {"free_bytes", limit.free_bytes()}});
  }
  return {{"command", "doctor"},
          {"exit", 0},
          {"processor", processor()},
          {"cores", hardware_threads()},
          {"instruction_set", instruction_set()},
          {"memory_limits", limits},
          {"default_budget_bytes", memory.default_budget_bytes()},
          {"huge_pages", huge_pages()},
          {"disk_free_bytes", disk_bytes},
          {"spill", json_of(spill_disk())},
          {"speed", json_of(costs)},
          {"versions", versions()}};
}

void print_text(const AvailableMemory& memory, int64_t disk_bytes, const Costs& costs) {
  fmt::print("Processor     {}\n", processor());
  fmt::print("Cores         {}\n", hardware_threads());
  fmt::print("Instructions  {}\n", instruction_set());
  fmt::print("Memory        {} to be had; the limit that binds comes first:\n",
             bytes_text(memory.bytes()));
  for (const MemoryLimit& limit : memory.limits) {
    fmt::print("                {:>10} free of {:>10}  {}\n", bytes_text(limit.free_bytes()),
               bytes_text(limit.limit_bytes), limit.name);
  }
  fmt::print("Budget        {} if a run gives none (--memory)\n",
             bytes_text(memory.default_budget_bytes()));
  fmt::print("Huge pages    {}\n", huge_pages());
  fmt::print("Disk          {} free here\n", bytes_text(disk_bytes));
  print_spill(spill_disk());
  print_speed(costs);
  for (const auto& [name, version] : versions()) fmt::print("{:<14}{}\n", name, version);
}

}  // namespace

int doctor_command(const Arguments& arguments) {
  const AvailableMemory memory = available_memory();
  const int64_t disk_bytes = real_files().free_bytes(".");
  const Costs costs = stored_costs(real_files(), cache_folder(), hardware_threads());
  if (arguments.json) {
    fmt::print("{}\n", json_text(json_of(memory, disk_bytes, costs)));
  } else {
    print_text(memory, disk_bytes, costs);
  }
  return 0;
}

}  // namespace snug::cli
