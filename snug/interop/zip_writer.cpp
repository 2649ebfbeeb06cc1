#include <zip.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "snug/base/error.h"
#include "snug/interop/zip_archive.h"
#include "snug/interop/zip_source.h"

namespace snug {
namespace {

// A member's bytes, in order. What it throws is kept, as in ZipSource.
class MemberSource {
 public:
  explicit MemberSource(const ZipMember& member) : member_(member) {}

  zip_source_t* make() { return zip_source_function_create(&MemberSource::call, this, nullptr); }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    auto* source = static_cast<MemberSource*>(self);
    try {
      return source->answer(data, length, command);
    } catch (...) {
      source->error_ = std::current_exception();
      return -1;
    }
  }

  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        at_ = 0;
        return 0;
      case ZIP_SOURCE_READ: {
        const int64_t count = std::min(static_cast<int64_t>(length), member_.bytes - at_);
        member_.read({static_cast<std::byte*>(data), static_cast<size_t>(count)}, at_);
        at_ += count;
        return count;
      }
      case ZIP_SOURCE_STAT: {
        auto* state = static_cast<zip_stat_t*>(data);
        zip_stat_init(state);
        state->size = static_cast<zip_uint64_t>(member_.bytes);
        state->valid |= ZIP_STAT_SIZE;
        return sizeof(*state);
      }
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_READABLE;
      case ZIP_SOURCE_ERROR:
        std::memset(data, 0, 2 * sizeof(int));
        *static_cast<int*>(data) = ZIP_ER_READ;
        return 2 * sizeof(int);
      default:
        return -1;
    }
  }

  const ZipMember& member_;
  std::exception_ptr error_;
  int64_t at_ = 0;
};

// As Keras's archives have it: the first day that DOS knows.
constexpr zip_uint16_t kFirstDay = (1 << 5) | 1;

}  // namespace

ZipMember text_member(std::string name, std::string text) {
  const auto bytes = std::ssize(text);
  return {std::move(name), bytes,
          [text = std::move(text)](std::span<std::byte> into, int64_t offset) {
            std::memcpy(into.data(), text.data() + offset, into.size());
          }};
}

void write_zip(File& file, const std::vector<ZipMember>& members) {
  ZipSource target(file);
  zip_error_t error;
  zip_error_init(&error);
  zip_t* archive = zip_open_from_source(target.make(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  target.rethrow();
  if (archive == nullptr)
    throw FileError("{}: cannot begin an archive: {}", file.path().string(),
                    zip_error_strerror(&error));
  std::vector<std::unique_ptr<MemberSource>> sources;
  for (const ZipMember& member : members) {
    sources.push_back(std::make_unique<MemberSource>(member));
    const zip_int64_t index =
        zip_file_add(archive, member.name.c_str(), sources.back()->make(), ZIP_FL_ENC_UTF_8);
    SNUG_CHECK(index >= 0, "{}: {}", member.name, zip_strerror(archive));
    const auto at = static_cast<zip_uint64_t>(index);
    zip_set_file_compression(archive, at, ZIP_CM_STORE, 0);
    zip_file_set_dostime(archive, at, 0, kFirstDay, 0);
  }
  if (zip_close(archive) == 0) return;
  const std::string reason = zip_strerror(archive);
  zip_discard(archive);
  target.rethrow();
  for (const auto& source : sources) source->rethrow();
  throw FileError("{}: cannot write the archive: {}", file.path().string(), reason);
}

}  // namespace snug
