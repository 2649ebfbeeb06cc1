#include "snug/cli/epoch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

namespace snug::cli {
namespace {

// One of the numbers that are none, which no log is.
constexpr uint64_t kAbsentBits = 0x7ff8'0000'0000'5a5a;
constexpr double kAbsent = std::bit_cast<double>(kAbsentBits);
bool is_absent(double value) { return std::bit_cast<uint64_t>(value) == kAbsentBits; }

}  // namespace

std::vector<double>& EpochTable::column(const std::string& name) {
  std::vector<double>& values = columns_[name];
  // Epochs that had no such log.
  values.reserve(static_cast<size_t>(std::min(expected_, kMostExpected)));
  values.resize(numbers_.size() - 1, kAbsent);
  return values;
}

void EpochTable::add(int number, const Logs& logs) {
  numbers_.reserve(static_cast<size_t>(std::min(expected_, kMostExpected)));
  numbers_.push_back(number);
  for (const auto& [name, value] : logs) column(name).push_back(value);
  for (auto& [name, values] : columns_) values.resize(numbers_.size(), kAbsent);
}

Logs EpochTable::last() const {
  Logs logs;
  for (const auto& [name, values] : columns_) {
    if (!is_absent(values.back())) logs[name] = values.back();
  }
  return logs;
}

std::optional<int64_t> EpochTable::lowest(const std::string& name) const {
  const auto found = columns_.find(name);
  if (found == columns_.end()) return std::nullopt;
  std::optional<int64_t> best;
  for (int64_t row = 0; row < size(); ++row) {
    const auto value = [&](int64_t i) { return found->second[static_cast<size_t>(i)]; };
    if (!std::isnan(value(row)) && (!best || value(row) <= value(*best))) best = row;
  }
  return best;
}

bool EpochTable::falls(const std::string& name) const {
  const std::vector<double>& logs = columns_.at(name);
  return logs.size() < 2 || !(logs.back() >= logs[logs.size() - 2]);
}

void EpochTable::state(StateVisitor& visitor) {
  constexpr size_t kAround = 128;  // Names, and what stands before them.
  visitor.expect((columns_.size() + 1) * (numbers_.size() * sizeof(double) + kAround));
  visitor.visit("numbers of epochs", numbers_);
  std::string names;
  for (const auto& [name, values] : columns_) names += name + "\n";
  visitor.visit("names", names);
  if (visitor.reads()) {
    columns_.clear();
    std::istringstream lines(names);
    for (std::string name; std::getline(lines, name);) columns_[name];
  }
  for (auto& [name, values] : columns_) visitor.visit("values of " + name, values);
}

std::string EpochTable::csv_header() const {
  std::string line = "epoch";
  for (const auto& [name, values] : columns_) line += "," + name;
  return line + "\n";
}

std::string EpochTable::csv_line(int64_t row) const {
  const auto i = static_cast<size_t>(row);
  std::string line = fmt::format("{}", numbers_[i]);
  for (const auto& [name, values] : columns_)
    line += is_absent(values[i]) ? "," : fmt::format(",{}", values[i]);
  return line + "\n";
}

void EpochTable::write_csv(const std::function<void(std::string_view)>& write) const {
  write(csv_header());
  for (int64_t row = 0; row < size(); ++row) write(csv_line(row));
}

}  // namespace snug::cli
