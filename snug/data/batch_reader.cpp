#include "snug/data/batch_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "snug/base/threads.h"
#include "snug/data/slot_rows.h"

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

BatchReader::BatchReader(const Dataset& dataset, uint64_t pass, int threads)
    : source_(dataset.rows()),
      batch_size_(dataset.batch_size()),
      drop_remainder_(dataset.drop_remainder()),
      verbs_(dataset.batches_.value_or(Dataset::BatchVerbs{.repeat = 1})),
      pass_(pass),
      buckets_(dataset.buckets_) {
  if (dataset.padding_) lengths_.emplace(source_->fields(), *dataset.padding_);
  make_slots();
  if (!buckets_ && source_->access() == Access::random && source_->batches_ahead() != 0) {
    read_ahead(threads > 0 ? threads : hardware_threads());
  }
  begin_pass();
  const std::vector<Tensor> nowhere(slots_.size());
  for (int64_t i = 0; i < verbs_.skip; ++i) {
    if (read(nowhere) == 0) break;
  }
}

void BatchReader::read_ahead(int threads) {
  constexpr size_t kLeastBytes = size_t{256} << 10, kMostBytes = size_t{4} << 20;
  ReadAheadOptions options{
      .slots = {},
      .batch_rows = batch_size_,
      .bytes = std::clamp(buffer_.size() * sizeof(Line), kLeastBytes, kMostBytes),
      .threads = threads};
  for (const Field& field : source_->fields()) {
    options.slots.push_back({batch_dtype(field), field.row});
  }
  ahead_ = std::make_unique<ReadAhead>(source_, std::move(options));
  numbers_.resize(static_cast<size_t>(batch_size_));
}

void BatchReader::begin_pass() {
  const uint64_t pass = pass_of(pass_, repetition_);
  position_ = 0;
  if (!ahead_) return source_->begin_pass(pass);
  ahead_->begin_pass(pass);
  ahead_->announce(
      [](int64_t first, std::span<int64_t> rows) { std::iota(rows.begin(), rows.end(), first); }, 0,
      *source_->rows());
}

int64_t BatchReader::next_of_buckets(std::span<const Tensor> slots) {
  if (position_ == buckets_->batches()) return 0;
  bucket_ = buckets_->batch(pass_of(pass_, repetition_), position_++, numbers_);
  const int64_t rows = std::ssize(numbers_);
  source_->read_rows(numbers_, SlotRows(slots).at(0, rows));
  return rows;
}

int64_t BatchReader::next_rows(std::span<const Tensor> slots) {
  if (buckets_) return next_of_buckets(slots);
  if (!ahead_) return source_->next(batch_size_, slots);
  const int64_t rows = std::min(batch_size_, *source_->rows() - position_);
  if (rows == 0) return 0;
  const auto numbers = std::span(numbers_).first(static_cast<size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), position_);
  ahead_->read_rows(numbers, slots);
  position_ += rows;
  return rows;
}

size_t BatchReader::buffer_bytes() const {
  return buffer_.size() * sizeof(Line) + (ahead_ ? ahead_->buffer_bytes() : 0);
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
    const int64_t rows = next_rows(slots);
    if (rows == batch_size_ || (rows > 0 && (buckets_ || !drop_remainder_))) return rows;
    ++repetition_;
    if (verbs_.repeat && repetition_ >= *verbs_.repeat) return 0;
    begin_pass();
  }
  return 0;
}

const Batch* BatchReader::next() {
  if (verbs_.take && given_ >= *verbs_.take) return nullptr;
  const int64_t rows = read(slots_);
  if (rows == 0) return nullptr;
  ++given_;
  const int64_t steps = lengths_ ? cut(rows) : 0;
  if (rows != batch_.rows || steps != shown_steps_) show(rows, steps);
  return &batch_;
}

int64_t BatchReader::cut(int64_t rows) {
  int64_t steps = 1;
  SlotRows each(slots_);
  for (int64_t row = 0; row < rows && !buckets_; ++row)
    steps = std::max(steps, lengths_->of(each.at(row, 1)));
  if (buckets_) steps = buckets_->length(bucket_);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!lengths_->has_steps(i)) continue;
    const size_t whole = slots_[i].bytes() / static_cast<size_t>(batch_size_);
    const size_t kept =
        whole / static_cast<size_t>(lengths_->longest()) * static_cast<size_t>(steps);
    auto* data = static_cast<std::byte*>(slots_[i].data);
    for (size_t row = 1; row < static_cast<size_t>(rows) && kept < whole; ++row)
      std::memmove(data + row * kept, data + row * whole, kept);
  }
  return steps;
}

void BatchReader::show(int64_t rows, int64_t steps) {
  batch_ = {.rows = rows};
  shown_steps_ = steps;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Tensor tensor = rows_of(slots_[i], 0, rows);
    if (lengths_ && lengths_->has_steps(i))
      tensor.type.shape = shape_of_steps(rows, steps, source_->fields()[i].row);
    const FieldRole role = source_->fields()[i].role;
    if (role == FieldRole::input) batch_.x.push_back(tensor);
    if (role == FieldRole::target) batch_.y.push_back(tensor);
    if (role == FieldRole::weight) batch_.sample_weight = tensor;
  }
}

}  // namespace snug
