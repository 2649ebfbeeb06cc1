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
  // The same for all fields, to the rows of the slots from `at` on; slots without data are passed
  // over. To be overridden where a row holds all of its fields in one piece.
  virtual void read_run_of_all(int64_t first, int64_t count, std::span<const Tensor> slots,
                               int64_t at);
  // read_rows() by such runs, for those sources.
  void read_rows_by_runs(std::span<const int64_t> rows, std::span<const Tensor> slots);
  // Where row `at` of a slot of this field stands.
  std::byte* slot_row(int field, const Tensor& slot, int64_t at) const;

 private:
  template <typename Visit>
  void each_run(std::span<const int64_t> rows, const Visit& visit) const;

  std::vector<Field> fields_;
  int64_t rows_ = 0;
  int64_t position_ = 0;
};

}  // namespace snug
