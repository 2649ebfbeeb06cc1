// Named numbers as a section of a checkpoint: see docs/checkpoint_format.md.
#pragma once

#include <functional>
#include <utility>

#include "snug/train/byte_stream.h"
#include "snug/train/run_state.h"

namespace snug {

enum class StateKind : uint8_t { integer = 1, number = 2, text = 3, numbers = 4 };

// Arrays are not among the bytes: they are variables of the checkpoint, under the section's name.
using StateValues = std::vector<std::pair<std::string, Tensor>>;

class StateWriter final : public StateVisitor {
 public:
  // Writes into the memory of `bytes`, whose contents go.
  explicit StateWriter(std::vector<std::byte> bytes = {}) : out_(std::move(bytes)) {}

  using StateVisitor::visit;
  void visit(std::string_view name, int64_t& value) override;
  void visit(std::string_view name, double& value) override;
  void visit(std::string_view name, std::string& value) override;
  void visit(std::string_view name, std::vector<double>& values) override;
  void visit_values(std::string_view name, const Tensor& values) override;
  bool reads() const override { return false; }
  void expect(size_t bytes) override { out_.expect(bytes); }
  void sync_first(std::shared_ptr<File> file) override { files_.push_back(std::move(file)); }

  size_t size() const { return out_.size(); }
  std::vector<std::byte> take() { return out_.take(); }
  const StateValues& values() const { return values_; }
  // To be synced before what was taken is written.
  const std::vector<std::shared_ptr<File>>& files() const { return files_; }

 private:
  void begin(std::string_view name, StateKind kind, uint64_t bytes);

  CheckpointOutput out_;
  StateValues values_;
  std::vector<std::shared_ptr<File>> files_;
};

class StateReader final : public StateVisitor {
 public:
  using ReadValues = std::function<void(const std::string& name, const Tensor& into)>;
  // `where` is the file and section, for messages. Throws CorruptFile.
  StateReader(std::vector<std::byte> bytes, std::string where, ReadValues read_values = {});

  using StateVisitor::visit;
  void visit(std::string_view name, int64_t& value) override;
  void visit(std::string_view name, double& value) override;
  void visit(std::string_view name, std::string& value) override;
  void visit(std::string_view name, std::vector<double>& values) override;
  void visit_values(std::string_view name, const Tensor& values) override;
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
  ReadValues read_values_;
  std::vector<Entry> entries_;
};

}  // namespace snug
