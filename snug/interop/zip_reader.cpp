#include <zip.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/interop/zip_archive.h"
#include "snug/interop/zip_source.h"

namespace snug {
namespace {

constexpr int64_t kMostMembers = 10'000;
// A member of more bytes may not expand more than so many times; Keras says so from 4 GiB on, which
// many a disk for temporary files does not have.
constexpr uint64_t kLargeMember = uint64_t{64} << 20;
constexpr uint64_t kMostExpansion = 100;
constexpr size_t kPiece = 1 << 16;

bool leads_out(std::string_view name) {
  if (name.empty() || name[0] == '/' || name[0] == '\\') return true;
  if (name.size() > 1 && name[1] == ':') return true;
  for (const auto& part : std::filesystem::path(name)) {
    if (part == "..") return true;
  }
  return name.find("..\\") != std::string_view::npos || name.find('\0') != std::string_view::npos;
}

std::string reason_of(zip_error_t* error) {
  std::string reason = zip_error_strerror(error);
  return reason;
}

// A stored member: libzip seeks in it.
class StoredMember final : public File {
 public:
  StoredMember(const Path& path, zip_file_t* member, int64_t bytes)
      : File(path), member_(member), bytes_(bytes) {}
  ~StoredMember() override { zip_fclose(member_); }

  int64_t size() override { return bytes_; }
  void truncate(int64_t) override { read_only(); }
  void sync() override {}
  void close() override {}

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    if (offset >= bytes_) return 0;
    if (zip_fseek(member_, offset, SEEK_SET) != 0) fail();
    const zip_int64_t count = zip_fread(member_, into.data(), into.size());
    if (count < 0) fail();
    return static_cast<size_t>(count);
  }
  size_t write_some(std::span<const std::byte>, int64_t) override { read_only(); }
  size_t append_some(std::span<const std::byte>) override { read_only(); }

 private:
  [[noreturn]] void read_only() const { throw file_error(path(), "change it", EROFS); }
  [[noreturn]] void fail() const {
    throw CorruptFile("{}: cannot read it: {}", path().string(),
                      reason_of(zip_file_get_error(member_)));
  }

  zip_file_t* member_;
  int64_t bytes_;
};

}  // namespace

struct ZipReader::Source : ZipSource {
  using ZipSource::ZipSource;
};

ZipReader::ZipReader(File& file) : file_(file), source_(std::make_unique<Source>(file)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = source_->make();
  SNUG_CHECK(source != nullptr);
  archive_ = zip_open_from_source(source, ZIP_RDONLY, &error);
  const std::string reason = reason_of(&error);
  zip_error_fini(&error);
  if (archive_ == nullptr) {
    zip_source_free(source);
    source_->rethrow();
    throw CorruptFile("{}: it is no zip archive, or damaged ({}); take another copy of it",
                      file.path().string(), reason);
  }
  try {
    const zip_int64_t count = zip_get_num_entries(archive_, 0);
    if (count > kMostMembers) fail("", fmt::format("it has {} members", count));
    for (zip_int64_t i = 0; i < count; ++i) enter(static_cast<uint64_t>(i));
  } catch (...) {
    zip_discard(archive_);
    throw;
  }
}

ZipReader::~ZipReader() { zip_discard(archive_); }

void ZipReader::fail(const std::string& member, const std::string& reason) const {
  throw CorruptFile("{}: {}{}", file_.path().string(),
                    member.empty() ? "" : fmt::format("its member \"{}\": ", member), reason);
}

