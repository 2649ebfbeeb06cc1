#include "snug/data/shared_source.h"

#include <mutex>

namespace snug::data {
namespace {

// What does not change is told without waiting.
class LockedSource final : public Source {
 public:
  explicit LockedSource(SourcePtr source) : source_(std::move(source)) {}

  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return source_->rows(); }
  Access access() const override { return source_->access(); }
  int64_t batches_ahead() const override { return source_->batches_ahead(); }
  bool reorders() const override { return source_->reorders(); }
  std::string order() const override { return source_->order(); }
  size_t buffer_bytes() const override { return source_->buffer_bytes(); }
  SourcePtr twin() override { return source_->twin(); }

  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    const std::lock_guard use(use_);
    source_->read(field, rows, slot);
  }
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override {
    const std::lock_guard use(use_);
    source_->read_rows(rows, slots);
  }
  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override {
    const std::lock_guard use(use_);
    return source_->borrow(field, first, count, dtype);
  }
  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    const std::lock_guard use(use_);
    return source_->next(count, slots);
  }
  void restart() override {
    const std::lock_guard use(use_);
    source_->restart();
  }
  void begin_pass(uint64_t pass) override {
    const std::lock_guard use(use_);
    source_->begin_pass(pass);
  }
  std::string place(int field, int64_t row) override {
    const std::lock_guard use(use_);
    return source_->place(field, row);
  }

 private:
  SourcePtr source_;
  std::mutex use_;
};

// Only rows in files are read by other threads than the one that trains.
bool needs_lock(const Source& source) {
  return source.access() == Access::random && source.batches_ahead() != 0 &&
         dynamic_cast<const LockedSource*>(&source) == nullptr;
}

}  // namespace

SourcePtr shared(SourcePtr source) {
  return needs_lock(*source) ? std::make_shared<LockedSource>(std::move(source)) : source;
}

}  // namespace snug::data
