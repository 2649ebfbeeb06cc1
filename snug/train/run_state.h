// What a run carries from step to step beside its variables, as named numbers: for checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/tensor/tensor.h"

namespace snug {

class File;

// Visits fields under names, to write or to read them: one function for both directions, so that
// they cannot differ. Names within one object are unique. A reader throws CorruptFile where a name
// is missing or of another kind.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;

  virtual void visit(std::string_view name, int64_t& value) = 0;
  virtual void visit(std::string_view name, double& value) = 0;
  virtual void visit(std::string_view name, std::string& value) = 0;
  virtual void visit(std::string_view name, std::vector<double>& values) = 0;
  // An array whose type both sides know. A writer reads it where it stands, perhaps while training
  // goes on: it must stay as it is until on_epoch_end or on_train_end is called.
  virtual void visit_values(std::string_view name, const Tensor& values) = 0;

  virtual bool reads() const = 0;
  // About so many bytes of numbers and texts will be visited: for what is large.
  virtual void expect(size_t /*bytes*/) {}

  // A file of one's own that must be on the disk before the checkpoint is: it is synced then,
  // perhaps by another thread while this one goes on.
  virtual void sync_first(std::shared_ptr<File> /*file*/) {}

  virtual void visit(std::string_view name, bool& value) {
    int64_t number = value ? 1 : 0;
    visit(name, number);
    value = number != 0;
  }
  virtual void visit(std::string_view name, int& value) {
    int64_t number = value;
    visit(name, number);
    value = static_cast<int>(number);
  }
  virtual void visit(std::string_view name, uint64_t& value) {
    auto number = static_cast<int64_t>(value);
    visit(name, number);
    value = static_cast<uint64_t>(number);
  }

  // Numbers of one's own whose count is what it is: those of a file with another count are not for
  // them, and they are 0 then.
  void visit_as_many(std::string_view name, std::vector<double>& values) {
    const size_t count = values.size();
    visit(name, values);
    if (values.size() != count) values.assign(count, 0);
  }
};

}  // namespace snug
