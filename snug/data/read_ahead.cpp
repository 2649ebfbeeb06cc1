#include "snug/data/read_ahead.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/low_priority.h"
#include "snug/data/parallel_rows.h"
#include "snug/data/slot_rows.h"

namespace snug {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;

constexpr int kMostLanes = 16;

using Clock = std::chrono::steady_clock;

constexpr size_t kAlignment = 64;
size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Type slot_type(const Type& row, int64_t rows) {
  Shape shape{rows};
  for (const Extent extent : row.shape.extents()) shape.push_back(extent);
  return {row.dtype, shape};
}

size_t piece_bytes(const ReadAheadOptions& options, int64_t rows) {
  size_t bytes = 0;
  for (const Type& row : options.slots) bytes += aligned(slot_type(row, rows).bytes());
  return bytes;
}

// So few rows that at least two pieces find room, and at most a quarter of a batch: a caller that
// waits for one piece reads another one meanwhile.
int64_t rows_of_piece(const ReadAheadOptions& options) {
  constexpr size_t kAround = size_t{1} << 10;  // Its rows: see held_by_piece().
  const size_t half = options.bytes / 2 - std::min(options.bytes / 2, kAround);
  const size_t most = options.bytes == 0 ? kPieceBytes : std::min(kPieceBytes, half);
  const size_t row = piece_bytes(options, 64) / 64 + sizeof(int64_t);
  return std::clamp<int64_t>(static_cast<int64_t>(most / row), 1, (options.batch_rows + 3) / 4);
}

}  // namespace

// With what stands around the rows, which is more than small rows are.
size_t ReadAhead::held_by_piece(const ReadAheadOptions& options) {
  constexpr size_t kOfAllocation = 24, kAllocations = 3;
  const int64_t rows = rows_of_piece(options);
  return sizeof(Piece) + piece_bytes(options, rows) + kAlignment +
         options.slots.size() * sizeof(Tensor) + static_cast<size_t>(rows) * sizeof(int64_t) +
         kAllocations * kOfAllocation;
}

int64_t ReadAhead::pieces_within(const ReadAheadOptions& options) {
  return static_cast<int64_t>(options.bytes / held_by_piece(options));
}

int64_t ReadAhead::batches_within(const ReadAheadOptions& options) {
  const int64_t rows = pieces_within(options) * rows_of_piece(options);
  return (rows + options.batch_rows - 1) / options.batch_rows;
}

size_t ReadAhead::slot_bytes(const ReadAheadOptions& options) {
  return static_cast<size_t>(pieces_within(options)) * held_by_piece(options);
}

size_t ReadAhead::needed_bytes(Source& source, const ReadAheadOptions& options) {
  const bool ahead = pieces_within(options) > 0;
  const SourcePtr twin = source.twin();
  const size_t readers = twin ? static_cast<size_t>(options.threads - 1 + (ahead ? 1 : 0)) : 0;
  const size_t own = twin ? twin->buffer_bytes() : 0;
  return slot_bytes(options) + readers * own + (ahead ? kThreadBytes : 0);
}

ReadAhead::ReadAhead(SourcePtr source, ReadAheadOptions options)
    : source_(std::move(source)),
      options_(std::move(options)),
      choice_(options_.turn, batches_within(options_) + 1) {
  SNUG_CHECK(source_->access() == Access::random && options_.batch_rows > 0);
  SNUG_CHECK(options_.slots.size() == source_->fields().size());
  piece_rows_ = rows_of_piece(options_);
  pieces_per_batch_ = (options_.batch_rows + piece_rows_ - 1) / piece_rows_;
  for (int i = 1; i < std::min(options_.threads, kMostLanes); ++i) {
    if (SourcePtr twin = source_->twin()) helpers_.push_back(std::move(twin));
  }
  const int64_t depth = pieces_within(options_);
  if (depth == 0) return;
  pieces_.resize(static_cast<size_t>(depth));
  for (Piece& piece : pieces_) {
    piece.memory.resize(piece_bytes(options_, piece_rows_) + kAlignment);
    const auto address = reinterpret_cast<uintptr_t>(piece.memory.data());
    std::byte* at = piece.memory.data() + (kAlignment - address % kAlignment) % kAlignment;
    piece.slots.reserve(options_.slots.size());
    for (const Type& row : options_.slots) {
      piece.slots.push_back({slot_type(row, piece_rows_), at});
      if (row.shape.size() == 0) piece.slots.back().data = nullptr;
      at += aligned(piece.slots.back().bytes());
    }
    piece.rows.reserve(static_cast<size_t>(piece_rows_));
  }
  reader_ = source_->twin();
  thread_ = std::thread([this] { run_reader(); });
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  to_read_.notify_one();
  thread_.join();
}

