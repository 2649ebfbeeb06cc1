// An op made ready for fixed types on a fixed target: what runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace snug {

// Where kernels run. Today: this CPU, with a number of threads.
struct Target {
  int threads = 1;
};

// What one step knows beside its values. Random numbers are drawn from it and from nothing else.
struct StepInfo {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;  // Of the batch's first row in the epoch.
};

// What a kernel sees while it runs. All pointers are aligned to 64 bytes at the start of a whole
// value; a part of a value starts where its rows start.
struct Run {
  const void* const* in = nullptr;
  void* const* out = nullptr;
  void* scratch = nullptr;         // scratch_bytes(), dirty.
  const void* prepared = nullptr;  // What prepare() made.
  const StepInfo* step = nullptr;
  int64_t first_row = 0;    // Of this part within the batch.
  int lane = 0;             // Below compile()'s lanes; no two runs with one lane at a time.
  bool accumulate = false;  // Add to the outputs; only where accumulates().

  template <typename T = float>
  const T* input(int i) const {
    return static_cast<const T*>(in[i]);
  }
  template <typename T = float>
  T* output(int i = 0) const {
    return static_cast<T*>(out[i]);
  }
};

// Made while a plan is made, which reads its needs; compiled once when a program is bound; then it
// only runs.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Bytes that a run may use as it likes.
  virtual size_t scratch_bytes() const { return 0; }

  // The inputs that this output may be written over, element by element or row by row.
  virtual std::vector<int> overwrites(int /*output*/) const { return {}; }

  // Whether run() can add to outputs that are sums over rows. Where it cannot, the program adds for
  // it.
  virtual bool accumulates() const { return false; }

  // Bytes of a form of the inputs without rows (weights) that is made once a step and read by every
  // part.
  virtual size_t prepared_bytes() const { return 0; }
  // Makes it. `in` of inputs with rows is null.
  virtual void prepare(const Run& /*run*/, void* /*prepared*/) const noexcept {}

  // Creates what the runs of that many lanes need. May allocate; run() may not.
  virtual void compile(int /*lanes*/) {}

  // At most about what compile() took beside this object.
  virtual int64_t compiled_bytes() const { return 0; }

  // Of a compiled one that is kept for later: between rest() and wake() it does not run, and
  // nothing of it may slow the process down.
  virtual void rest() noexcept {}
  virtual void wake() noexcept {}

  virtual void run(const Run& run) const noexcept = 0;
};

}  // namespace snug
