#include "snug/testing/faulty_file.h"

#include <cerrno>

namespace snug::testing {

class FaultyFile final : public File {
 public:
  FaultyFile(FaultyFiles& files, std::unique_ptr<File> inner)
      : File(inner->path()), files_(files), inner_(std::move(inner)) {}

  int64_t size() override {
    int64_t result = 0;
    files_.read(path(), [&] { result = inner_->size(); });
    return result;
  }
  void truncate(int64_t size) override {
    files_.change(path(), [&] { inner_->truncate(size); });
  }
  void allocate(int64_t size) override {
    files_.change(path(), [&] { inner_->allocate(size); });
  }
  void sync() override {
    files_.change(path(), [&] { inner_->sync(); });
  }
  void close() override {
    files_.change(path(), [&] { inner_->close(); });
  }

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    size_t count = 0;
    files_.read(path(), [&] { count = inner_->read_at(into, offset); });
    return count;
  }
  size_t write_some(std::span<const std::byte> from, int64_t offset) override {
    return write(from, [&](auto part) { inner_->write_at(part, offset); });
  }
  size_t append_some(std::span<const std::byte> from) override {
    return write(from, [&](auto part) { inner_->append(part); });
  }

 private:
  template <typename Write>
  size_t write(std::span<const std::byte> from, const Write& write_part) {
    const std::optional<Fault> fault = files_.next_fault();
    size_t count = from.size();
    if (fault == Fault::no_space) count /= 2;
    if (fault == Fault::short_write) count = (count + 1) / 2;
    if (fault == Fault::no_space) write_part(from.first(count));
    files_.run(fault, path(), [&] { write_part(from.first(count)); });
    return count;
  }

  FaultyFiles& files_;
  std::unique_ptr<File> inner_;
};

void FaultyFiles::fail_call(int64_t n, Fault fault) {
  const std::lock_guard lock(mutex_);
  failing_call_ = calls_ + n;
  fault_ = fault;
}

std::optional<Fault> FaultyFiles::next_fault() {
  const std::lock_guard lock(mutex_);
  if (is_dead_) throw Crash();
  ++calls_;
  return calls_ == failing_call_ ? std::optional(fault_) : std::nullopt;
}

std::optional<Fault> FaultyFiles::next_read_fault() {
  if (count_reads_) return next_fault();
  const std::lock_guard lock(mutex_);
  if (is_dead_) throw Crash();
  return std::nullopt;
}

void FaultyFiles::die() {
  const std::lock_guard lock(mutex_);
  is_dead_ = true;
  throw Crash();
}

void FaultyFiles::run(std::optional<Fault> fault, const Path& path,
                      const std::function<void()>& call) {
  if (fault == Fault::no_space) throw file_error(path, "do what a test forbids", ENOSPC);
  if (fault == Fault::input_output) throw file_error(path, "do what a test forbids", EIO);
  call();
  if (fault == Fault::crash) die();
}

void FaultyFiles::change(const Path& path, const std::function<void()>& call) {
  run(next_fault(), path, call);
}

void FaultyFiles::read(const Path& path, const std::function<void()>& call) {
  run(next_read_fault(), path, call);
}

std::unique_ptr<File> FaultyFiles::open(const Path& path, OpenMode mode) {
  std::unique_ptr<File> file;
  const auto call = [&] { file = inner_.open(path, mode); };
  mode == OpenMode::read ? read(path, call) : change(path, call);
  return std::make_unique<FaultyFile>(*this, std::move(file));
}

std::optional<int64_t> FaultyFiles::size(const Path& path) {
  std::optional<int64_t> result;
  read(path, [&] { result = inner_.size(path); });
  return result;
}

std::vector<std::string> FaultyFiles::list(const Path& directory) {
  std::vector<std::string> names;
  read(directory, [&] { names = inner_.list(directory); });
  return names;
}

void FaultyFiles::rename(const Path& from, const Path& to) {
  change(to, [&] { inner_.rename(from, to); });
}

bool FaultyFiles::remove(const Path& path) {
  bool was_there = false;
  change(path, [&] { was_there = inner_.remove(path); });
  return was_there;
}

void FaultyFiles::create_directories(const Path& directory) {
  change(directory, [&] { inner_.create_directories(directory); });
}

void FaultyFiles::sync_directory(const Path& directory) {
  change(directory, [&] { inner_.sync_directory(directory); });
}

int64_t FaultyFiles::free_bytes(const Path& path) {
  int64_t result = 0;
  read(path, [&] { result = inner_.free_bytes(path); });
  return result;
}

}  // namespace snug::testing
