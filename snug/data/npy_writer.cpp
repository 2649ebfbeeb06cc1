#include "snug/data/npy_writer.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {
namespace {

// Room for the largest shape; NumPy wants a multiple of 64.
constexpr size_t kHeaderBytes = 256;

}  // namespace

NpyWriter::NpyWriter(FileSystem& files, const Path& path, const Shape& row)
    : files_(files), path_(path), unfinished_(path), row_(row) {
  unfinished_ += ".tmp";
  buffer_.reserve(buffer_bytes());
  file_ = files_.open(unfinished_, OpenMode::write);
  const std::string first = header();  // As long as the last one.
  put(std::as_bytes(std::span(first)));
}

NpyWriter::~NpyWriter() {
  if (file_ == nullptr) return;
  file_.reset();
  try {
    files_.remove(unfinished_);
  } catch (const Error&) {
    // Whoever gave up the file has been told why.
    return;
  }
}

std::string NpyWriter::header() const {
  std::string shape = fmt::format("({},", rows_);
  for (const Extent extent : row_.extents()) shape += fmt::format(" {},", extent.count);
  if (row_.rank() > 0) shape.pop_back();
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}), }}", shape);
  constexpr size_t kTextBytes = kHeaderBytes - 10;
  SNUG_CHECK(text.size() < kTextBytes);
  text.resize(kTextBytes - 1, ' ');
  const std::string start{'\x93',
                          'N',
                          'U',
                          'M',
                          'P',
                          'Y',
                          1,
                          0,
                          static_cast<char>(kTextBytes & 0xff),
                          static_cast<char>(kTextBytes >> 8)};
  return start + text + "\n";
}

void NpyWriter::append(std::span<const float> rows) {
  SNUG_CHECK(file_ != nullptr, "rows for a file that is finished");
  const int64_t per_row = row_.size();
  if (per_row == 0 || std::ssize(rows) % per_row != 0) {
    throw Error("{}: {} numbers are no whole rows of the shape {}", path_.string(), rows.size(),
                row_.text());
  }
  put(std::as_bytes(rows));
  rows_ += std::ssize(rows) / per_row;
}

void NpyWriter::put(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > buffer_bytes()) flush();
  if (bytes.size() > buffer_bytes()) {
    file_->append(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void NpyWriter::flush() {
  file_->append(buffer_);
  buffer_.clear();
}

void NpyWriter::finish() {
  SNUG_CHECK(file_ != nullptr, "a file that is finished already");
  flush();
  const std::string last = header();
  file_->write_at(std::as_bytes(std::span(last)), 0);
  file_->sync();
  file_->close();
  files_.rename(unfinished_, path_);
  file_.reset();
  files_.sync_directory(path_.parent_path());
}

}  // namespace snug
