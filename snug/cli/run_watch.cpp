#include "snug/cli/run_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <sstream>

#include "snug/train/model.h"

namespace snug::cli {
namespace {

volatile std::sig_atomic_t signal_number = 0;

void on_signal(int number) { signal_number = number; }

// One of the numbers that are none, which no log is.
constexpr uint64_t kAbsentBits = 0x7ff8'0000'0000'5a5a;
constexpr double kAbsent = std::bit_cast<double>(kAbsentBits);
bool is_absent(double value) { return std::bit_cast<uint64_t>(value) == kAbsentBits; }

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

int caught_signal() { return signal_number; }

double RunWatch::seconds() const {
  return before_ + std::chrono::duration<double>(Clock::now() - start_).count();
}

void RunWatch::state(StateVisitor& visitor) {
  visitor.visit("steps", steps_);
  double so_far = seconds();
  visitor.visit("seconds", so_far);
  if (visitor.reads()) {
    before_ = so_far;
    start_ = Clock::now();
  }
  epochs_.state(visitor);
}

size_t RunWatch::held_bytes(const Model& model) const {
  return static_cast<size_t>(history_bytes(model.compiled(), expected_));
}

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

void EpochTable::state(StateVisitor& visitor) {
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

void EpochTable::write_csv(const std::function<void(std::string_view)>& write) const {
  std::string line = "epoch";
  for (const auto& [name, values] : columns_) line += "," + name;
  write(line + "\n");
  for (size_t i = 0; i < numbers_.size(); ++i) {
    line = fmt::format("{}", numbers_[i]);
    for (const auto& [name, values] : columns_)
      line += is_absent(values[i]) ? "," : fmt::format(",{}", values[i]);
    write(line + "\n");
  }
}

}  // namespace snug::cli
