#include "snug/interop/zip_source.h"

#include <algorithm>
#include <cerrno>

namespace snug {

zip_source_t* ZipSource::make() {
  zip_error_init(&zip_error_);
  return zip_source_function_create(&ZipSource::call, this, &zip_error_);
}

zip_int64_t ZipSource::call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto* source = static_cast<ZipSource*>(self);
  try {
    return source->answer(data, length, command);
  } catch (...) {
    source->error_ = std::current_exception();
    zip_error_set(&source->zip_error_, ZIP_ER_READ, EIO);
    return -1;
  }
}

zip_int64_t ZipSource::answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto* bytes = static_cast<std::byte*>(data);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      read_at_ = 0;
      return 0;
    case ZIP_SOURCE_READ: {
      const size_t count = file_.read_at({bytes, length}, read_at_);
      read_at_ += static_cast<int64_t>(count);
      return static_cast<zip_int64_t>(count);
    }
    case ZIP_SOURCE_SEEK:
      return seek(data, length, read_at_);
    case ZIP_SOURCE_TELL:
      return read_at_;
    case ZIP_SOURCE_STAT:
      return state(data, length);
    case ZIP_SOURCE_BEGIN_WRITE:
      write_at_ = written_ = 0;
      return 0;
    case ZIP_SOURCE_WRITE:
      file_.write_at({bytes, length}, write_at_);
      write_at_ += static_cast<int64_t>(length);
      written_ = std::max(written_, write_at_);
      return static_cast<zip_int64_t>(length);
    case ZIP_SOURCE_SEEK_WRITE:
      return seek(data, length, write_at_);
    case ZIP_SOURCE_TELL_WRITE:
      return write_at_;
    case ZIP_SOURCE_COMMIT_WRITE:
      wrote_ = true;
      return 0;
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&zip_error_, data, length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_WRITABLE;
    default:
      zip_error_set(&zip_error_, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

zip_int64_t ZipSource::seek(void* data, zip_uint64_t length, int64_t& position) {
  const int64_t size = &position == &write_at_ ? written_ : file_.size();
  const zip_int64_t to =
      zip_source_seek_compute_offset(static_cast<zip_uint64_t>(position),
                                     static_cast<zip_uint64_t>(size), data, length, &zip_error_);
  if (to < 0) return -1;
  position = to;
  return 0;
}

zip_int64_t ZipSource::state(void* data, zip_uint64_t length) {
  zip_stat_t* state = ZIP_SOURCE_GET_ARGS(zip_stat_t, data, length, &zip_error_);
  if (state == nullptr) return -1;
  zip_stat_init(state);
  state->size = static_cast<zip_uint64_t>(wrote_ ? written_ : file_.size());
  state->valid |= ZIP_STAT_SIZE;
  return sizeof(*state);
}

}  // namespace snug
