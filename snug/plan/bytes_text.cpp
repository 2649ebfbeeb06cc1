#include "snug/plan/bytes_text.h"

#include <fmt/format.h>

namespace snug {

std::string bytes_text(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB", "TiB"}) {
    if (amount < 1023.5) break;
    amount /= 1024;
    unit = larger;
  }
  const int decimals = amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", amount, decimals, unit);
}

}  // namespace snug
