#include "snug/data/sequence_ahead.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <thread>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/dataset.h"
#include "snug/data/low_priority.h"
#include "snug/data/slot_rows.h"
#include "snug/data/stage.h"

namespace snug::data {
namespace {

// Bytes of images stay bytes.
DType kept_type(const Field& field) {
  return field.stored == StoredType::uint8 ? DType::uint8 : held_dtype(field);
}

class SequenceAhead final : public Source {
 public:
  SequenceAhead(SourcePtr source, SequenceAheadOptions options)
      : source_(std::move(source)), options_(std::move(options)) {
    SNUG_CHECK(source_->access() == Access::replay && options_.batches > 0);
    if (!options_.use) options_.use = std::make_shared<std::mutex>();
    for (const Field& field : source_->fields()) {
      Shape shape{options_.batch_rows};
      for (const Extent extent : field.row.extents()) shape.push_back(extent);
      types_.push_back({kept_type(field), shape});
      piece_bytes_ += types_.back().bytes();
    }
  }
  ~SequenceAhead() override { stop(); }

  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return source_->rows(); }
  Access access() const override { return Access::replay; }
  size_t buffer_bytes() const override {
    return source_->buffer_bytes() + static_cast<size_t>(options_.batches) * piece_bytes_ +
           kThreadBytes;
  }
  std::string place(int field, int64_t row) override { return source_->place(field, row); }
  void read(int /*field*/, std::span<const int64_t> /*rows*/, const Tensor& /*slot*/) override {
    throw InternalError("a sequence has no random access");
  }

  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    if (!thread_.joinable() && !has_ended_) start();
    int64_t done = 0;
    while (done < count) {
      Piece* piece = wait_for_piece();
      if (piece == nullptr) break;
      if (piece->error) std::rethrow_exception(piece->error);
      const int64_t some = std::min(count - done, piece->rows - used_);
      copy(*piece, some, SlotRows(slots).at(done, some));
      done += some;
      used_ += some;
      row_ += some;
      if (used_ == piece->rows) give_back();
    }
    return done;
  }

  void restart() override {
    stop();
    const std::lock_guard use(*options_.use);
    source_->restart();
  }
  void begin_pass(uint64_t pass) override {
    stop();
    const std::lock_guard use(*options_.use);
    source_->begin_pass(pass);
  }

 private:
  // Rows that were made together; none at the end, or where an error came.
  struct Piece {
    std::vector<std::vector<std::byte>> memory;
    std::vector<Tensor> slots;
    int64_t rows = 0;
    std::exception_ptr error;
  };

  void start() {
    if (pieces_.empty()) {
      pieces_.resize(static_cast<size_t>(options_.batches));
      for (Piece& piece : pieces_) {
        for (const Type& type : types_) {
          piece.memory.emplace_back(type.bytes());
          piece.slots.push_back({type, piece.memory.back().data()});
        }
      }
    }
    stops_ = false;
    thread_ = std::thread([this] { run(); });
  }

  // The thread is at rest, and nothing waits.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    made_ = given_ = used_ = row_ = 0;
    has_ended_ = false;
  }

  void run() {
    lower_priority();
    while (true) {
      Piece* piece = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stops_ || made_ - given_ < std::ssize(pieces_); });
        if (stops_) return;
        piece = &pieces_[static_cast<size_t>(made_ % std::ssize(pieces_))];
      }
      make(*piece);
      const bool was_last = piece->rows < options_.batch_rows;
      {
        const std::lock_guard lock(mutex_);
        ++made_;
        has_ended_ = was_last;
      }
      changed_.notify_all();
      if (was_last) return;
    }
  }

  void make(Piece& piece) {
    piece.error = nullptr;
    piece.rows = 0;
    try {
      const std::lock_guard use(*options_.use);
      piece.rows = source_->next(options_.batch_rows, piece.slots);
    } catch (...) {
      piece.error = std::current_exception();
    }
  }

  // The piece whose rows come next; null at the end.
  Piece* wait_for_piece() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_ > given_ || has_ended_; });
    if (made_ == given_) return nullptr;
    Piece& piece = pieces_[static_cast<size_t>(given_ % std::ssize(pieces_))];
    return piece.rows == 0 && !piece.error ? nullptr : &piece;
  }

  void give_back() {
    used_ = 0;
    {
      const std::lock_guard lock(mutex_);
      ++given_;
    }
    changed_.notify_all();
  }

  void copy(const Piece& piece, int64_t rows, std::span<const Tensor> into) const {
    for (size_t i = 0; i < into.size(); ++i) {
      if (into[i].data == nullptr) continue;
      const Tensor from = rows_of(piece.slots[i], used_, rows);
      if (from.dtype() == into[i].dtype()) {
        std::memcpy(into[i].data, from.data, from.bytes());
        continue;
      }
      Field kept = fields()[i];
      kept.stored = stored_as(from.dtype());
      stage_rows(kept, {row_, 0}, from.data, from.size(), into[i].data, into[i].dtype());
    }
  }

  SourcePtr source_;
  SequenceAheadOptions options_;
  std::vector<Type> types_;
  size_t piece_bytes_ = 0;
  std::deque<Piece> pieces_;  // A ring; made with the first thread.
  int64_t used_ = 0;          // Rows of the piece that comes next that were asked for.
  int64_t row_ = 0;           // Of the pass, which comes next.

  std::mutex mutex_;  // For all that follows.
  std::condition_variable changed_;
  int64_t made_ = 0, given_ = 0;  // Pieces.
  bool has_ended_ = false, stops_ = false;
  std::thread thread_;
};

}  // namespace

SourcePtr made_ahead(SourcePtr source, SequenceAheadOptions options) {
  return std::make_shared<SequenceAhead>(std::move(source), std::move(options));
}

}  // namespace snug::data
