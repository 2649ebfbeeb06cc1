#include "snug/cli/versions.h"

#include <fmt/core.h>

#include "snug/cli/arguments.h"
#include "snug/kernels/isa.h"
#include "snug/kernels/onednn.h"

namespace snug::cli {

std::map<std::string, std::string> versions() {
  const int fmt_version = FMT_VERSION;
  return {{"snug", version()},
          {"oneDNN", onednn_version()},
          {"fmt", fmt::format("{}.{}.{}", fmt_version / 10000, fmt_version / 100 % 100,
                              fmt_version % 100)},
          {"compiler", __VERSION__}};
}

std::string instruction_set() {
  switch (isa()) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::baseline:
      break;
  }
  return "baseline";
}

}  // namespace snug::cli
