#include "snug/data/batch_reader.h"

#include <algorithm>

namespace snug {
namespace {

Shape batch_shape(Extent rows, const Shape& row) {
  Shape shape{rows};
  for (const Extent extent : row.extents()) shape.push_back(extent);
  return shape;
}

// The number of a repetition's pass: far from those of other passes.
uint64_t pass_of(uint64_t pass, int64_t repetition) {
  return pass + (static_cast<uint64_t>(repetition) << 32);
}

}  // namespace

BatchReader::BatchReader(const Dataset& dataset, uint64_t pass)
    : source_(dataset.rows()),
      batch_size_(dataset.batch_size()),
      drop_remainder_(dataset.drop_remainder()),
      verbs_(dataset.batches_.value_or(Dataset::BatchVerbs{.repeat = 1})),
      pass_(pass) {
  make_slots();
  source_->begin_pass(pass_of(pass_, 0));
  const std::vector<Tensor> nowhere(slots_.size());
  for (int64_t i = 0; i < verbs_.skip; ++i) {
    if (read(nowhere) == 0) break;
  }
}

void BatchReader::make_slots() {
  size_t lines = 0;
  for (const Field& field : source_->fields()) {
    slots_.push_back({.type = {batch_dtype(field), batch_shape(batch_size_, field.row)}});
    lines += (slots_.back().bytes() + sizeof(Line) - 1) / sizeof(Line);
  }
  buffer_.resize(lines);
  Line* at = buffer_.data();
  for (Tensor& slot : slots_) {
    slot.data = at;
    at += (slot.bytes() + sizeof(Line) - 1) / sizeof(Line);
  }
}

int64_t BatchReader::read(std::span<const Tensor> slots) {
  // Twice without a row: the repetitions are empty.
  for (int tries = 0; tries < 2; ++tries) {
    if (verbs_.repeat && repetition_ >= *verbs_.repeat) return 0;
    const int64_t rows = source_->next(batch_size_, slots);
    if (rows == batch_size_ || (rows > 0 && !drop_remainder_)) return rows;
    ++repetition_;
    if (verbs_.repeat && repetition_ >= *verbs_.repeat) return 0;
    source_->begin_pass(pass_of(pass_, repetition_));
  }
  return 0;
}

const Batch* BatchReader::next() {
  if (verbs_.take && given_ >= *verbs_.take) return nullptr;
  const int64_t rows = read(slots_);
  if (rows == 0) return nullptr;
  ++given_;
  if (rows != batch_.rows) show(rows);
  return &batch_;
}

void BatchReader::show(int64_t rows) {
  batch_ = {.rows = rows};
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Tensor tensor = rows_of(slots_[i], 0, rows);
    const FieldRole role = source_->fields()[i].role;
    if (role == FieldRole::input) batch_.x.push_back(tensor);
    if (role == FieldRole::target) batch_.y.push_back(tensor);
    if (role == FieldRole::weight) batch_.sample_weight = tensor;
  }
}

}  // namespace snug
