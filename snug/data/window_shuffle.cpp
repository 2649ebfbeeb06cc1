#include "snug/data/window_shuffle.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/dataset.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

class WindowShuffledSource final : public Source {
 public:
  WindowShuffledSource(SourcePtr source, const WindowShuffleOptions& options)
      : source_(std::move(source)), options_(options) {
    size_t row = 0;
    for (const Field& field : fields()) {
      types_.push_back(held_dtype(field));
      row_bytes_.push_back(static_cast<size_t>(field.row.size()) * size_of(types_.back()));
      row += static_cast<size_t>(field.row.size()) * size_of(batch_dtype(field));
    }
    capacity_ = std::max<int64_t>(2, options.bytes / static_cast<int64_t>(row));
    if (source_->rows()) capacity_ = std::min(capacity_, std::max<int64_t>(1, *source_->rows()));
    refill_ = std::max<int64_t>(1, capacity_ / 16);
    for (size_t i = 0; i < types_.size(); ++i) {
      rows_.emplace_back(static_cast<size_t>(capacity_) * row_bytes_[i]);
      slots_.push_back({{types_[i], Shape{capacity_, fields()[i].row.size()}}, rows_[i].data()});
    }
    numbers_.resize(static_cast<size_t>(capacity_));
  }

  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return source_->rows(); }
  Access access() const override {
    return source_->access() == Access::once ? Access::once : Access::replay;
  }
  size_t buffer_bytes() const override {
    size_t bytes = source_->buffer_bytes() + numbers_.size() * 8;
    for (const auto& rows : rows_) bytes += rows.size();
    return bytes;
  }
  void read(int /*field*/, std::span<const int64_t> /*rows*/, const Tensor& /*slot*/) override {
    throw InternalError("a shuffled sequence has no random access");
  }

  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    int64_t done = 0;
    while (done < count) {
      if (!ended_ && waiting_ <= capacity_ - refill_) fill();
      if (waiting_ == 0) break;
      give(draw(), done++, slots);
    }
    return done;
  }

  void restart() override {
    source_->restart();
    begin(pass_);
  }
  void begin_pass(uint64_t pass) override {
    source_->begin_pass(pass);
    // A source that cannot start again goes on, with what waits.
    if (source_->access() != Access::once) begin(pass);
  }

 private:
  void begin(uint64_t pass) {
    pass_ = pass;
    waiting_ = given_ = read_ = 0;
    ended_ = false;
  }

  void fill() {
    std::vector<Tensor> room;
    for (const Tensor& slot : slots_) room.push_back(rows_of(slot, waiting_, capacity_ - waiting_));
    const int64_t made = source_->next(capacity_ - waiting_, room);
    for (int64_t i = 0; i < made; ++i) numbers_[static_cast<size_t>(waiting_ + i)] = read_ + i;
    ended_ = made < capacity_ - waiting_;
    waiting_ += made;
    read_ += made;
  }

  // One of those that wait, by (seed, pass, position).
  int64_t draw() {
    const uint64_t pass = options_.reshuffle_each_iteration ? pass_ : 0;
    const uint64_t random = mix_bits(mix_bits(options_.seed + 0x77696e646f77) + mix_bits(pass) +
                                     static_cast<uint64_t>(given_++));
    return static_cast<int64_t>(
        (static_cast<unsigned __int128>(random) * static_cast<unsigned __int128>(waiting_)) >> 64);
  }

  // The last one that waits takes its place.
  void give(int64_t row, int64_t at, std::span<const Tensor> slots) {
    --waiting_;
    for (size_t i = 0; i < slots.size(); ++i) {
      std::byte* here = rows_[i].data() + static_cast<size_t>(row) * row_bytes_[i];
      if (slots[i].data != nullptr) {
        Field held = fields()[i];
        held.stored = stored_as(types_[i]);
        const Tensor to = rows_of(slots[i], at, 1);
        stage_rows(held, {numbers_[static_cast<size_t>(row)], 0}, here, held.row.size(), to.data,
                   to.dtype());
      }
      std::memmove(here, rows_[i].data() + static_cast<size_t>(waiting_) * row_bytes_[i],
                   row_bytes_[i]);
    }
    numbers_[static_cast<size_t>(row)] = numbers_[static_cast<size_t>(waiting_)];
  }

  SourcePtr source_;
  WindowShuffleOptions options_;
  std::vector<DType> types_;
  std::vector<size_t> row_bytes_;
  std::vector<std::vector<std::byte>> rows_;  // Of each field: those that wait.
  std::vector<Tensor> slots_;
  std::vector<int64_t> numbers_;  // Which rows they are.
  int64_t refill_ = 1;            // So many are asked for at a time.
  int64_t capacity_ = 2, waiting_ = 0, given_ = 0, read_ = 0;
  uint64_t pass_ = 0;
  bool ended_ = false;
};

}  // namespace

SourcePtr window_shuffled(SourcePtr source, const WindowShuffleOptions& options) {
  if (options.bytes < 1) throw Error("shuffle: a window of {} bytes holds no row", options.bytes);
  return std::make_shared<WindowShuffledSource>(std::move(source), options);
}

}  // namespace snug::data