// Batches are cut into pieces, the last of each as it comes out.
ReadAhead::Part ReadAhead::part_of(int64_t piece) const {
  const int64_t batch = first_ + piece / pieces_per_batch_ * options_.batch_rows;
  const int64_t first = batch + piece % pieces_per_batch_ * piece_rows_;
  const int64_t end = std::min(batch + options_.batch_rows, end_);
  return {first, std::clamp<int64_t>(end - first, 0, piece_rows_)};
}

void ReadAhead::announce(Numbers numbers, int64_t first, int64_t end) {
  stop_reading();
  {
    const std::lock_guard lock(mutex_);
    numbers_ = std::move(numbers);
    first_ = first;
    end_ = std::max(first, end);
    const int64_t batches = (end_ - first_ + options_.batch_rows - 1) / options_.batch_rows;
    last_piece_ = batches * pieces_per_batch_;
    claimed_ = given_ = 0;
  }
  last_asked_.reset();
  if (is_ahead_) to_read_.notify_one();
}

void ReadAhead::stop_reading() {
  std::unique_lock lock(mutex_);
  last_piece_ = claimed_;
  caller_sleeps_ = true;
  was_read_.wait(lock, [&] { return !is_reading_; });
  caller_sleeps_ = false;
  last_piece_ = claimed_ = given_ = 0;
}

void ReadAhead::run_reader() {
  lower_priority();
  std::unique_lock lock(mutex_);
  while (true) {
    thread_sleeps_ = true;
    to_read_.wait(lock, [&] {
      return stops_ || (is_ahead_ && claimed_ < last_piece_ && claimed_ < given_ + depth());
    });
    thread_sleeps_ = false;
    if (stops_) return;
    const int64_t piece = claimed_++;
    slot_of(piece).is_ready = false;
    is_reading_ = true;
    lock.unlock();
    read_piece(piece);
    lock.lock();
    is_reading_ = false;
    slot_of(piece).is_ready = true;
    if (caller_sleeps_) was_read_.notify_one();
  }
}

void ReadAhead::read_piece(int64_t number) {
  Piece& piece = slot_of(number);
  piece.error = nullptr;
  try {
    const Part part = part_of(number);
    piece.rows.resize(static_cast<size_t>(part.rows));
    if (part.rows == 0) return;
    numbers_(part.first, piece.rows);
    std::unique_lock<std::mutex> use;
    if (!reader_) use = std::unique_lock(source_use_);
    (reader_ ? *reader_ : *source_).read_rows(piece.rows, piece.slots);
  } catch (...) {
    piece.error = std::current_exception();
  }
}

int64_t ReadAhead::pieces_of(std::span<const int64_t> rows) const {
  int64_t left = std::ssize(rows), piece = given_;
  while (piece < last_piece_ && left > 0) left -= part_of(piece++).rows;
  return left == 0 ? piece - given_ : 0;
}

// What is announced and not claimed by the other thread is claimed and read here; the rest is
// copied when it is there.
void ReadAhead::read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) {
  const Clock::time_point asked = Clock::now();
  std::unique_lock lock(mutex_);
  const int64_t count = pieces_of(rows), from = given_;
  const int64_t ahead = std::min(claimed_, from + count);
  claimed_ = std::max(claimed_, from + count);
  lock.unlock();
  size_t rows_ahead = 0;
  for (int64_t piece = from; piece < ahead; ++piece) {
    rows_ahead += static_cast<size_t>(part_of(piece).rows);
  }
  std::exception_ptr error;
  try {
    read_now(rows, slots, rows_ahead);
  } catch (...) {
    error = std::current_exception();
  }
  copy_pieces(from, ahead, rows, slots);
  if (count > 0) note_time(asked);
  lock.lock();
  given_ = from + count;
  is_ahead_ = choice_.is_ahead();
  // It is woken when there is something to do for a while.
  const bool wakes = thread_sleeps_ && is_ahead_ && claimed_ < last_piece_ &&
                     claimed_ - given_ <= std::min(depth() / 2, depth() - 1);
  lock.unlock();
  if (wakes) to_read_.notify_one();
  if (error) std::rethrow_exception(error);
}

void ReadAhead::note_time(Clock::time_point asked) {
  const Clock::time_point given = Clock::now();
  if (last_asked_) choice_.add(asked - *last_asked_, given - asked);
  last_asked_ = asked;
}