void ZipReader::enter(uint64_t index) {
  zip_stat_t state;
  zip_stat_init(&state);
  if (zip_stat_index(archive_, index, 0, &state) != 0 || (state.valid & ZIP_STAT_NAME) == 0 ||
      (state.valid & ZIP_STAT_SIZE) == 0 || (state.valid & ZIP_STAT_COMP_SIZE) == 0)
    fail("", "its list of members is damaged");
  const std::string name = state.name;
  if (leads_out(name)) fail(name, "its path leads out of the archive; the file is hostile");
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  zip_file_get_external_attributes(archive_, index, 0, &system, &attributes);
  if (system == ZIP_OPSYS_UNIX && ((attributes >> 16) & 0170000) == 0120000)
    fail(name, "it is a link; the file is hostile");
  if ((state.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && state.encryption_method != ZIP_EM_NONE)
    fail(name, "it is encrypted");
  if (state.size > INT64_MAX) fail(name, "its size makes no sense");
  const bool stored = state.comp_method == ZIP_CM_STORE;
  if (stored && state.size != state.comp_size) fail(name, "its two sizes differ");
  if (state.size > kLargeMember && state.size / kMostExpansion > state.comp_size)
    fail(name, "it would expand more than a hundredfold; the file is hostile");
  if (!members_.try_emplace(name, Member{index, static_cast<int64_t>(state.size), stored}).second)
    fail(name, "it is there twice; the file is hostile");
}

std::vector<std::string> ZipReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

const ZipReader::Member& ZipReader::find(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) fail(name, "it is missing; is this a Keras model?");
  return found->second;
}

std::string ZipReader::text(const std::string& name, int64_t most) {
  const Member& member = find(name);
  if (member.bytes > most)
    fail(name, fmt::format("it has {} bytes; Snug reads up to {}", member.bytes, most));
  std::string text;
  read_through(name, member, [&](std::span<const std::byte> piece) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return text;
}

// To its end, where libzip compares the checksum.
void ZipReader::read_through(const std::string& name, const Member& member,
                             const std::function<void(std::span<const std::byte>)>& visit) {
  zip_file_t* opened = zip_fopen_index(archive_, member.index, 0);
  source_->rethrow();
  if (opened == nullptr) fail(name, reason_of(zip_get_error(archive_)));
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> closer(opened, &zip_fclose);
  std::vector<std::byte> buffer(kPiece);
  int64_t bytes = 0;
  for (;;) {
    const zip_int64_t count = zip_fread(opened, buffer.data(), buffer.size());
    source_->rethrow();
    if (count < 0) fail(name, reason_of(zip_file_get_error(opened)) + "; the file is damaged");
    if (count == 0) break;
    bytes += count;
    if (bytes > member.bytes) fail(name, "it is longer than it says; the file is hostile");
    visit({buffer.data(), static_cast<size_t>(count)});
  }
  if (bytes != member.bytes) fail(name, "it is cut off");
}

std::unique_ptr<File> ZipReader::open(const std::string& name) {
  const Member& member = find(name);
  const Path path = file_.path().string() + "/" + name;
  if (!member.stored) return inflated(name, member);
  read_through(name, member, [](std::span<const std::byte>) {});
  zip_file_t* opened = zip_fopen_index(archive_, member.index, 0);
  source_->rethrow();
  if (opened == nullptr) fail(name, reason_of(zip_get_error(archive_)));
  return std::make_unique<StoredMember>(path, opened, member.bytes);
}

std::unique_ptr<File> ZipReader::inflated(const std::string& name, const Member& member) {
  const Path temporary = std::filesystem::temp_directory_path();
  if (const int64_t room = real_files().free_bytes(temporary); member.bytes > room) {
    throw FileError("{}: its member \"{}\" is {} when inflated, but {} has {} free; set TMPDIR",
                    file_.path().string(), name, bytes_text(member.bytes), temporary.string(),
                    bytes_text(room));
  }
  // In a folder of its own, so that nobody else can have put a link there.
  std::string folder = (temporary / "snug-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw file_error(folder, "make a folder", errno);
  const Path path = Path(folder) / "inflated";
  std::unique_ptr<File> file = real_files().open(path, OpenMode::write);
  std::filesystem::remove_all(folder);  // What is open stays until it is closed.
  int64_t at = 0;
  read_through(name, member, [&](std::span<const std::byte> piece) {
    file->write_at(piece, at);
    at += std::ssize(piece);
  });
  return file;
}

}  // namespace snug
