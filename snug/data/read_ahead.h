// Rows that are read before they are asked for, on threads of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "snug/data/reader_choice.h"
#include "snug/data/source.h"

namespace snug {

struct ReadAheadOptions {
  std::vector<Type> slots;  // Of one row of each field; a field without elements is not read.
  int64_t batch_rows = 1;   // Rows are asked for in batches of so many.
  size_t bytes = 0;         // For rows that were read and not asked for yet. 0: none are.
  int threads = 1;          // Of the caller's, which read together what has to be waited for.
  // How long each way of reading is tried (reader_choice.h).
  std::chrono::nanoseconds turn = std::chrono::milliseconds(20);
};

// A source with random access that is told the order in which its rows will be asked for. One
// thread reads them ahead, at a low priority, so that it takes what the caller's threads leave;
// where they leave nothing, it sleeps. What is not there when it is asked for is read by the caller
// at once, on all of its threads: so the time that reading takes is never waited for twice. What is
// given does not depend on any of it, errors included: the first bad row in that order is the one
// that is named.
class ReadAhead final : public Source {
 public:
  ReadAhead(SourcePtr source, ReadAheadOptions options);
  ~ReadAhead() override;

  // What it holds for rows, beside buffers of the source and of its twins.
  static size_t slot_bytes(const ReadAheadOptions& options);
  // What a plan has to count for it, the source itself not included.
  static size_t needed_bytes(Source& source, const ReadAheadOptions& options);

  // The rows that will be asked for next, in batches from position `first` up to `end`; `numbers`
  // says which rows stand at some positions. Another announcement, or begin_pass(), ends it.
  using Numbers = std::function<void(int64_t first, std::span<int64_t> rows)>;
  void announce(Numbers numbers, int64_t first, int64_t end);

  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return source_->rows(); }
  Access access() const override { return Access::random; }
  // Any rows may be asked for; those that were not announced are read at once.
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override;
  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override;
  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override;
  int64_t next(int64_t count, std::span<const Tensor> slots) override;
  void restart() override;
  void begin_pass(uint64_t pass) override;
  std::string place(int field, int64_t row) override;
  size_t buffer_bytes() const override;

 private:
  // Some rows of one batch.
  struct Piece {
    std::vector<std::byte> memory;
    std::vector<Tensor> slots;
    std::vector<int64_t> rows;
    std::atomic<bool> is_ready = false;
    std::exception_ptr error;
  };
  struct Part {
    int64_t first = 0, rows = 0;  // Positions.
  };

  static size_t held_by_piece(const ReadAheadOptions& options);
  static int64_t pieces_within(const ReadAheadOptions& options);
  static int64_t batches_within(const ReadAheadOptions& options);
  Part part_of(int64_t piece) const;
  Piece& slot_of(int64_t piece) { return pieces_[static_cast<size_t>(piece % depth())]; }
  int64_t depth() const { return std::ssize(pieces_); }
  void run_reader();
  void read_piece(int64_t number);
  void stop_reading();
  // How many pieces that were announced these rows are; 0: they are none.
  int64_t pieces_of(std::span<const int64_t> rows) const;
  void read_now(std::span<const int64_t> rows, std::span<const Tensor> slots, size_t first);
  void read_part(Source& source, std::span<const int64_t> rows, std::span<const Tensor> slots);
  // How many threads a number of pieces is worth.
  int lanes_for(int64_t pieces) const;
  void note_time(std::chrono::steady_clock::time_point asked);
  bool wait_for(const Piece& piece);
  static void copy_piece(const Piece& piece, std::span<const Tensor> into);
  // Waits for pieces [from, to) and copies their rows to the slots.
  void copy_pieces(int64_t from, int64_t to, std::span<const int64_t> rows,
                   std::span<const Tensor> slots);

  SourcePtr source_;
  std::vector<SourcePtr> helpers_;  // One for each of the caller's threads but the first.
  SourcePtr reader_;                // Null: the thread shares the source itself.
  ReadAheadOptions options_;
  int64_t piece_rows_ = 1;
  int64_t pieces_per_batch_ = 1;
  std::deque<Piece> pieces_;  // A ring.
  ReaderChoice choice_;
  std::optional<std::chrono::steady_clock::time_point> last_asked_;  // For the batch before.

  std::mutex source_use_;  // Where there is no twin.
  std::mutex mutex_;       // For all that follows.
  std::condition_variable to_read_, was_read_;
  Numbers numbers_;
  int64_t first_ = 0, end_ = 0;
  int64_t last_piece_ = 0;   // Behind the last one that was announced.
  int64_t claimed_ = 0;      // Pieces before this one are read, or are being read.
  int64_t given_ = 0;        // Pieces before this one were asked for.
  bool is_reading_ = false;  // The thread is within a piece.
  bool is_ahead_ = true;     // The choice, as the thread knows it.
  bool thread_sleeps_ = false, caller_sleeps_ = false, stops_ = false;
  std::thread thread_;
};

}  // namespace snug
