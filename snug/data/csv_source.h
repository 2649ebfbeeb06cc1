// Packed rows of a table as a source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "snug/data/packed_rows.h"
#include "snug/data/random_source.h"
#include "snug/data/row_encoder.h"

namespace snug {

// The files of a table, with the first row that each of them gave.
struct TableFiles {
  std::vector<std::string> names;
  std::vector<int64_t> first_rows;
};

class CsvSource final : public RandomSource {
 public:
  CsvSource(std::shared_ptr<RowEncoder> encoder, std::shared_ptr<PackedRows> rows, int64_t count,
            TableFiles files);

  void begin_pass(uint64_t pass) override;
  std::string place(int field, int64_t row) override;
  size_t buffer_bytes() const override;
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override {
    read_rows_by_runs(rows, slots);
  }
  SourcePtr twin() override;
  int64_t batches_ahead() const override { return rows_->held(0, 0) ? 0 : kAsManyAsHelp; }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override;
  void read_run_of_all(int64_t first, int64_t count, std::span<const Tensor> slots,
                       int64_t at) override;

 private:
  template <typename Visit>
  void each_packed(int64_t first, int64_t count, const Visit& visit);
  // A field of packed rows to a slot; the first of them has this number.
  void give(int field, std::span<const uint32_t> packed, int64_t first, std::byte* to, DType dtype);
  void expand(int field, std::span<const uint32_t> rows, float* to) const;
  std::string column_of(int field, int64_t index) const;
  void refuse_rounded(int field, int64_t row, int64_t elements);
  [[noreturn]] void refuse(int field, int64_t row, int64_t index, float value, DType wanted);

  std::shared_ptr<RowEncoder> encoder_;
  std::shared_ptr<PackedRows> rows_;
  TableFiles files_;
  std::vector<uint32_t> packed_;  // Some rows, as they are kept.
  std::vector<float> expanded_;   // One row, for slots that are not float32.
};

}  // namespace snug
