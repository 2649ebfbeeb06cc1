#include "snug/testing/memory_files.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <random>
#include <set>

namespace snug::testing {
namespace {

std::string key_of(const Path& directory) {
  std::string key = directory.lexically_normal().string();
  while (key.ends_with('/') && key.size() > 1) key.pop_back();
  return key == "." ? "" : key;
}

void apply(Bytes& content, const PendingWrite& write, size_t count) {
  if (write.size) {
    content.resize(static_cast<size_t>(*write.size));
    return;
  }
  const auto end = static_cast<size_t>(write.offset) + count;
  if (content.size() < end) content.resize(end);
  std::copy_n(write.bytes.begin(), count, content.begin() + write.offset);
}

void do_write(MemoryInode& inode, PendingWrite write) {
  apply(inode.now, write, write.bytes.size());
  inode.pending.push_back(std::move(write));
}

class MemoryFile final : public File {
 public:
  MemoryFile(const Path& path, std::shared_ptr<MemoryInode> inode, std::mutex& mutex, bool writable)
      : File(path), inode_(std::move(inode)), mutex_(mutex), writable_(writable) {}

  int64_t size() override {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(inode_->now.size());
  }

  void truncate(int64_t size) override {
    const std::lock_guard lock(mutex_);
    do_write(*inode_, {.size = size});
  }

  void sync() override {
    const std::lock_guard lock(mutex_);
    inode_->on_disk = inode_->now;
    inode_->pending.clear();
  }

  void close() override {}

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    const std::lock_guard lock(mutex_);
    const auto size = static_cast<int64_t>(inode_->now.size());
    const auto count =
        std::min(into.size(), static_cast<size_t>(std::max<int64_t>(size - offset, 0)));
    if (count > 0) std::copy_n(inode_->now.begin() + offset, count, into.begin());
    return count;
  }

  size_t write_some(std::span<const std::byte> from, int64_t offset) override {
    if (!writable_) throw file_error(path(), "write to it", EBADF);
    const std::lock_guard lock(mutex_);
    do_write(*inode_, {.offset = offset, .bytes = Bytes(from.begin(), from.end())});
    return from.size();
  }

  size_t append_some(std::span<const std::byte> from) override { return write_some(from, size()); }

 private:
  std::shared_ptr<MemoryInode> inode_;
  std::mutex& mutex_;
  bool writable_;
};

// What is left of a file when all but a part of its pending bytes is lost.
Bytes survivor(const MemoryInode& inode, double part) {
  size_t left = 0;
  for (const PendingWrite& write : inode.pending) left += std::max<size_t>(write.bytes.size(), 1);
  left = static_cast<size_t>(part * static_cast<double>(left));
  Bytes content = inode.on_disk;
  for (const PendingWrite& write : inode.pending) {
    if (left == 0) break;
    const size_t count = std::min(left, write.bytes.size());
    apply(content, write, count);
    left -= std::min(left, std::max<size_t>(write.bytes.size(), 1));
  }
  return content;
}

}  // namespace

MemoryFiles::Directory& MemoryFiles::directory_of(const Path& path) {
  const auto found = directories_.find(key_of(path.parent_path()));
  if (found == directories_.end()) throw file_error(path, "reach it", ENOENT);
  return found->second;
}

// A new state of the directory of `path`, to be changed by the caller.
Names& MemoryFiles::changed(const Path& path) {
  Directory& directory = directory_of(path);
  directory.states.emplace_back(directory.now());
  return directory.now();
}

std::shared_ptr<MemoryInode> MemoryFiles::find(const Path& path) {
  const auto directory = directories_.find(key_of(path.parent_path()));
  if (directory == directories_.end()) return nullptr;
  const Names& names = directory->second.now();
  const auto found = names.find(path.filename().string());
  return found == names.end() ? nullptr : found->second;
}

