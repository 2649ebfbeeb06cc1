#include "snug/data/block_shuffle.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/dataset.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug {

BlockOrder::BlockOrder(int64_t rows, int64_t block_rows, int64_t window_blocks, uint64_t seed,
                       uint64_t epoch)
    : rows_(rows),
      block_rows_(block_rows),
      window_blocks_(window_blocks),
      blocks_((rows + block_rows - 1) / block_rows),
      order_(blocks_, seed, epoch),
      short_turn_(0),
      seed_(seed),
      epoch_(epoch) {
  while (short_turn_ < blocks_ && order_(short_turn_) != blocks_ - 1) ++short_turn_;
}

int64_t BlockOrder::rows_of_block(int64_t block) const {
  return std::min(block_rows_, rows_ - block * block_rows_);
}

int64_t BlockOrder::start_of(int64_t turn) const {
  const int64_t missing = block_rows_ - rows_of_block(blocks_ - 1);
  return turn * block_rows_ - (turn > short_turn_ ? missing : 0);
}

int64_t BlockOrder::blocks_of(int64_t window) const {
  return std::min(window_blocks_, blocks_ - window * window_blocks_);
}

int64_t BlockOrder::block_at(int64_t window, int64_t turn) const {
  return order_(window * window_blocks_ + turn);
}

BlockOrder::Place BlockOrder::place(int64_t position) const {
  // All windows before that of the short block are full ones.
  const int64_t full = window_blocks_ * block_rows_;
  int64_t window = position / full;
  while (window + 1 < windows() && start_of((window + 1) * window_blocks_) <= position) ++window;
  const int64_t first = window * window_blocks_, start = start_of(first);
  const int64_t rows = start_of(first + blocks_of(window)) - start;
  const uint64_t key = mix_bits(seed_ ^ 0x626c6f636b73ull) + static_cast<uint64_t>(window);
  const int64_t within = Permutation(rows, key, epoch_)(position - start);
  // Which block of the window that is: the short one is the only one that is not of block_rows.
  int64_t turn = within / block_rows_;
  while (turn + 1 < blocks_of(window) && start_of(first + turn + 1) - start <= within) ++turn;
  const int64_t block = order_(first + turn);
  return {window, turn, block, block * block_rows_ + (within - (start_of(first + turn) - start))};
}

namespace data {
namespace {

class BlockShuffledSource final : public RandomSource {
 public:
  BlockShuffledSource(SourcePtr source, const BlockShuffleOptions& options)
      : source_(std::move(source)), options_(options) {
    const std::vector<Field>& fields = source_->fields();
    const int64_t rows = *source_->rows();
    set_fields(fields, std::vector<int64_t>(fields.size(), rows));
    size_t row = 0;
    int64_t bytes = 0;  // Of a row of a batch: the order is what it was before int64 was held.
    for (const Field& field : fields) {
      const bool is_byte = field.stored == StoredType::uint8;
      types_.push_back(is_byte ? DType::uint8 : held_dtype(field));
      row_bytes_.push_back(static_cast<size_t>(field.row.size()) * size_of(types_.back()));
      row += row_bytes_.back();
      bytes += field.row.size() *
               static_cast<int64_t>(size_of(is_byte ? DType::uint8 : batch_dtype(field)));
    }
    const int64_t in_window = std::max<int64_t>(2, options.window_bytes / 2 / bytes);
    block_rows_ =
        std::clamp<int64_t>(options.block_bytes / bytes, 1, std::max<int64_t>(1, in_window / 16));
    block_rows_ = std::min(block_rows_, rows);
    window_blocks_ = std::min(std::max<int64_t>(1, in_window / block_rows_),
                              (rows + block_rows_ - 1) / block_rows_);
    slots_.resize(static_cast<size_t>(2 * window_blocks_));
    block_bytes_ = static_cast<size_t>(block_rows_) * row;
    memory_.resize(slots_.size() * block_bytes_);
    begin_pass(0);
  }

