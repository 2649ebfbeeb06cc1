// A source whose rows are those of another one under other numbers.
#pragma once

#include <string>
#include <vector>

#include "snug/data/source.h"

namespace snug {

// Over a source with random access: what stands here under `row` is number(row) there. Messages
// name the rows as the other source does. Nothing is allocated to read.
class RenumberedSource : public Source {
 public:
  explicit RenumberedSource(SourcePtr source);

  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return size(); }
  Access access() const override { return Access::random; }
  int64_t batches_ahead() const override { return source_->batches_ahead(); }
  size_t buffer_bytes() const override { return source_->buffer_bytes(); }
  bool reorders() const override { return source_->reorders(); }
  std::string order() const override { return source_->order(); }
  std::string place(int field, int64_t row) override { return source_->place(field, number(row)); }

  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override;
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override;
  int64_t next(int64_t count, std::span<const Tensor> slots) override;
  void restart() override { position_ = 0; }
  void begin_pass(uint64_t pass) override;

 protected:
  virtual int64_t size() const = 0;
  // Writes number(row) of so many rows to `numbers`.
  virtual void renumber(std::span<const int64_t> rows, std::span<int64_t> numbers) const = 0;
  int64_t number(int64_t row) const;

  SourcePtr source_;

 private:
  int64_t position_ = 0;
};

}  // namespace snug
