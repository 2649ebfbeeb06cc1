#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/train/history.h"
#include "snug/train/run_state.h"

namespace snug::cli {

// The logs of every epoch, a column a name: eight bytes a value, for runs of any length.
class EpochTable {
 public:
  // For so many epochs without moving anything.
  void reserve(int64_t epochs) { expected_ = epochs; }
  void add(int number, const Logs& logs);
  int64_t size() const { return std::ssize(numbers_); }
  Logs last() const;
  // The epoch, counted from 0 in this table, with the lowest of these logs; the last of equals.
  // Nullopt where none has any.
  std::optional<int64_t> lowest(const std::string& name) const;
  // Whether the last epoch has less of these logs than the one before it, or is the first.
  bool falls(const std::string& name) const;
  void state(StateVisitor& visitor);

  // The names of all logs, and a line for each epoch below them; empty where an epoch has no such
  // log. Epochs count from 0, as in Keras's CSVLogger. Each ends with the end of its line.
  std::string csv_header() const;
  std::string csv_line(int64_t row) const;
  // All of it, line by line.
  void write_csv(const std::function<void(std::string_view)>& write) const;

 private:
  static constexpr int64_t kMostExpected = int64_t{1} << 20;
  std::vector<double>& column(const std::string& name);

  int64_t expected_ = 0;
  std::vector<double> numbers_;
  std::map<std::string, std::vector<double>> columns_;
};

}  // namespace snug::cli
