// The spill queue on a ring of requests.

#include <algorithm>
#include <cerrno>
#include <vector>

#include "snug/base/error.h"
#include "snug/exec/spill_queue.h"

namespace snug {
namespace {

// Large enough for the full speed of a disk, small enough to have several under way for a value.
constexpr int64_t kChunkBytes = 1 << 20;

class RingQueue final : public SpillQueue {
 public:
  RingQueue(std::unique_ptr<Ring> ring, Path path)
      : ring_(std::move(ring)), path_(std::move(path)) {
    for (int tag = kRingDepth; tag-- > 0;) free_.push_back(tag);
  }

  ~RingQueue() override { settle(); }

  void reserve(int trips) override {
    settle();
    trips_.resize(std::max<size_t>(trips_.size(), static_cast<size_t>(trips)));
    line_.resize(trips_.size() + 1);
    first_ = last_ = 0;
  }

  void start(int trip, const SpillOp& op) override {
    SNUG_CHECK(trips_.at(trip).left == 0, "trip {} starts twice", trip);
    trips_[trip] = {.left = op.bytes};
    line_[last_] = {op, trip};
    last_ = next(last_);
    poll();
  }

  void wait(int trip) override {
    poll();
    while (trips_.at(trip).left > 0) {
      take(ring_->wait());
      fill();
    }
    const int error = std::exchange(trips_[trip].error, 0);
    if (error == kEnded) {
      throw FileError("{}: it ended before all of a value was read; do not change it",
                      path_.string());
    }
    if (error != 0) throw file_error(path_, "move values to it and back", error);
  }

  void poll() override {
    while (const std::optional<Ring::Result> result = ring_->poll()) take(*result);
    fill();
  }

  void settle() override {
    for (poll(); free_.size() < kRingDepth; fill()) take(ring_->wait());
    std::ranges::fill(trips_, Trip{});
  }

 private:
  static constexpr int kEnded = -1;

  struct Trip {
    int64_t left = 0;  // Bytes that have neither been moved nor failed.
    int error = 0;
  };
  struct Chunk {
    SpillOp op;  // What is left of it.
    int trip = 0;
  };

  size_t next(size_t at) const { return at + 1 == line_.size() ? 0 : at + 1; }

  // Puts as much as there is place for into the ring, the oldest first.
  void fill() {
    bool any = false;
    while (first_ != last_ && !free_.empty()) {
      Chunk& front = line_[first_];
      const int tag = free_.back();
      free_.pop_back();
      chunks_[tag] = front;
      chunks_[tag].op.bytes = std::min(front.op.bytes, kChunkBytes);
      advance(front, chunks_[tag].op.bytes);
      if (front.op.bytes == 0) first_ = next(first_);
      ring_->add(chunks_[tag].op, tag);
      any = true;
    }
    if (any) ring_->flush();
  }

  static void advance(Chunk& chunk, int64_t bytes) {
    chunk.op.memory += bytes;
    chunk.op.offset += bytes;
    chunk.op.bytes -= bytes;
  }

  // A request may be cut short: the rest of it is asked for again.
  void take(const Ring::Result& result) {
    Chunk& chunk = chunks_[result.tag];
    Trip& trip = trips_[chunk.trip];
    const bool again = result.result == -EINTR || result.result == -EAGAIN;
    if (result.result > 0) {
      trip.left -= result.result;
      advance(chunk, result.result);
    } else if (!again) {
      if (trip.error == 0) trip.error = result.result == 0 ? kEnded : -result.result;
      trip.left -= chunk.op.bytes;
      chunk.op.bytes = 0;
    }
    if (chunk.op.bytes == 0) return free_.push_back(result.tag);
    ring_->add(chunk.op, result.tag);
    ring_->flush();
  }

  std::unique_ptr<Ring> ring_;
  Path path_;
  std::vector<Trip> trips_;
  std::vector<Chunk> line_ =
      std::vector<Chunk>(1);  // What is not in the ring yet, in a circle: from first_ up to last_.
  size_t first_ = 0, last_ = 0;
  std::array<Chunk, kRingDepth> chunks_;  // In the ring, by tag.
  std::vector<int> free_;                 // Tags.
};

}  // namespace

std::unique_ptr<SpillQueue> make_ring_queue(std::unique_ptr<Ring> ring, Path path) {
  return std::make_unique<RingQueue>(std::move(ring), std::move(path));
}

}  // namespace snug
