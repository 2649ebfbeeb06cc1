// Which pages of code and constants, out of the files of this process, are resident.
#pragma once

#include <cstdint>
#include <vector>

namespace snug {

// Pages of mapped files that cannot be written. What was never touched, or was given back, is
// brought by the system when it is touched: so they say what a process has done.
class FilePages {
 public:
  // Those that are resident now; none where the system does not say.
  static FilePages resident();

  int64_t bytes() const;
  FilePages plus(const FilePages& others) const;
  FilePages minus(const FilePages& others) const;

  // Lets the system have them. Nothing is lost: they are read-only, and still in their files.
  void give_back() const;
  // Makes those resident that are not; they must be mapped still.
  void touch() const;

 private:
  struct Run {
    uint64_t first = 0, end = 0;  // Numbers of pages.
  };
  void add(Run run);

  std::vector<Run> runs_;  // In order, apart from each other.
};

}  // namespace snug
