#include "snug/data/tfrecord.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/byte_reader.h"
#include "snug/data/file_chain.h"
#include "snug/data/file_state.h"
#include "snug/data/random_source.h"
#include "snug/data/record_lengths.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t crc32c_by_table(uint32_t crc, std::span<const std::byte> bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  for (const std::byte byte : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
// The processor has an instruction for just this polynomial.
__attribute__((target("sse4.2"))) uint32_t crc32c_by_words(uint32_t crc,
                                                           std::span<const std::byte> bytes) {
  uint64_t wide = crc;
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = __builtin_ia32_crc32di(wide, word);
    bytes = bytes.subspan(8);
  }
  return crc32c_by_table(static_cast<uint32_t>(wide), bytes);
}
#endif

uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has_words = __builtin_cpu_supports("sse4.2") != 0;
  if (has_words) return ~crc32c_by_words(~crc, bytes);
#endif
  return ~crc32c_by_table(~crc, bytes);
}

uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// A file or its inflated copy, read front to back.
class RecordReader {
 public:
  RecordReader(FileSystem& files, const Path& path, std::string name, int64_t most_bytes)
      : name_(std::move(name)), bytes_(files, path), most_bytes_(most_bytes), buffer_(kPiece) {}

  // The place of the next record's data, when all of it has been checked; nullopt at the end.
  struct Place {
    int64_t offset = 0, bytes = 0;
  };
  std::optional<Place> next() {
    std::array<std::byte, 12> head{};
    const size_t had = read(head);
    if (had == 0) return std::nullopt;
    if (had < head.size()) fail("is cut off in its length");
    uint64_t length = 0;
    uint32_t crc = 0;
    std::memcpy(&length, head.data(), 8);
    std::memcpy(&crc, head.data() + 8, 4);
    if (masked_crc32c(std::span(head).first(8)) != crc) {
      if (record_ == 0 && head[0] == std::byte{0x78}) {
        fail(
            "has a wrong checksum of its length: the file looks compressed by ZLIB, and GZIP is "
            "what is read");
      }
      fail(record_ == 0
               ? "has a wrong checksum of its length, so this is no TFRecord file, or a damaged one"
               : "has a wrong checksum of its length");
    }
    if (length > static_cast<uint64_t>(most_bytes_)) {
      fail(
          fmt::format("has {} bytes, more than the {} that are allowed: where it is not damaged, "
                      "write smaller ones, or raise most_record_bytes in C++",
                      length, most_bytes_));
    }
    const Place place{offset_ + 12, static_cast<int64_t>(length)};
    check_data(place.bytes);
    offset_ = place.offset + place.bytes + 4;
    ++record_;
    return place;
  }

 private:
  static constexpr size_t kPiece = size_t{64} << 10;

  void check_data(int64_t bytes) {
    uint32_t crc = 0;
    for (int64_t done = 0; done < bytes;) {
      if (!has_more()) fail("is cut off");
      const auto piece = std::span(buffer_).subspan(
          begin_, static_cast<size_t>(
                      std::min<int64_t>(static_cast<int64_t>(end_ - begin_), bytes - done)));
      crc = crc32c(crc, piece);
      begin_ += piece.size();
      done += std::ssize(piece);
    }
    std::array<std::byte, 4> stored{};
    if (read(stored) < stored.size()) fail("is cut off");
    uint32_t wanted = 0;
    std::memcpy(&wanted, stored.data(), 4);
    if (masked(crc) != wanted) fail("has a wrong checksum: it is damaged");
  }

  // Whether the buffer has bytes that were not looked at, which it gets where it can.
  bool has_more() {
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = bytes_.read(buffer_);
    return end_ > 0;
  }
  size_t read(std::span<std::byte> into) {
    size_t done = 0;
    while (done < into.size() && has_more()) {
      const size_t some = std::min(into.size() - done, end_ - begin_);
      std::memcpy(into.data() + done, buffer_.data() + begin_, some);
      begin_ += some;
      done += some;
    }
    return done;
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw DataError("{}: record {} at byte {} {}; copy or write the file again", name_, record_,
                    offset_, what);
  }

  std::string name_;
  ByteReader bytes_;
  int64_t most_bytes_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0, end_ = 0;  // What of it was not looked at yet.
  int64_t offset_ = 0, record_ = 0;
};

// Where the records are: of every so many one, so that the memory does not grow with the records.
class RecordIndex {
 public:
  explicit RecordIndex(int64_t most_bytes)
      : most_(std::max<size_t>(4, static_cast<size_t>(most_bytes) / sizeof(Sample))) {}