  int64_t batches_ahead() const override { return source_->batches_ahead(); }
  size_t buffer_bytes() const override { return source_->buffer_bytes() + memory_.size(); }
  void begin_pass(uint64_t pass) override {
    source_->begin_pass(pass);
    order_.emplace(*rows(), block_rows_, window_blocks_, options_.seed,
                   options_.reshuffle_each_iteration ? pass : 0);
    std::ranges::fill(slots_, -1);
    RandomSource::begin_pass(pass);
  }
  bool reorders() const override {
    return options_.reshuffle_each_iteration || source_->reorders();
  }
  std::string order() const override {
    return fmt::format("windows of {} x {} rows", window_blocks_, block_rows_);
  }
  std::string place(int field, int64_t row) override {
    return source_->place(field, order_->place(row).row);
  }

  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override {
    for (size_t i = 0; i < rows.size(); ++i) {
      const BlockOrder::Place place = order_->place(rows[i]);
      for (int field = 0; field < std::ssize(slots); ++field) {
        if (slots[field].data == nullptr) continue;
        give(place, field, slot_row(field, slots[field], static_cast<int64_t>(i)),
             slots[field].dtype());
      }
      load_some_of_next(rows[i], place.window);
    }
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    auto* at = static_cast<std::byte*>(to);
    const size_t bytes = static_cast<size_t>(fields()[field].row.size()) * size_of(dtype);
    for (int64_t i = 0; i < count; ++i, at += bytes) {
      give(order_->place(first + i), field, at, dtype);
    }
  }
  void read_run_of_all(int64_t first, int64_t count, std::span<const Tensor> slots,
                       int64_t at) override {
    for (int64_t i = 0; i < count; ++i) {
      const BlockOrder::Place place = order_->place(first + i);
      for (int field = 0; field < std::ssize(slots); ++field) {
        if (slots[field].data == nullptr) continue;
        give(place, field, slot_row(field, slots[field], at + i), slots[field].dtype());
      }
      load_some_of_next(first + i, place.window);
    }
  }

 private:
  // Windows take turns in the two halves of the memory.
  size_t slot_of(int64_t window, int64_t turn) const {
    return static_cast<size_t>(window % 2 * window_blocks_ + turn);
  }

  void give(const BlockOrder::Place& place, int field, std::byte* to, DType dtype) {
    const std::byte* block = load(place.window, place.turn, place.block);
    for (int before = 0; before < field; ++before) {
      block += static_cast<size_t>(block_rows_) * row_bytes_[static_cast<size_t>(before)];
    }
    const size_t bytes = row_bytes_[static_cast<size_t>(field)];
    const std::byte* from =
        block + static_cast<size_t>(place.row - place.block * block_rows_) * bytes;
    const DType kept = types_[static_cast<size_t>(field)];
    if (kept == dtype) {
      std::memcpy(to, from, bytes);
    } else {
      Field held = fields()[field];
      held.stored = stored_as(kept);
      stage_rows(held, {place.row, 0}, from, held.row.size(), to, dtype);
    }
  }

  const std::byte* load(int64_t window, int64_t turn, int64_t block) {
    const size_t slot = slot_of(window, turn);
    std::byte* memory = memory_.data() + slot * block_bytes_;
    if (slots_[slot] == block) return memory;
    slots_[slot] = -1;
    const int64_t count = order_->rows_of_block(block);
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = block * block_rows_ + i;
    std::vector<Tensor> into;
    std::byte* at = memory;
    for (size_t i = 0; i < fields().size(); ++i) {
      into.push_back({{types_[i], Shape{count, fields()[i].row.size()}}, at});
      at += static_cast<size_t>(block_rows_) * row_bytes_[i];
    }
    source_->read_rows(numbers, into);
    slots_[slot] = block;
    return memory;
  }

  // So that the next window is there when this one has been handed out.
  void load_some_of_next(int64_t position, int64_t window) {
    if (position % block_rows_ != 0 || window + 1 >= order_->windows()) return;
    for (int64_t turn = 0; turn < order_->blocks_of(window + 1); ++turn) {
      const int64_t block = order_->block_at(window + 1, turn);
      if (slots_[slot_of(window + 1, turn)] == block) continue;
      load(window + 1, turn, block);
      return;
    }
  }

  SourcePtr source_;
  BlockShuffleOptions options_;
  std::vector<DType> types_;
  std::vector<size_t> row_bytes_;
  int64_t block_rows_ = 1, window_blocks_ = 1;
  size_t block_bytes_ = 0;
  std::optional<BlockOrder> order_;
  std::vector<int64_t> slots_;  // Which block stands there; -1: none.
  std::vector<std::byte> memory_;
};

}  // namespace

SourcePtr block_shuffled(SourcePtr source, const BlockShuffleOptions& options) {
  SNUG_CHECK(source->access() == Access::random && *source->rows() > 0);
  return std::make_shared<BlockShuffledSource>(std::move(source), options);
}

}  // namespace data
}  // namespace snug