// False when the thread does not come to its end, as on a machine that is busy with other things:
// its piece is then read here too, and what it reads is for nobody.
bool ReadAhead::wait_for(const Piece& piece) {
  constexpr auto kPatience = std::chrono::milliseconds(2);
  // To sleep and be woken takes longer than to read a small batch.
  constexpr auto kAwake = std::chrono::microseconds(20);
  const auto end = std::chrono::steady_clock::now() + kAwake;
  while (!piece.is_ready && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  if (piece.is_ready) return true;
  std::unique_lock lock(mutex_);
  caller_sleeps_ = true;
  const auto is_ready = [&] { return piece.is_ready.load(); };
  const bool ready = reader_ ? was_read_.wait_for(lock, kPatience, is_ready)
                             : (was_read_.wait(lock, is_ready), true);
  caller_sleeps_ = false;
  return ready;
}

void ReadAhead::copy_piece(const Piece& piece, std::span<const Tensor> into) {
  for (size_t i = 0; i < into.size(); ++i) {
    if (into[i].data == nullptr || piece.rows.empty()) continue;
    std::memcpy(into[i].data, piece.slots[i].data, into[i].bytes());
  }
}

void ReadAhead::copy_pieces(int64_t from, int64_t to, std::span<const int64_t> rows,
                            std::span<const Tensor> slots) {
  SlotRows views(slots);
  int64_t done = 0;
  std::exception_ptr error;
  for (int64_t number = from; number < to; ++number) {
    Piece& piece = slot_of(number);
    const bool is_ready = wait_for(piece);
    const int64_t count = part_of(number).rows;
    const auto wanted = rows.subspan(static_cast<size_t>(done), static_cast<size_t>(count));
    const std::span<const Tensor> into = views.at(done, count);
    try {
      if (!is_ready) {
        read_part(*source_, wanted, into);
      } else if (piece.error) {
        std::rethrow_exception(piece.error);
      } else {
        SNUG_CHECK(std::ranges::equal(wanted, piece.rows), "rows that were not announced");
        copy_piece(piece, into);
      }
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    done += count;
  }
  if (!error) return;
  const std::lock_guard lock(mutex_);
  given_ = claimed_ = last_piece_;  // Nothing follows.
  std::rethrow_exception(error);
}

void ReadAhead::read_part(Source& source, std::span<const int64_t> rows,
                          std::span<const Tensor> slots) {
  std::unique_lock<std::mutex> use;
  if (!reader_) use = std::unique_lock(source_use_);
  source.read_rows(rows, slots);
}

// Little is read before other threads are there. Beside the thread that reads ahead there is no
// core for them where the step leaves one.
int ReadAhead::lanes_for(int64_t pieces) const {
  constexpr int64_t kRequest = 900, kBytes = 8;           // ns of a row that is asked for; a ns.
  constexpr int64_t kLane = 6'000, kLaneBeside = 32'000;  // ns at least, for each thread.
  const auto bytes = static_cast<int64_t>(piece_bytes(options_, piece_rows_));
  const int64_t most = std::min<int64_t>(std::ssize(helpers_) + 1, pieces);
  const bool beside = is_ahead_ && depth() > 0;
  const int64_t requests = beside ? 0 : piece_rows_ * kRequest;
  const int64_t time = pieces * (requests + bytes / kBytes);
  return static_cast<int>(std::clamp<int64_t>(time / (beside ? kLaneBeside : kLane), 1, most));
}

// Piece by piece.
void ReadAhead::read_now(std::span<const int64_t> rows, std::span<const Tensor> slots,
                         size_t first) {
  const auto left = static_cast<int64_t>(rows.size() - first);
  const int64_t pieces = (left + piece_rows_ - 1) / piece_rows_;
  if (pieces == 0) return;
  parallel_rows(lanes_for(pieces), pieces, [&](int lane, int64_t piece) {
    SlotRows views(slots);
    const int64_t begin = piece * piece_rows_, count = std::min(piece_rows_, left - begin);
    const auto at = first + static_cast<size_t>(begin);
    read_part(lane == 0 ? *source_ : *helpers_[static_cast<size_t>(lane - 1)],
              rows.subspan(at, static_cast<size_t>(count)),
              views.at(static_cast<int64_t>(at), count));
  });
}

void ReadAhead::read(int field, std::span<const int64_t> rows, const Tensor& slot) {
  std::vector<Tensor> slots(fields().size());
  slots[static_cast<size_t>(field)] = slot;
  read_part(*source_, rows, slots);
}

const void* ReadAhead::borrow(int field, int64_t first, int64_t count, DType dtype) {
  return source_->borrow(field, first, count, dtype);
}

int64_t ReadAhead::next(int64_t count, std::span<const Tensor> slots) {
  stop_reading();
  return source_->next(count, slots);
}

void ReadAhead::restart() {
  stop_reading();
  source_->restart();
}

void ReadAhead::begin_pass(uint64_t pass) {
  stop_reading();
  source_->begin_pass(pass);
  for (const SourcePtr& helper : helpers_) helper->begin_pass(pass);
  if (reader_) reader_->begin_pass(pass);
}

std::string ReadAhead::place(int field, int64_t row) {
  std::unique_lock<std::mutex> use;
  if (!reader_) use = std::unique_lock(source_use_);
  return source_->place(field, row);
}

size_t ReadAhead::buffer_bytes() const {
  return source_->buffer_bytes() + needed_bytes(*source_, options_);
}

}  // namespace snug
