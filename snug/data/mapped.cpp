#include "snug/data/mapped.h"

#include <algorithm>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/dataset.h"
#include "snug/data/ordered.h"
#include "snug/data/random_source.h"
#include "snug/data/row_subset.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

constexpr int64_t kMostPieceRows = 256;
constexpr size_t kPieceBytes = size_t{1} << 20;

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Slots for a number of rows of each field, in one buffer.
class RowSlots {
 public:
  RowSlots(std::span<const Field> fields, std::span<const DType> types, int64_t rows) {
    size_t bytes = 0;
    for (size_t i = 0; i < fields.size(); ++i) {
      Shape shape{rows};
      for (const Extent extent : fields[i].row.extents()) shape.push_back(extent);
      slots_.push_back({.type = {types[i], shape}});
      bytes += aligned(slots_.back().bytes());
    }
    buffer_.resize(bytes + 64);
    auto address = reinterpret_cast<uintptr_t>(buffer_.data());
    std::byte* at = buffer_.data() + (64 - address % 64) % 64;
    for (Tensor& slot : slots_) {
      slot.data = at;
      at += aligned(slot.bytes());
    }
  }
  // The first `count` rows of each.
  std::vector<Tensor> first(int64_t count) const {
    std::vector<Tensor> parts;
    for (const Tensor& slot : slots_) parts.push_back(rows_of(slot, 0, count));
    return parts;
  }
  size_t bytes() const { return buffer_.size(); }

 private:
  std::vector<std::byte> buffer_;
  std::vector<Tensor> slots_;
};

std::vector<DType> held_types(const Source& source) {
  std::vector<DType> types;
  for (const Field& field : source.fields()) types.push_back(held_dtype(field));
  return types;
}

int64_t piece_rows(std::span<const Field> fields) {
  size_t bytes = 1;
  for (const Field& field : fields) bytes += static_cast<size_t>(field.row.size()) * 8;
  return std::clamp(static_cast<int64_t>(kPieceBytes / bytes), int64_t{1}, kMostPieceRows);
}

class MappedSource final : public RandomSource {
 public:
  MappedSource(SourcePtr source, MapRows function, const MapSpec& spec)
      : source_(std::move(source)), function_(std::move(function)), spec_(spec) {
    if (!function_) throw Error("Dataset: map: no function was given");
    std::vector<Field> fields;
    add(spec.x, FieldRole::input, "x", fields);
    add(spec.y, FieldRole::target, "y", fields);
    if (spec.weighted) add(FieldSpecs(Shape{}), FieldRole::weight, "sample_weight", fields);
    set_fields(fields, std::vector<int64_t>(fields.size(), *source_->rows()));
    rows_ = std::min(piece_rows(source_->fields()), piece_rows(fields));
    in_ = std::make_unique<RowSlots>(source_->fields(), held_types(*source_), rows_);
    out_ = std::make_unique<RowSlots>(fields, types_, rows_);
  }

  size_t buffer_bytes() const override {
    return source_->buffer_bytes() + in_->bytes() + out_->bytes();
  }
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override {
    read_rows_by_runs(rows, slots);
  }
  int64_t batches_ahead() const override { return source_->batches_ahead(); }
  SourcePtr twin() override {
    SourcePtr twin = spec_.num_parallel_calls != 1 ? source_->twin() : nullptr;
    return twin ? std::make_shared<MappedSource>(std::move(twin), function_, spec_) : nullptr;
  }
  bool reorders() const override { return source_->reorders(); }
  std::string order() const override { return source_->order(); }
  void begin_pass(uint64_t pass) override {
    source_->begin_pass(pass);
    made_first_ = -1;
    RandomSource::begin_pass(pass);
  }
  std::string place(int /*field*/, int64_t row) override { return source_->place(0, row); }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const Field& from = fields()[field];
    const int64_t elements = from.row.size();
    for (int64_t done = 0; done < count; done += rows_) {
      const int64_t some = std::min(rows_, count - done);
      const std::vector<Tensor> made = make(first + done, some);
      auto* at =
          static_cast<std::byte*>(to) + static_cast<size_t>(done * elements) * size_of(dtype);
      stage_rows(from, {first + done, 0}, made[static_cast<size_t>(field)].data, some * elements,
                 at, dtype);
    }
  }

  void read_run_of_all(int64_t first, int64_t count, std::span<const Tensor> slots,
                       int64_t at) override {
    for (int64_t done = 0; done < count; done += rows_) {
      const int64_t some = std::min(rows_, count - done);
      RandomSource::read_run_of_all(first + done, some, slots, at + done);
    }
  }

 private:
  void add(const FieldSpecs& specs, FieldRole role, std::string_view stem,
           std::vector<Field>& fields) {
    for (size_t i = 0; i < specs.size(); ++i) {
      fields.push_back({.name = "map: " + field_name(stem, i, specs.size()),
                        .role = role,
                        .stored = stored_as(specs[i].dtype),
                        .row = specs[i].row});
      types_.push_back(specs[i].dtype);
    }
  }

  // Fields are asked for one after the other: what was made last is kept.
  std::vector<Tensor> make(int64_t first, int64_t count) {
    std::vector<Tensor> out = out_->first(count);
    if (first == made_first_ && count == made_count_) return out;
    const std::vector<Tensor> in = in_->first(count);
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) numbers[i] = first + i;
    source_->read_rows(numbers, in);
    made_first_ = -1;
    function_(in, out);
    made_first_ = first;
    made_count_ = count;
    return out;
  }

  SourcePtr source_;
  MapRows function_;
  MapSpec spec_;
  std::vector<DType> types_;
  int64_t rows_ = 1;
  std::unique_ptr<RowSlots> in_, out_;
  int64_t made_first_ = -1, made_count_ = 0;
};

}  // namespace

SourcePtr mapped(SourcePtr source, MapRows function, MapSpec spec) {
  return std::make_shared<MappedSource>(std::move(source), std::move(function), spec);
}

SourcePtr filtered(SourcePtr source, const KeepRow& keep) {
  source = pinned(std::move(source));
  const int64_t rows = *source->rows();
  RowSubset kept(rows);
  {
    const RowSlots slots(source->fields(), held_types(*source), 1);
    const std::vector<Tensor> row = slots.first(1);
    for (int64_t number = 0; number < rows; ++number) {
      for (size_t i = 0; i < row.size(); ++i) {
        source->read(static_cast<int>(i), std::span(&number, 1), row[i]);
      }
      if (keep(row)) kept.add(number);
    }
  }
  kept.finish();
  return subset(std::move(source), std::move(kept));
}

}  // namespace snug::data
