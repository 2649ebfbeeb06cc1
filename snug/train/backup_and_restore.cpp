#include <charconv>

#include "snug/base/error.h"
#include "snug/train/callback_definitions.h"

namespace snug {
namespace {

// A name for what fit itself does: see Callback::checkpoints.
class BackupAndRestoreDefinition final : public CallbackDefinition {
 public:
  BackupAndRestoreDefinition(const Path& backup_dir, const BackupAndRestoreOptions& options,
                             FileSystem& files)
      : backup_dir_(backup_dir), options_(options), files_(files) {
    steps();
  }

  std::string_view class_name() const override { return "BackupAndRestore"; }
  void settings(SettingVisitor& visitor) override {
    std::string directory = backup_dir_.string();
    visitor.visit("backup_dir", directory);
    backup_dir_ = directory;
    visitor.visit("save_freq", options_.save_freq);
    visitor.visit("double_checkpoint", options_.double_checkpoint);
    visitor.visit("delete_checkpoint", options_.delete_checkpoint);
    steps();
  }

  std::optional<CheckpointOptions> checkpoints() const override {
    if (backup_dir_.empty()) throw Error("BackupAndRestore: it has no backup_dir; give one");
    return CheckpointOptions{.directory = backup_dir_,
                             .every_seconds = 0,
                             .every_steps = steps(),
                             .every_epochs = steps() == 0 ? 1 : 0,
                             .keep = options_.double_checkpoint ? 2 : 1,
                             .best = {},
                             .delete_at_end = options_.delete_checkpoint,
                             .files = &files_};
  }

 private:
  // Between two saves; 0: epochs. Throws Error where save_freq is neither.
  int64_t steps() const {
    const std::string& text = options_.save_freq;
    if (text == "epoch") return 0;
    int64_t steps = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
    if (error == std::errc() && end == text.data() + text.size() && steps > 0) return steps;
    throw Error("BackupAndRestore: save_freq is \"{}\"; it must be \"epoch\" or a number of steps",
                text);
  }

  Path backup_dir_;
  BackupAndRestoreOptions options_;
  FileSystem& files_;
};

}  // namespace

std::shared_ptr<CallbackDefinition> make_backup_and_restore(const Path& backup_dir,
                                                            const BackupAndRestoreOptions& options,
                                                            FileSystem& files) {
  return std::make_shared<BackupAndRestoreDefinition>(backup_dir, options, files);
}

CallbackPtr BackupAndRestore(const Path& backup_dir, const BackupAndRestoreOptions& options,
                             FileSystem& files) {
  if (backup_dir.empty()) throw Error("BackupAndRestore: backup_dir is empty; give a directory");
  return make_backup_and_restore(backup_dir, options, files);
}

}  // namespace snug
