// How fast this machine is, for the planner: measured once, kept in the user's cache folder.
#pragma once

#include <optional>
#include <string>

#include "snug/base/file.h"
#include "snug/plan/cost_model.h"

namespace snug {

// $XDG_CACHE_HOME/snug or ~/.cache/snug; empty where the user has neither.
Path cache_folder();

// The speeds of this machine, measured now: in less than two seconds, within 8 MiB for each
// thread.
CostModel measure_costs(int threads);

// As text, one "name: value" a line, and back; nothing for a text of another version or machine.
std::string text_of(const CostModel& costs, const std::string& machine);
std::optional<CostModel> costs_in(const std::string& text, const std::string& machine);

// What this machine is called in a stored calibration: its processor and its cores.
std::string machine_name();

// What was stored for this machine and this number of threads, if anything.
std::optional<CostModel> stored_costs(FileSystem& files, const Path& folder, int threads);
// The same; where nothing is stored they are measured and stored. A folder that cannot be written
// costs the next process another measurement, and nothing else.
CostModel calibrated_costs(FileSystem& files, const Path& folder, int threads);

}  // namespace snug
