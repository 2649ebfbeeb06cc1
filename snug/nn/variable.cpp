#include "snug/nn/variable.h"

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Tensor Variable::tensor() const {
  SNUG_CHECK(has_values(), "{} has no values yet", path_.empty() ? spec_.name : path_);
  return {spec_.type, block_->data() + offset_};
}

void Variable::place(std::shared_ptr<Arena> block, size_t offset) {
  block_ = std::move(block);
  offset_ = offset;
}

size_t allocation_bytes(const Variables& variables) {
  size_t bytes = 0;
  for (const VariablePtr& variable : variables) {
    if (!variable->has_values()) bytes += aligned(variable->type().bytes());
  }
  return bytes;
}

size_t state_bytes(const Variables& variables) {
  size_t bytes = 0;
  for (const VariablePtr& variable : variables) bytes += aligned(variable->type().bytes());
  return bytes;
}

namespace {

template <typename Fill>
void allocate_with(const Variables& variables, const Fill& fill) {
  const auto block = std::make_shared<Arena>(allocation_bytes(variables));
  // Zeros too: what the first update writes must not be the first to need a page.
  block->touch();
  size_t offset = 0;
  for (const VariablePtr& variable : variables) {
    if (variable->has_values()) continue;
    variable->place(block, offset);
    offset += aligned(variable->type().bytes());
    fill(*variable);
  }
}

}  // namespace

void allocate(const Variables& variables, uint64_t seed) {
  allocate_with(variables, [&](const Variable& variable) {
    if (variable.spec().initializer)
      variable.spec().initializer->fill(variable.tensor(), seed, variable.path());
  });
}

void allocate_unfilled(const Variables& variables) {
  allocate_with(variables, [](const Variable&) {});
}

}  // namespace snug
