// The logs of the epochs as they stood at one moment, for the thread that writes them to a
// checkpoint while more are added.
#pragma once

#include <string>
#include <vector>

#include "snug/train/history.h"
#include "snug/train/run_state.h"

namespace snug {

class HistoryView {
 public:
  // Looks at what is there and copies nothing but new names.
  void take(const History& history);
  size_t epochs() const { return count_; }  // That were there.
  // Writes what was there, as visit_history() writes and reads it.
  void write(StateVisitor& visitor) const;

  // Whether adding one more of so many epochs may move those before it: not while somebody reads a
  // view.
  static bool may_move(const History& history, int expected);

 private:
  size_t bytes() const;  // At most, of what is written.

  struct Column {
    std::string name;
    const double* values = nullptr;
    size_t count = 0;
  };
  std::vector<Column> columns_;
  const int* epochs_ = nullptr;
  size_t count_ = 0;
};

void visit_history(History& history, StateVisitor& visitor);

}  // namespace snug