std::unique_ptr<File> MemoryFiles::open(const Path& path, OpenMode mode) {
  const std::lock_guard lock(mutex_);
  if (mode == OpenMode::scratch) {
    return std::make_unique<MemoryFile>(path, std::make_shared<MemoryInode>(), mutex_, true);
  }
  std::shared_ptr<MemoryInode> inode = find(path);
  if (!inode && mode == OpenMode::read) throw file_error(path, "open it", ENOENT);
  if (!inode) {
    inode = std::make_shared<MemoryInode>();
    changed(path)[path.filename().string()] = inode;
  } else if (mode == OpenMode::write) {
    do_write(*inode, {.size = 0});
  }
  return std::make_unique<MemoryFile>(path, inode, mutex_, mode != OpenMode::read);
}

std::optional<int64_t> MemoryFiles::size(const Path& path) {
  const std::lock_guard lock(mutex_);
  const auto inode = find(path);
  if (!inode) return std::nullopt;
  return static_cast<int64_t>(inode->now.size());
}

std::vector<std::string> MemoryFiles::list(const Path& directory) {
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(directory);
  if (!directories_.contains(key)) throw file_error(directory, "list it", ENOENT);
  std::set<std::string> names;
  for (const auto& [name, inode] : directories_[key].now()) names.insert(name);
  for (const auto& [name, contents] : directories_) {
    if (!name.empty() && name != key && key_of(Path(name).parent_path()) == key) {
      names.insert(Path(name).filename().string());
    }
  }
  return {names.begin(), names.end()};
}

void MemoryFiles::rename(const Path& from, const Path& to) {
  const std::lock_guard lock(mutex_);
  const auto inode = find(from);
  if (!inode) throw file_error(to, "put " + from.string() + " in its place", ENOENT);
  Names& names = changed(to);
  names[to.filename().string()] = inode;
  // Within one directory a rename is one change, so no crash can show half of it.
  const bool in_one_directory = key_of(from.parent_path()) == key_of(to.parent_path());
  (in_one_directory ? names : changed(from)).erase(from.filename().string());
}

bool MemoryFiles::remove(const Path& path) {
  const std::lock_guard lock(mutex_);
  if (!find(path)) return false;
  changed(path).erase(path.filename().string());
  return true;
}

void MemoryFiles::create_directories(const Path& directory) {
  const std::lock_guard lock(mutex_);
  for (Path path = directory.lexically_normal(); !key_of(path).empty(); path = path.parent_path()) {
    directories_.try_emplace(key_of(path));
    if (path == path.parent_path()) break;
  }
}

void MemoryFiles::sync_directory(const Path& directory) {
  const std::lock_guard lock(mutex_);
  Directory& synced = directory_of(directory / "any");
  synced.states.erase(synced.states.begin(), synced.states.end() - 1);
}

int64_t MemoryFiles::free_bytes(const Path&) { return int64_t{1} << 40; }

std::unique_ptr<MemoryFiles> MemoryFiles::after_crash(uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed);
  const auto part = [&] {
    if (seed < 2) return static_cast<double>(seed);
    return std::uniform_real_distribution<double>(0.0, 1.0)(random);
  };
  auto disk = std::make_unique<MemoryFiles>();
  std::map<const MemoryInode*, std::shared_ptr<MemoryInode>> survivors;
  for (const auto& [key, directory] : directories_) {
    const auto last = static_cast<double>(directory.states.size() - 1);
    const Names& names = directory.states[static_cast<size_t>(std::lround(part() * last))];
    Names& after = disk->directories_[key].now();
    for (const auto& [name, inode] : names) {
      std::shared_ptr<MemoryInode>& copy = survivors[inode.get()];
      if (!copy) {
        const Bytes content = survivor(*inode, part());
        copy = std::make_shared<MemoryInode>(MemoryInode{content, content, {}});
      }
      after[name] = copy;
    }
  }
  return disk;
}

std::string read_text(FileSystem& files, const Path& path) {
  const auto file = files.open(path, OpenMode::read);
  std::string text(static_cast<size_t>(file->size()), '\0');
  file->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

void write_text(FileSystem& files, const Path& path, std::string_view text) {
  const auto file = files.open(path, OpenMode::write);
  file->append(std::as_bytes(std::span(text)));
  file->sync();
  files.sync_directory(path.parent_path());
}

}  // namespace snug::testing
