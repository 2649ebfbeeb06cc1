// Zip archives through libzip, on our own files: faults can be injected below it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "snug/base/file.h"

struct zip;

namespace snug {

// An archive that is read. Nothing is ever extracted to a path that it names.
class ZipReader {
 public:
  // Throws Error for what is no zip archive, and for one with a member twice, with a path that
  // leads out of it, with a link, with encryption, or with a member of more than 64 MiB that
  // expands more than a hundredfold. `file` must outlive it.
  explicit ZipReader(File& file);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  bool has(const std::string& member) const { return members_.contains(member); }
  // The names, sorted.
  std::vector<std::string> names() const;
  // A whole member of up to `most` bytes.
  std::string text(const std::string& member, int64_t most);
  // A member for reading anywhere in it, checked against its checksum first. A compressed one is
  // inflated into a temporary file without a name in the system's folder for these; throws
  // FileError where that has no room. The reader must outlive it.
  std::unique_ptr<File> open(const std::string& member);

 private:
  struct Member {
    uint64_t index = 0;
    int64_t bytes = 0;
    bool stored = true;
  };
  void enter(uint64_t index);
  const Member& find(const std::string& name) const;
  [[noreturn]] void fail(const std::string& member, const std::string& reason) const;
  void read_through(const std::string& name, const Member& member,
                    const std::function<void(std::span<const std::byte>)>& visit);
  std::unique_ptr<File> inflated(const std::string& name, const Member& member);

  struct Source;
  File& file_;
  std::unique_ptr<Source> source_;
  zip* archive_ = nullptr;
  std::map<std::string, Member> members_;
};

// A member that is written: its bytes are asked for in order, in pieces.
struct ZipMember {
  std::string name;
  int64_t bytes = 0;
  std::function<void(std::span<std::byte> into, int64_t offset)> read;
};
ZipMember text_member(std::string name, std::string text);

// Writes an archive of stored members, in this order. Throws what `file` and the members throw.
void write_zip(File& file, const std::vector<ZipMember>& members);

}  // namespace snug
