// What all sources with random access have in common.
#pragma once

#include <span>
#include <vector>

#include "snug/data/source.h"

namespace snug {

// A source whose rows can be read in any order: it says how a run of neighbouring rows is read, and
// gets the rest from here. Runs are as long as the caller's row numbers allow.
class RandomSource : public Source {
 public:
  const std::vector<Field>& fields() const override { return fields_; }
  std::optional<int64_t> rows() const override { return rows_; }
  Access access() const override { return Access::random; }
  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override;
  int64_t next(int64_t count, std::span<const Tensor> slots) override;
  void restart() override { position_ = 0; }

 protected:
  // Checks what check_fields() says.
  void set_fields(std::vector<Field> fields, std::span<const int64_t> rows);
  // Writes `count` rows of a field from `first` on to `to`, cast to `dtype`; they are there.
  virtual void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) = 0;

 private:
  std::vector<Field> fields_;
  int64_t rows_ = 0;
  int64_t position_ = 0;
};

}  // namespace snug
