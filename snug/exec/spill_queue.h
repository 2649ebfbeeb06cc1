// Transfers between the arena and the spill file, beside the computation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "snug/base/file.h"

namespace snug {

// Whole pages of memory and of the file.
struct SpillOp {
  bool writes = false;
  std::byte* memory = nullptr;
  int64_t bytes = 0;
  int64_t offset = 0;
};

// One thread starts transfers and waits for them; each has a number, its trip, which is free again
// when it was waited for. They are carried out in the order of their starts, more or less. Nothing
// is allocated but for errors. The destructor waits for all that is under way.
class SpillQueue {
 public:
  virtual ~SpillQueue() = default;

  // Room for trips 0 to trips - 1; while nothing is under way.
  virtual void reserve(int trips) = 0;
  virtual void start(int trip, const SpillOp& op) = 0;
  // Returns when the transfer has ended. Throws FileError when it has failed.
  virtual void wait(int trip) = 0;
  // Lets transfers that wait for others go on; cheap enough to be called between any two nodes.
  virtual void poll() {}
  // Waits for all that a run left under way when it threw.
  virtual void settle() = 0;
};

// By a thread of its own. The file must outlive it.
std::unique_ptr<SpillQueue> make_thread_queue(File& file);

// What the kernel does with requests that were put into a ring; of one file.
class Ring {
 public:
  struct Result {
    int tag = 0;
    int result = 0;  // The bytes that were moved, or an error number below 0.
  };

  virtual ~Ring() = default;
  // At most kRingDepth at a time. They begin with the next flush.
  virtual void add(const SpillOp& op, int tag) = 0;
  virtual void flush() = 0;
  virtual std::optional<Result> poll() = 0;
  // The next result; there must be something under way.
  virtual Result wait() = 0;
};

inline constexpr int kRingDepth = 64;

// Null where the system has no io_uring, or does not allow it.
std::unique_ptr<Ring> open_ring(const File& file);
std::unique_ptr<SpillQueue> make_ring_queue(std::unique_ptr<Ring> ring, Path path);

}  // namespace snug