  struct Sample {
    int64_t offset = 0;  // Of its data.
    int32_t bytes = 0, file = 0;
  };
  void add(const Sample& record) {
    if (records_ % stride_ == 0 && samples_.size() == most_) {
      for (size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
      samples_.resize((samples_.size() + 1) / 2);
      stride_ *= 2;
    }
    if (records_ % stride_ == 0) samples_.push_back(record);
    while (std::ssize(firsts_) <= record.file) {
      firsts_.push_back({records_, record});
    }
    longest_ = std::max<int64_t>(longest_, record.bytes);
    ++records_;
  }
  void finish() { samples_.shrink_to_fit(); }

  int64_t records() const { return records_; }
  int64_t longest() const { return longest_; }
  size_t bytes() const { return samples_.capacity() * sizeof(Sample); }
  // Its file, and its number there.
  std::pair<size_t, int64_t> place_of(int64_t record) const {
    const First& first = first_of(record);
    return {static_cast<size_t>(first.sample.file), record - first.record};
  }

  // Goes from the sample before it, or from the start of its file, by the lengths of the records.
  Sample find(int64_t record, std::span<const std::unique_ptr<File>> files) const {
    int64_t at = record / stride_ * stride_;
    Sample place = samples_[static_cast<size_t>(record / stride_)];
    const First& first = first_of(record);
    if (first.record > at) {
      at = first.record;
      place = first.sample;
    }
    for (; at < record; ++at) {
      place.offset += place.bytes + 4 + 12;
      uint64_t length = 0;
      files[static_cast<size_t>(place.file)]->read_exactly_at(
          std::as_writable_bytes(std::span(&length, 1)), place.offset - 12);
      if (length > static_cast<uint64_t>(longest_)) {
        throw FileError("{}: it was changed during the run; leave the file alone and start again",
                        files[static_cast<size_t>(place.file)]->path().string());
      }
      place.bytes = static_cast<int32_t>(length);
    }
    return place;
  }

 private:
  struct First {
    int64_t record = 0;
    Sample sample;
  };
  // Of the file that a record is in.
  const First& first_of(int64_t record) const {
    return *(std::ranges::upper_bound(firsts_, record, {}, &First::record) - 1);
  }

  size_t most_;
  int64_t stride_ = 1, records_ = 0, longest_ = 0;
  std::vector<Sample> samples_;
  std::vector<First> firsts_;  // Of each file.
};

StoredType stored_of(const FeatureSpec& feature) {
  if (feature.stored != StoredType::float32 && feature.stored != StoredType::int64 &&
      feature.stored != StoredType::uint8) {
    throw Error(
        "tfrecord: feature \"{}\" cannot be {}; an Example has float32, int64 and bytes (uint8)",
        feature.key, name_of(feature.stored));
  }
  return feature.stored;
}

// What readers of the same records share.
struct RecordFiles {
  data::TfRecordOptions options;
  std::vector<std::unique_ptr<File>> files;
  std::vector<FileState> states;  // When they were opened.
  RecordIndex index;
  std::vector<bool> checked;  // Which files were read whole; of others records are checked as read.
};

// Adds the records of a file to the index: by the lengths that an earlier run has kept, else by
// reading all of it, which keeps them.
void add_records(FileSystem& files, const Path& path, RecordFiles& found) {
  const auto file = static_cast<int32_t>(found.files.size()) - 1;
  const data::TfRecordOptions& options = found.options;
  const FileState& state = found.states.back();
  const bool keeps = !options.cache.empty();
  const Path kept = keeps ? record_lengths_path(files, path, options.cache) : Path();
  int64_t offset = 12;
  const auto add = [&](int64_t bytes) {
    found.index.add({offset, static_cast<int32_t>(bytes), file});
    offset += bytes + kRecordFrameBytes;
  };
  const int64_t most = options.most_record_bytes;
  found.checked.push_back(!keeps || !read_record_lengths(files, kept, state.bytes, most, add));
  if (!found.checked.back()) return;
  RecordReader reader(files, path, options.files[found.files.size() - 1].string(), most);
  RecordLengthsWriter writer(files, kept);
  while (const auto place = reader.next()) {
    add(place->bytes);
    writer.add(place->bytes);
  }
  if (keeps && state_of(*found.files.back()) == state) writer.finish();
}

class TfRecordSource final : public RandomSource {
 public:
  explicit TfRecordSource(std::shared_ptr<const RecordFiles> records)
      : records_(std::move(records)) {
    const data::TfRecordOptions& options = records_->options;
    std::vector<Field> fields;
    const auto add = [&](const FeatureSpec& feature, FieldRole role) {
      fields.push_back(
          {.name = feature.key, .role = role, .stored = stored_of(feature), .row = feature.row});
      features_.push_back(feature);
    };
    for (const FeatureSpec& feature : options.x) add(feature, FieldRole::input);
    for (const FeatureSpec& feature : options.y) add(feature, FieldRole::target);
    if (!options.sample_weight.empty()) {
      add({.key = options.sample_weight, .row = {}}, FieldRole::weight);
    }
    set_fields(fields, std::vector<int64_t>(fields.size(), records_->index.records()));
    size_t widest = 0;
    for (const Field& field : fields) widest = std::max(widest, field.row_bytes());
    element_bytes_.resize(widest);
    record_.resize(static_cast<size_t>(records_->index.longest()) + sizeof(uint32_t));
  }

