#include "snug/data/gzip.h"

#include <zlib.h>

#include <algorithm>

namespace snug {
namespace {

constexpr size_t kInputBytes = size_t{64} << 10;
constexpr int kGzipWindow = 15 + 16;  // The largest window, and gzip's frame around it.

void end_stream(z_stream_s* stream) {
  inflateEnd(stream);
  delete stream;
}

}  // namespace

bool is_gzip(File& file) {
  std::byte start[2] = {};
  return file.read_at(start, 0) == 2 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b};
}

GzipReader::GzipReader(File& file)
    : file_(file), input_(kInputBytes), stream_(new z_stream_s{}, end_stream) {
  if (inflateInit2(stream_.get(), kGzipWindow) != Z_OK) throw std::bad_alloc();
}

size_t GzipReader::read(std::span<std::byte> into) {
  constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits.
  size_t done = 0;
  while (done < into.size()) {
    if (stream_->avail_in == 0 && !refill()) {
      if (ended_) break;
      fail("is cut off");
    }
    // Zeros may fill it up to a block of a tape or a disk.
    while (ended_ && stream_->avail_in > 0 && *stream_->next_in == 0) {
      ++stream_->next_in;
      --stream_->avail_in;
    }
    if (stream_->avail_in == 0) continue;
    // A file may be several streams one after the other.
    if (ended_ && inflateReset(stream_.get()) != Z_OK) fail("cannot be inflated");
    ended_ = false;
    const auto room = static_cast<uInt>(std::min(into.size() - done, kMost));
    stream_->next_out = reinterpret_cast<Bytef*>(into.data() + done);
    stream_->avail_out = room;
    const int state = inflate(stream_.get(), Z_NO_FLUSH);
    done += room - stream_->avail_out;
    if (state == Z_STREAM_END) {
      ended_ = true;
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      fail(stream_->msg != nullptr ? fmt::format("is damaged ({})", stream_->msg) : "is damaged");
    }
  }
  return done;
}

bool GzipReader::refill() {
  const size_t count = file_.read_at(input_, position_);
  position_ += static_cast<int64_t>(count);
  stream_->next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_->avail_in = static_cast<uInt>(count);
  return count > 0;
}

void GzipReader::fail(std::string_view what) const {
  throw DataError("{}: the gzip file {} at byte {}; copy or download it again",
                  file_.path().string(), what, position_ - stream_->avail_in);
}

}  // namespace snug
