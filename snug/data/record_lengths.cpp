#include "snug/data/record_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/base/temporary_file.h"
#include "snug/data/csv_table.h"

namespace snug {
namespace {

// The file: 32-bit lengths, then what they come to and the mark.
constexpr uint64_t kMark = 0x3130'6e65'6c67'7573;  // "suglen01"
constexpr size_t kPieceBytes = size_t{64} << 10;

struct Trailer {
  int64_t bytes = 0;  // Of the file that has the records.
  uint64_t hash = 0;  // Of all lengths, in order.
  uint64_t mark = kMark;
};

// What the lengths that were seen so far come to.
struct Sum {
  Trailer trailer;
  int64_t longest = 0;

  void add(uint32_t length) {
    trailer.bytes += int64_t{length} + kRecordFrameBytes;
    trailer.hash = mix_bits(trailer.hash + length + 1);
    longest = std::max<int64_t>(longest, length);
  }
};

template <typename Function>
void for_each_length(File& file, int64_t lengths_bytes, const Function& function) {
  std::vector<uint32_t> piece(kPieceBytes / sizeof(uint32_t));
  for (int64_t at = 0; at < lengths_bytes;) {
    const auto bytes = std::min<int64_t>(kPieceBytes, lengths_bytes - at);
    const std::span<uint32_t> part = std::span(piece).first(static_cast<size_t>(bytes) / 4);
    file.read_exactly_at(std::as_writable_bytes(part), at);
    for (const uint32_t length : part) function(length);
    at += bytes;
  }
}

// The bytes of the lengths in a file that is whole, and belongs to what it is asked for.
std::optional<int64_t> checked_bytes(File& kept, int64_t file_bytes, int64_t most) {
  const int64_t bytes = kept.size() - static_cast<int64_t>(sizeof(Trailer));
  if (bytes < 0 || bytes % 4 != 0) return std::nullopt;
  Trailer trailer;
  kept.read_exactly_at(std::as_writable_bytes(std::span(&trailer, 1)), bytes);
  if (trailer.mark != kMark || trailer.bytes != file_bytes) return std::nullopt;
  Sum sum;
  for_each_length(kept, bytes, [&](uint32_t length) { sum.add(length); });
  const bool whole = sum.trailer.bytes == file_bytes && sum.trailer.hash == trailer.hash;
  return whole && sum.longest <= most ? std::optional(bytes) : std::nullopt;
}

}  // namespace

Path record_lengths_path(FileSystem& files, const Path& file, const Path& cache) {
  return cache / fmt::format("{}-{:016x}.lengths", file.filename().string(),
                             mix_bits(hash_text(identity_of(files, {file}))));
}

bool read_record_lengths(FileSystem& files, const Path& kept, int64_t file_bytes, int64_t most,
                         const std::function<void(int64_t)>& visit) {
  std::unique_ptr<File> file;
  std::optional<int64_t> bytes;
  try {
    if (!files.size(kept)) return false;
    file = files.open(kept, OpenMode::read);
    bytes = checked_bytes(*file, file_bytes, most);
  } catch (const FileError&) {
    return false;
  }
  if (!bytes) return false;
  for_each_length(*file, *bytes, [&](uint32_t length) { visit(length); });
  return true;
}

class RecordLengthsWriter::Writing {
 public:
  Writing(FileSystem& files, const Path& kept) : files_(files), kept_(kept), file_(files, kept) {
    piece_.reserve(kPieceBytes / sizeof(uint32_t));
  }
  ~Writing() {
    try {
      if (!done_) files_.remove(file_.path());
    } catch (const FileError&) {
      // The next run removes it.
      done_ = false;
    }
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  void add(uint32_t length) {
    sum_.add(length);
    piece_.push_back(length);
    if (piece_.size() == piece_.capacity()) flush();
  }
  void finish() {
    flush();
    file_.file().append(std::as_bytes(std::span(&sum_.trailer, 1)));
    file_.file().sync();
    file_.file().close();
    files_.rename(file_.path(), kept_);
    done_ = true;
  }

 private:
  void flush() {
    file_.file().append(std::as_bytes(std::span(piece_)));
    piece_.clear();
  }

  FileSystem& files_;
  Path kept_;
  TemporaryFile file_;
  std::vector<uint32_t> piece_;
  Sum sum_;
  bool done_ = false;
};

RecordLengthsWriter::RecordLengthsWriter(FileSystem& files, const Path& kept) {
  if (kept.empty()) return;
  try {
    files.create_directories(kept.parent_path());
    writing_ = std::make_unique<Writing>(files, kept);
  } catch (const FileError&) {
    writing_ = nullptr;
  }
}

RecordLengthsWriter::~RecordLengthsWriter() = default;

void RecordLengthsWriter::add(int64_t length) {
  if (!writing_) return;
  try {
    writing_->add(static_cast<uint32_t>(length));
  } catch (const FileError&) {
    writing_ = nullptr;
  }
}

void RecordLengthsWriter::finish() {
  if (!writing_) return;
  try {
    writing_->finish();
  } catch (const FileError&) {
    // Nothing is kept.
  }
  writing_ = nullptr;
}

}  // namespace snug
