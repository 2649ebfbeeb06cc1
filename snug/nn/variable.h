#pragma once

#include <memory>
#include <string>

#include "snug/nn/initializer.h"
#include "snug/nn/regularizer.h"
#include "snug/tensor/arena.h"
#include "snug/tensor/tensor.h"

namespace snug {

struct VariableSpec {
  std::string name;  // "kernel"
  Type type;
  InitializerPtr initializer;
  RegularizerPtr regularizer;
  bool trainable = true;
};

// A weight, or another piece of state. It is a shape only until its values are first needed; then
// it stands in a block that it shares with the other variables of its model.
class Variable {
 public:
  explicit Variable(VariableSpec spec) : spec_(std::move(spec)) {}

  const std::string& name() const { return spec_.name; }
  const Type& type() const { return spec_.type; }
  const VariableSpec& spec() const { return spec_; }
  // Unique in its model: "block_1/dense/kernel". Set when its layer joins a model.
  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }
  bool trainable() const { return spec_.trainable; }

  bool has_values() const { return block_ != nullptr; }
  Tensor tensor() const;  // Throws InternalError without values.
  // Takes its place in a block; the values are what the block holds.
  void place(std::shared_ptr<Arena> block, size_t offset);

 private:
  VariableSpec spec_;
  std::string path_;
  std::shared_ptr<Arena> block_;
  size_t offset_ = 0;
};
using VariablePtr = std::shared_ptr<Variable>;
using Variables = std::vector<VariablePtr>;

// Gives every variable that has no values its place in one new block, in order, and its first
// values. Every page is resident afterwards.
void allocate(const Variables& variables, uint64_t seed);
// The same without first values: for what is read from a file right after.
void allocate_unfilled(const Variables& variables);
// The bytes that such a block takes, places aligned.
size_t allocation_bytes(const Variables& variables);
// The same for all of them, whether they have values or not.
size_t state_bytes(const Variables& variables);

}  // namespace snug
