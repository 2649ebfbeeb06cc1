#include "snug/train/run_log.h"

#include "snug/base/error.h"

namespace snug {

void RunLog::write() {
  try {
    file_->flush();
    trouble_.worked();
  } catch (const FileError& error) {
    trouble_.failed(
        fmt::format("{}: {}. Training goes on, and what is to be written is kept until it can be",
                    owner_, error.what()));
  }
}

void RunLog::close() {
  if (!file_) return;
  write();
  if (!file_->pending().empty() || file_->lost() > 0) {
    log_message(LogLevel::warning, "{}: {} is not complete, for the disk has failed", owner_,
                file_->path().string());
  }
  file_.reset();
}

void RunLog::state(const std::string& name, StateVisitor& visitor, const Path& path) {
  std::string was_at = file_ ? file_->path().string() : "";
  int64_t bytes = file_ ? file_->bytes() : 0;
  std::string pending = file_ ? file_->pending() : "";
  if (file_) visitor.sync_first(file_->file());
  visitor.visit(name + ".path", was_at);
  visitor.visit(name + ".bytes", bytes);
  visitor.visit(name + ".pending", pending);
  if (!visitor.reads()) return;
  file_.reset();
  if (was_at.empty()) return;
  file_.emplace(files_, path.empty() ? Path(was_at) : path, OpenMode::append);
  if (file_->go_back(bytes, std::move(pending))) return;
  log_message(LogLevel::warning,
              "{}: {} has lost a part since the checkpoint was written; what comes follows what is "
              "there",
              owner_, file_->path().string());
}

}  // namespace snug
