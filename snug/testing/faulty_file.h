// A disk that fails when it is told to.
#pragma once

#include <functional>
#include <mutex>

#include "snug/base/file.h"

namespace snug::testing {

enum class Fault {
  no_space,      // ENOSPC: half of a write is done, any other call is without effect.
  input_output,  // EIO, without effect.
  short_write,   // Half of a write, which the caller must go on with; other calls succeed.
  crash,  // The call succeeds, then the machine is dead: this and all later calls throw Crash.
};

// Not a std::exception, so that nothing but the test catches it by its kind.
struct Crash {};

// Passes every call on to `inner` and lets the n-th one fail. Calls are opens, writes, syncs,
// changes of size, closes, renames, removals and new directories, those of its files included;
// questions and reads are counted when `count_reads` is set.
class FaultyFiles final : public FileSystem {
 public:
  explicit FaultyFiles(FileSystem& inner) : inner_(inner) {}

  // The n-th call from now, counted from 1.
  void fail_call(int64_t n, Fault fault);
  void set_count_reads(bool on) { count_reads_ = on; }
  // The calls so far: run once without a fault to learn how many points of failure there are.
  int64_t calls() const { return calls_; }

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override;
  std::optional<int64_t> size(const Path& path) override;
  std::vector<std::string> list(const Path& directory) override;
  void rename(const Path& from, const Path& to) override;
  bool remove(const Path& path) override;
  void create_directories(const Path& directory) override;
  void sync_directory(const Path& directory) override;
  int64_t free_bytes(const Path& path) override;

 private:
  friend class FaultyFile;

  // Counts one call and says what is to happen to it; throws Crash if the machine is dead.
  std::optional<Fault> next_fault();
  std::optional<Fault> next_read_fault();
  // One call that changes something, or only reads, with the fault that is due.
  void change(const Path& path, const std::function<void()>& call);
  void read(const Path& path, const std::function<void()>& call);
  void run(std::optional<Fault> fault, const Path& path, const std::function<void()>& call);
  [[noreturn]] void die();

  FileSystem& inner_;
  std::mutex mutex_;
  int64_t calls_ = 0;
  int64_t failing_call_ = 0;
  Fault fault_ = Fault::crash;
  bool count_reads_ = false;
  bool is_dead_ = false;
};

}  // namespace snug::testing