  size_t buffer_bytes() const override {
    return records_->index.bytes() + element_bytes_.size() + record_.size();
  }
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override {
    read_rows_by_runs(rows, slots);
  }
  int64_t batches_ahead() const override { return kAsManyAsHelp; }
  SourcePtr twin() override { return std::make_shared<TfRecordSource>(records_); }
  void begin_pass(uint64_t pass) override {
    for (size_t i = 0; i < records_->files.size(); ++i)
      check_unchanged(*records_->files[i], records_->states[i]);
    RandomSource::begin_pass(pass);
  }
  std::string place(int /*field*/, int64_t row) override {
    const auto [file, record] = records_->index.place_of(row);
    return fmt::format("{}: record {}", records_->options.files[file].string(), record);
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const size_t bytes = static_cast<size_t>(fields()[field].row.size()) * size_of(dtype);
    auto* at = static_cast<std::byte*>(to);
    for (int64_t i = 0; i < count; ++i, at += bytes) give(field, first + i, at, dtype);
  }
  void read_run_of_all(int64_t first, int64_t count, std::span<const Tensor> slots,
                       int64_t at) override {
    for (int64_t i = 0; i < count; ++i) {
      for (int field = 0; field < std::ssize(slots); ++field) {
        if (slots[field].data == nullptr) continue;
        give(field, first + i, slot_row(field, slots[field], at + i), slots[field].dtype());
      }
    }
  }

 private:
  void give(int field, int64_t row, std::byte* to, DType dtype) {
    const Field& from = fields()[field];
    const std::span<const std::byte> record = read_record(row);
    const auto where = [this, row] { return place(0, row); };
    read_feature(record, features_[static_cast<size_t>(field)], where, element_bytes_.data());
    if (const auto bad = stage(element_bytes_.data(), from.stored, from.row.size(), to, dtype)) {
      throw DataError(
          "{}: feature \"{}\", element {} is {}, but a {} was expected; mend or drop the record",
          where(), from.name, *bad, element_text(element_bytes_.data(), from.stored, *bad),
          dtype == DType::float32 ? "finite number" : "whole number that int32 holds");
    }
  }

  // Fields are asked for one after the other: the last record is kept.
  std::span<const std::byte> read_record(int64_t row) {
    if (row != last_) {
      last_ = -1;
      const RecordIndex::Sample place = records_->index.find(row, records_->files);
      last_bytes_ = static_cast<size_t>(place.bytes);
      const bool checked = records_->checked[static_cast<size_t>(place.file)];
      const size_t checksum = checked ? 0 : sizeof(uint32_t);
      records_->files[static_cast<size_t>(place.file)]->read_exactly_at(
          std::span(record_).first(last_bytes_ + checksum), place.offset);
      if (!checked) check_record(row);
      last_ = row;
    }
    return std::span(record_).first(last_bytes_);
  }

  // With the checksum that follows its data.
  void check_record(int64_t row) const {
    uint32_t wanted = 0;
    std::memcpy(&wanted, record_.data() + last_bytes_, sizeof(wanted));
    if (masked_crc32c(std::span(record_).first(last_bytes_)) == wanted) return;
    const auto [file, record] = records_->index.place_of(row);
    throw DataError(
        "{}: record {} has a wrong checksum: it is damaged; copy or write the file again (if it is "
        "whole: what is kept of it in {} is of one that stood here before; remove that)",
        records_->options.files[file].string(), record, records_->options.cache.string());
  }

  std::shared_ptr<const RecordFiles> records_;
  std::vector<FeatureSpec> features_;
  std::vector<std::byte> element_bytes_, record_;
  int64_t last_ = -1;
  size_t last_bytes_ = 0;
};

}  // namespace

uint32_t masked_crc32c(std::span<const std::byte> bytes) { return masked(crc32c(0, bytes)); }

namespace data {

SourcePtr tfrecord(const TfRecordOptions& options) {
  FileSystem& files = options.file_system != nullptr ? *options.file_system : real_files();
  if (options.files.empty()) throw Error("tfrecord: no file was given");
  auto found = std::make_shared<RecordFiles>(
      RecordFiles{options, {}, {}, RecordIndex(options.most_in_memory), {}});
  for (const Path& name : options.files) {
    const Path path = plain_file(files, name, options.cache);
    found->files.push_back(files.open(path, OpenMode::read));
    found->states.push_back(state_of(*found->files.back()));
    add_records(files, path, *found);
  }
  found->index.finish();
  if (found->index.records() == 0) {
    throw DataError("{}: it has no records", options.files[0].string());
  }
  return std::make_shared<TfRecordSource>(std::move(found));
}

std::vector<FoundFeature> first_features(const TfRecordOptions& options) {
  FileSystem& files = options.file_system != nullptr ? *options.file_system : real_files();
  const std::string name = options.files.at(0).string();
  const Path path = plain_file(files, options.files[0], options.cache);
  const auto place = RecordReader(files, path, name, options.most_record_bytes).next();
  if (!place) throw DataError("{}: it has no records", name);
  std::vector<std::byte> record(static_cast<size_t>(place->bytes));
  files.open(path, OpenMode::read)->read_exactly_at(record, place->offset);
  std::optional<std::vector<FoundFeature>> found = features_of(record);
  if (!found) {
    throw DataError("{}: record 0: it is no tf.train.Example; check which files these are", name);
  }
  return std::move(*found);
}

}  // namespace data
}  // namespace snug
