// The callbacks that a run file names.
#pragma once

#include <vector>

#include "snug/cli/run_file.h"
#include "snug/cli/yaml_settings.h"

namespace snug::cli {

// In their order, each by the word that the file has for it.
std::vector<NamedSettings> named_callbacks(const RunFile& run);

}  // namespace snug::cli
