// When a run saves its state, and where.
#pragma once

#include <cstdint>
#include <string>

#include "snug/base/file.h"

namespace snug {

struct CheckpointOptions {
  Path directory;             // Empty: nothing is saved.
  double every_seconds = 60;  // 0: not by time.
  int64_t every_steps = 0;    // 0: not by steps.
  int64_t every_epochs = 0;   // 0: not by epochs. The end of the run is always saved.
  int64_t keep = 2;           // The newest so many are kept.
  // A name of the logs: the checkpoint of the epoch with the best value is kept as best.ckpt.
  std::string best;
  std::string best_mode = "auto";  // As a callback's `mode`.
  bool delete_at_end = false;      // When training has come to its end.
  // Copy the state and write it while training goes on, where the budget leaves room for the copy;
  // false: always write it from where it stands, while training waits.
  bool beside = true;
  FileSystem* files = &real_files();

  bool is_on() const { return !directory.empty(); }
  void check() const;  // Throws Error when the numbers make no sense.
};

}  // namespace snug
