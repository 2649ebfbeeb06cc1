// A directory of checkpoints: the newest ones, and perhaps the best.
#pragma once

#include <memory>
#include <optional>

#include "snug/base/file_lock.h"
#include "snug/base/repeated_warning.h"
#include "snug/train/checkpoint_file.h"
#include "snug/train/checkpoint_options.h"

namespace snug {

class CheckpointStore {
 public:
  // Makes the directory, keeps other processes out of it and removes what a killed one left
  // half-written. Throws FileError.
  explicit CheckpointStore(const CheckpointOptions& options);

  // Those of steps, the newest first.
  std::vector<Path> newest_first() const;
  // The newest one that can be read and whose checksums are right. Warns of the newer ones, and
  // renames them to *.bad, so that they are not among those to keep. Nullopt: none; then all stay.
  std::optional<Path> newest_good();
  Path best() const { return options_.directory / "best.ckpt"; }

  // Throws FileError where the disk has no room for as many checkpoints of this size as will stand
  // there at one moment.
  void expect_room(int64_t checkpoint_bytes) const;

  // Saves under the number of a step and removes what is older than the ones to keep; or as the
  // best. A disk that fails is warned of, and again from time to time; nothing good is removed, and
  // the caller goes on: false.
  bool save(int64_t step, const std::vector<CheckpointSection>& sections,
            const std::vector<CheckpointVariable>& variables);
  bool save_best(const std::vector<CheckpointSection>& sections,
                 const std::vector<CheckpointVariable>& variables);
  // All of them, damaged ones too. Warns where the disk fails.
  void remove_all();
  // Something else that a save needs has failed.
  void warn(const std::string& reason);

 private:
  bool write(const Path& path, const std::vector<CheckpointSection>& sections,
             const std::vector<CheckpointVariable>& variables);
  int64_t bytes_to_go() const;
  void remove_old();
  void put_aside(const std::vector<Path>& damaged);

  CheckpointOptions options_;
  FileSystem& files_;
  std::unique_ptr<FileLock> lock_;
  RepeatedWarning trouble_;
};

}  // namespace snug
