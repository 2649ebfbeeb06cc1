// Named numbers as a section of a checkpoint: see docs/checkpoint_format.md.
#pragma once

#include <map>

#include "snug/train/byte_stream.h"
#include "snug/train/run_state.h"

namespace snug {

enum class StateKind : uint8_t { integer = 1, number = 2, text = 3, numbers = 4, bytes = 5 };

class StateWriter final : public StateVisitor {
 public:
  using StateVisitor::visit;
  void visit(std::string_view name, int64_t& value) override;
  void visit(std::string_view name, double& value) override;
  void visit(std::string_view name, std::string& value) override;
  void visit(std::string_view name, std::vector<double>& values) override;
  void visit_bytes(std::string_view name, std::span<std::byte> bytes) override;
  bool reads() const override { return false; }

  std::vector<std::byte> take() { return out_.take(); }

 private:
  void begin(std::string_view name, StateKind kind, uint64_t bytes);

  CheckpointOutput out_;
};

class StateReader final : public StateVisitor {
 public:
  // `where` is the file and section, for messages. Throws CorruptFile.
  StateReader(std::vector<std::byte> bytes, std::string where);

  using StateVisitor::visit;
  void visit(std::string_view name, int64_t& value) override;
  void visit(std::string_view name, double& value) override;
  void visit(std::string_view name, std::string& value) override;
  void visit(std::string_view name, std::vector<double>& values) override;
  void visit_bytes(std::string_view name, std::span<std::byte> bytes) override;
  bool reads() const override { return true; }

  // For people: "epoch = 3", in the order of the file.
  std::vector<std::string> lines() const;

 private:
  struct Entry {
    std::string name;
    StateKind kind;
    std::span<const std::byte> bytes;
  };
  const Entry& find(std::string_view name, StateKind kind) const;

  std::vector<std::byte> bytes_;
  std::string where_;
  std::vector<Entry> entries_;
};

}  // namespace snug
