#include "snug/data/ordered.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/renumbered.h"

namespace snug::data {
namespace {

class OrderedSource final : public RenumberedSource {
 public:
  OrderedSource(SourcePtr source, const RowOrder& order)
      : RenumberedSource(std::move(source)), order_(order) {}

  std::optional<int64_t> rows() const override {
    return is_endless() ? std::nullopt : std::optional(order_.size());
  }
  Access access() const override { return is_endless() ? Access::replay : Access::random; }
  bool reorders() const override { return order_.changes_with_pass() || source_->reorders(); }
  SourcePtr twin() override {
    SourcePtr twin = is_endless() ? nullptr : source_->twin();
    return twin ? std::make_shared<OrderedSource>(std::move(twin), order_) : nullptr;
  }

  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override {
    if (!order_.is_stretch() || first + count > order_.size()) return nullptr;
    return source_->borrow(field, order_.row(pass_, first), count, dtype);
  }
  void begin_pass(uint64_t pass) override {
    RenumberedSource::begin_pass(pass);
    pass_ = pass;
  }

 protected:
  int64_t size() const override { return order_.size(); }
  void renumber(std::span<const int64_t> rows, std::span<int64_t> numbers) const override {
    order_.rows(pass_, rows, numbers);
  }

 private:
  bool is_endless() const { return order_.size() == RowOrder::kEndless; }

  RowOrder order_;
  uint64_t pass_ = 0;
};

class PinnedSource final : public RenumberedSource {
 public:
  explicit PinnedSource(SourcePtr source) : RenumberedSource(std::move(source)) {
    RenumberedSource::begin_pass(0);
  }

  bool reorders() const override { return false; }
  SourcePtr twin() override {
    SourcePtr twin = source_->twin();
    return twin ? std::make_shared<PinnedSource>(std::move(twin)) : nullptr;
  }
  void begin_pass(uint64_t /*pass*/) override { RenumberedSource::begin_pass(0); }

 protected:
  int64_t size() const override { return *source_->rows(); }
  void renumber(std::span<const int64_t> rows, std::span<int64_t> numbers) const override {
    std::ranges::copy(rows, numbers.begin());
  }
};

class PrefetchedSource final : public RenumberedSource {
 public:
  PrefetchedSource(SourcePtr source, int64_t batches)
      : RenumberedSource(std::move(source)), batches_(batches) {}

  int64_t batches_ahead() const override { return batches_; }
  SourcePtr twin() override { return source_->twin(); }
  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override {
    return source_->borrow(field, first, count, dtype);
  }

 protected:
  int64_t size() const override { return *source_->rows(); }
  void renumber(std::span<const int64_t> rows, std::span<int64_t> numbers) const override {
    std::ranges::copy(rows, numbers.begin());
  }

 private:
  int64_t batches_;
};

class StretchedSource final : public Source {
 public:
  StretchedSource(SourcePtr source, const Stretch& stretch)
      : source_(std::move(source)), stretch_(stretch), slots_(source_->fields().size()) {
    SNUG_CHECK(stretch_.repeat == 1 || source_->access() != Access::once);
    begin(0);
  }

  const std::vector<Field>& fields() const override { return source_->fields(); }
  size_t buffer_bytes() const override { return source_->buffer_bytes(); }
  Access access() const override {
    return source_->access() == Access::once ? Access::once : Access::replay;
  }
  std::optional<int64_t> rows() const override {
    const std::optional<int64_t> whole = source_->rows();
    if (!whole || !stretch_.repeat) return std::nullopt;
    const int64_t left = std::max<int64_t>(0, *whole - stretch_.skip);
    return std::min(left, stretch_.take.value_or(left)) * *stretch_.repeat;
  }

  void read(int /*field*/, std::span<const int64_t> /*rows*/, const Tensor& /*slot*/) override {
    throw InternalError("a stretch of a sequence has no random access");
  }

  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    int64_t done = 0;
    while (done < count && !ended_) {
      if (!skipped_) skip();
      const int64_t left = stretch_.take ? *stretch_.take - taken_ : count;
      const int64_t room = std::min(count - done, left);
      for (size_t i = 0; i < slots.size(); ++i) slots_[i] = rows_of(slots[i], done, room);
      const int64_t made = room > 0 ? source_->next(room, slots_) : 0;
      done += made;
      taken_ += made;
      if (made == 0) end_repetition();
    }
    return done;
  }

  void restart() override {
    if (source_->access() == Access::once) return source_->restart();
    begin_pass(pass_);
  }
  void begin_pass(uint64_t pass) override {
    pass_ = pass;
    begin(0);
    begin_repetition();
  }

 private:
  void begin(int64_t repetition) {
    repetition_ = repetition;
    taken_ = 0;
    skipped_ = false;
    ended_ = stretch_.repeat && repetition >= *stretch_.repeat;
  }

  void skip() {
    const std::vector<Tensor> nowhere(fields().size());
    for (int64_t left = stretch_.skip; left > 0;) {
      const int64_t made = source_->next(left, nowhere);
      if (made == 0) break;
      left -= made;
    }
    skipped_ = true;
  }

  // A repetition without rows would be followed by others without end.
  void end_repetition() {
    const bool was_empty = taken_ == 0;
    begin(repetition_ + 1);
    ended_ = ended_ || was_empty;
    if (!ended_) begin_repetition();
  }

  // Each is a pass of its own, so that what shuffles does so anew.
  void begin_repetition() {
    source_->begin_pass(RowOrder::first_repetition(pass_, stretch_.repeat) +
                        static_cast<uint64_t>(repetition_));
  }

  SourcePtr source_;
  Stretch stretch_;
  std::vector<Tensor> slots_;
  uint64_t pass_ = 0;
  int64_t repetition_ = 0;
  int64_t taken_ = 0;
  bool skipped_ = false;
  bool ended_ = false;
};

}  // namespace

SourcePtr ordered(SourcePtr source, const RowOrder& order) {
  return std::make_shared<OrderedSource>(std::move(source), order);
}

SourcePtr pinned(SourcePtr source) {
  return source->reorders() ? std::make_shared<PinnedSource>(std::move(source)) : source;
}

SourcePtr prefetched(SourcePtr source, int64_t batches) {
  return std::make_shared<PrefetchedSource>(std::move(source), batches);
}

SourcePtr stretched(SourcePtr source, const Stretch& stretch) {
  return std::make_shared<StretchedSource>(std::move(source), stretch);
}

}  // namespace snug::data
