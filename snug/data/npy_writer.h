// Writes rows to a .npy file as they are made, for predictions of any number.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "snug/base/file.h"
#include "snug/tensor/tensor.h"

namespace snug {

// float32 rows of one shape. They go to `path` + ".tmp"; finish() writes how many there are into
// the header, brings all to the disk and puts the file in its place in one step. A writer that is
// destroyed before removes what it has written and leaves an older file as it was.
class NpyWriter {
 public:
  NpyWriter(FileSystem& files, const Path& path, const Shape& row);
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  // Whole rows; throws Error, which names the file, when they are not. Throws FileError when the
  // disk fails.
  void append(std::span<const float> rows);
  void append(const Tensor& rows) { append(rows.as<float>()); }
  void finish();

  int64_t rows() const { return rows_; }
  static constexpr size_t buffer_bytes() { return size_t{64} << 10; }

 private:
  std::string header() const;
  void put(std::span<const std::byte> bytes);
  void flush();

  FileSystem& files_;
  Path path_, unfinished_;
  Shape row_;
  int64_t rows_ = 0;
  std::unique_ptr<File> file_;  // Null when finished.
  std::vector<std::byte> buffer_;
};

}  // namespace snug
