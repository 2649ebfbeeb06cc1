// io_uring.

#include <liburing.h>

#include <cerrno>

#include "snug/base/error.h"
#include "snug/exec/spill_queue.h"

namespace snug {
namespace {

class LinuxRing final : public Ring {
 public:
  LinuxRing(const File& file) : path_(file.path()), descriptor_(file.descriptor()) {
    is_open_ = io_uring_queue_init(kRingDepth, &ring_, 0) == 0;
  }
  ~LinuxRing() override {
    if (is_open_) io_uring_queue_exit(&ring_);
  }
  LinuxRing(const LinuxRing&) = delete;
  LinuxRing& operator=(const LinuxRing&) = delete;

  bool is_open() const { return is_open_; }

  void add(const SpillOp& op, int tag) override {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      flush();
      entry = io_uring_get_sqe(&ring_);
    }
    SNUG_CHECK(entry != nullptr, "the ring is full");
    const auto bytes = static_cast<unsigned>(op.bytes);
    const auto offset = static_cast<uint64_t>(op.offset);
    if (op.writes) io_uring_prep_write(entry, descriptor_, op.memory, bytes, offset);
    if (!op.writes) io_uring_prep_read(entry, descriptor_, op.memory, bytes, offset);
    io_uring_sqe_set_data64(entry, static_cast<uint64_t>(tag));
  }

  // What the kernel does not take now, it takes with the next call.
  void flush() override {
    const int result = io_uring_submit(&ring_);
    if (result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY) return;
    throw file_error(path_, "ask for transfers", -result);
  }

  std::optional<Result> poll() override {
    io_uring_cqe* entry = nullptr;
    if (io_uring_peek_cqe(&ring_, &entry) != 0) return std::nullopt;
    return taken(entry);
  }

  Result wait() override {
    for (;;) {
      flush();
      io_uring_cqe* entry = nullptr;
      const int result = io_uring_wait_cqe(&ring_, &entry);
      if (result == 0) return taken(entry);
      if (result != -EINTR && result != -EAGAIN)
        throw file_error(path_, "wait for transfers", -result);
    }
  }

 private:
  Result taken(io_uring_cqe* entry) {
    const Result result{static_cast<int>(io_uring_cqe_get_data64(entry)), entry->res};
    io_uring_cqe_seen(&ring_, entry);
    return result;
  }

  io_uring ring_{};
  Path path_;
  int descriptor_;
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<Ring> open_ring(const File& file) {
  if (file.descriptor() < 0) return nullptr;
  auto ring = std::make_unique<LinuxRing>(file);
  return ring->is_open() ? std::move(ring) : nullptr;
}

}  // namespace snug
