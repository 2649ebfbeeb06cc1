#include "snug/train/monitor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr std::string_view kValidation = "val_";

std::vector<std::string> names_to_come(const std::vector<MetricPtr>& metrics, bool validates) {
  std::vector<std::string> names;
  for (const MetricPtr& metric : metrics) names.push_back(metric->name);
  std::ranges::sort(names);
  const size_t count = names.size();
  for (size_t i = 0; validates && i < count; ++i)
    names.push_back(std::string(kValidation) + names[i]);
  return names;
}

}  // namespace

void check_mode(std::string_view who, std::string_view mode) {
  if (mode == "auto" || mode == "min" || mode == "max") return;
  throw Error("{}: mode is \"{}\"; it must be \"auto\", \"min\" or \"max\"", who, mode);
}

Monitor::Monitor(std::string who, std::string name, const std::string& mode, double min_delta,
                 const Model& model, const RunParameters& params)
    : who_(std::move(who)), name_(std::move(name)), min_delta_(std::abs(min_delta)) {
  const std::vector<MetricPtr> metrics = model.compiled().phase(true, {}).all();
  const bool of_validation = name_.starts_with(kValidation);
  const std::string measured = of_validation ? name_.substr(kValidation.size()) : name_;
  const auto found = std::ranges::find_if(
      metrics, [&](const MetricPtr& metric) { return metric->name == measured; });
  const bool is_measured = found != metrics.end();
  const auto names = [&] {
    return fmt::format("{}", fmt::join(names_to_come(metrics, params.validates), ", "));
  };
  if (is_measured && of_validation && !params.validates) {
    throw Error(
        "{}: it monitors \"{}\", but this fit does not validate; there are {}; give "
        "validation_data or validation_split, or monitor one of these",
        who_, name_, names());
  }
  if (mode != "auto") {
    // A name that nothing measures may still be added to the logs by another callback.
    up_ = mode == "max";
    return;
  }
  if (!is_measured) {
    throw Error("{}: it monitors \"{}\", which the model does not measure; there are {}", who_,
                name_, names());
  }
  if (measured == "loss" || measured.ends_with("_loss")) {
    up_ = false;
    return;
  }
  const MetricDefinition::Direction direction = (*found)->direction();
  if (direction == MetricDefinition::Direction::none) {
    throw Error(
        "{}: whether \"{}\" should go up or down is not known; give mode \"max\" or \"min\"", who_,
        name_);
  }
  up_ = direction == MetricDefinition::Direction::up;
}

std::optional<double> Monitor::value(const Logs& logs) const {
  const auto found = logs.find(name_);
  if (found != logs.end()) return found->second;
  const bool validated = std::ranges::any_of(
      logs, [](const auto& entry) { return entry.first.starts_with(kValidation); });
  if (name_.starts_with(kValidation) && !validated) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) names.push_back(name);
  throw Error("{}: it monitors \"{}\", which is not in the logs; there are {}", who_, name_,
              fmt::join(names, ", "));
}

bool Monitor::improves(double value, double than) const {
  return up_ ? value - min_delta_ > than : value + min_delta_ < than;
}

double Monitor::worst() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return up_ ? -kInfinity : kInfinity;
}

}  // namespace snug
