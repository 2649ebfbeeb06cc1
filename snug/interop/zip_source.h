// Our files as libzip's sources.
#pragma once

#include <zip.h>

#include <exception>
#include <memory>

#include "snug/base/file.h"

namespace snug {

// A file that libzip reads or writes through a callback of C. What the file throws cannot pass
// through C: it is kept, and rethrown when libzip has returned.
class ZipSource {
 public:
  explicit ZipSource(File& file) : file_(file) {}

  // The state, which must outlive the source that is made from it.
  zip_source_t* make();
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command);
  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command);
  zip_int64_t seek(void* data, zip_uint64_t length, int64_t& position);
  zip_int64_t state(void* data, zip_uint64_t length);

  File& file_;
  std::exception_ptr error_;
  zip_error_t zip_error_{};
  int64_t read_at_ = 0, write_at_ = 0, written_ = 0;
  bool wrote_ = false;
};

}  // namespace snug
