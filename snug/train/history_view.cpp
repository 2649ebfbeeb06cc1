#include "snug/train/history_view.h"

#include <algorithm>
#include <sstream>

namespace snug {

void HistoryView::take(const History& history) {
  if (columns_.size() != history.history.size()) {
    columns_.clear();
    for (const auto& [name, values] : history.history) columns_.push_back({.name = name});
  }
  epochs_ = history.epoch.data();
  count_ = history.epoch.size();
  auto column = columns_.begin();
  for (const auto& [name, values] : history.history) {
    column->values = values.data();
    column->count = values.size();
    ++column;
  }
}

// With the names, and what stands before each of them.
size_t HistoryView::bytes() const {
  constexpr size_t kAround = 64;
  size_t bytes = 2 * kAround + count_ * sizeof(double);
  for (const Column& column : columns_)
    bytes += kAround + 2 * column.name.size() + column.count * sizeof(double);
  return bytes;
}

void HistoryView::write(StateVisitor& visitor) const {
  visitor.expect(bytes());
  std::vector<double> values(epochs_, epochs_ + count_);
  visitor.visit("epochs", values);
  std::string names;
  for (const Column& column : columns_) names += column.name + "\n";
  visitor.visit("names", names);
  for (const Column& column : columns_) {
    values.assign(column.values, column.values + column.count);
    visitor.visit("values of " + column.name, values);
  }
}

bool HistoryView::may_move(const History& history, int expected) {
  const size_t room = History::room_for(expected);
  const auto moves = [&](const auto& list) {
    return !list.empty() && list.capacity() < std::max(room, list.size() + 1);
  };
  for (const auto& [name, values] : history.history) {
    if (moves(values)) return true;
  }
  return moves(history.epoch);
}

void visit_history(History& history, StateVisitor& visitor) {
  if (!visitor.reads()) {
    HistoryView view;
    view.take(history);
    return view.write(visitor);
  }
  std::vector<double> epochs;
  visitor.visit("epochs", epochs);
  std::string names;
  visitor.visit("names", names);
  history = {};
  for (const double epoch : epochs) history.epoch.push_back(static_cast<int>(epoch));
  std::istringstream lines(names);
  for (std::string name; std::getline(lines, name);) history.history[name];
  for (auto& [name, values] : history.history) visitor.visit("values of " + name, values);
}

}  // namespace snug
