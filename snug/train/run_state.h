// What a run carries from step to step beside its variables, as named numbers: for checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace snug {

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
  // Bytes of a fixed number that both sides know.
  virtual void visit_bytes(std::string_view name, std::span<std::byte> bytes) = 0;

  virtual bool reads() const = 0;

  void visit(std::string_view name, bool& value) {
    int64_t number = value ? 1 : 0;
    visit(name, number);
    value = number != 0;
  }
  void visit(std::string_view name, int& value) {
    int64_t number = value;
    visit(name, number);
    value = static_cast<int>(number);
  }
  void visit(std::string_view name, uint64_t& value) {
    auto number = static_cast<int64_t>(value);
    visit(name, number);
    value = static_cast<uint64_t>(number);
  }
};

}  // namespace snug
