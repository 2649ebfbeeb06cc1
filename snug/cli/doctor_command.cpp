#include <cstdio>
#include <nlohmann/json.hpp>

#include "snug/base/bytes.h"
#include "snug/base/file.h"
#include "snug/base/memory.h"
#include "snug/base/proc.h"
#include "snug/base/threads.h"
#include "snug/cli/command.h"
#include "snug/cli/versions.h"

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

Json json_of(const AvailableMemory& memory, int64_t disk_bytes) {
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
          {"versions", versions()}};
}

void print_text(const AvailableMemory& memory, int64_t disk_bytes) {
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
  for (const auto& [name, version] : versions()) fmt::print("{:<14}{}\n", name, version);
}

}  // namespace

int doctor_command(const Arguments& arguments) {
  const AvailableMemory memory = available_memory();
  const int64_t disk_bytes = real_files().free_bytes(".");
  if (arguments.json) {
    fmt::print("{}\n", json_of(memory, disk_bytes).dump());
  } else {
    print_text(memory, disk_bytes);
  }
  return 0;
}

}  // namespace snug::cli
