#include "snug/data/tfrecord.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/byte_reader.h"
#include "snug/data/csv_table.h"
#include "snug/data/packed_rows.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

constexpr size_t kIndexWords = 4;  // The record's file, its offset in two halves, its bytes.

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  crc = ~crc;
  for (const std::byte byte : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
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
    const size_t had = bytes_.read(head);
    if (had == 0) return std::nullopt;
    if (had < head.size()) fail("is cut off in its length");
    uint64_t length = 0;
    uint32_t crc = 0;
    std::memcpy(&length, head.data(), 8);
    std::memcpy(&crc, head.data() + 8, 4);
    if (masked_crc32c(std::span(head).first(8)) != crc) {
      fail(record_ == 0
               ? "has a wrong checksum of its length, so this is no TFRecord file, or a damaged one"
               : "has a wrong checksum of its length");
    }
    if (length > static_cast<uint64_t>(most_bytes_)) {
      fail(fmt::format("has {} bytes, more than the {} that are allowed", length, most_bytes_));
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
      const auto piece = std::span(buffer_).first(
          static_cast<size_t>(std::min<int64_t>(std::ssize(buffer_), bytes - done)));
      if (bytes_.read(piece) < piece.size()) fail("is cut off");
      crc = crc32c(crc, piece);
      done += std::ssize(piece);
    }
    std::array<std::byte, 4> stored{};
    if (bytes_.read(stored) < stored.size()) fail("is cut off");
    uint32_t wanted = 0;
    std::memcpy(&wanted, stored.data(), 4);
    if (masked(crc) != wanted) fail("has a wrong checksum: it is damaged");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw DataError("{}: record {} at byte {} {}; copy or write the file again", name_, record_,
                    offset_, what);
  }

  std::string name_;
  ByteReader bytes_;
  int64_t most_bytes_;
  std::vector<std::byte> buffer_;
  int64_t offset_ = 0, record_ = 0;
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

class TfRecordSource final : public RandomSource {
 public:
  TfRecordSource(const data::TfRecordOptions& options, std::vector<std::unique_ptr<File>> files,
                 std::unique_ptr<PackedRows> index, int64_t records, int64_t longest)
      : names_(options.files), files_(std::move(files)), index_(std::move(index)) {
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
    set_fields(fields, std::vector<int64_t>(fields.size(), records));
    size_t widest = 0;
    for (const Field& field : fields) widest = std::max(widest, field.row_bytes());
    element_bytes_.resize(widest);
    record_.resize(static_cast<size_t>(longest));
    for (const auto& file : files_) sizes_.push_back(file->size());
  }

  size_t buffer_bytes() const override {
    return index_->buffer_bytes() + element_bytes_.size() + record_.size();
  }
  void begin_pass(uint64_t pass) override {
    for (size_t i = 0; i < files_.size(); ++i) {
      if (files_[i]->size() == sizes_[i]) continue;
      throw FileError("{}: it was changed during the run; leave the file alone and start again",
                      names_[i].string());
    }
    RandomSource::begin_pass(pass);
  }
  std::string place(int /*field*/, int64_t row) override {
    std::array<uint32_t, kIndexWords> entry{};
    index_->read(row, entry);
    return fmt::format("{}: record {}", names_[entry[0]].string(), row);
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const Field& from = fields()[field];
    const size_t slot_bytes = static_cast<size_t>(from.row.size()) * size_of(dtype);
    for (int64_t i = 0; i < count; ++i) {
      const std::span<const std::byte> record = read_record(first + i);
      read_feature(record, features_[field], where_, element_bytes_.data());
      if (const auto bad =
              stage(element_bytes_.data(), from.stored, from.row.size(),
                    static_cast<std::byte*>(to) + static_cast<size_t>(i) * slot_bytes, dtype)) {
        throw DataError(
            "{}: feature \"{}\", element {} is {}, but a {} was expected; mend or drop the record",
            where_, from.name, *bad, element_text(element_bytes_.data(), from.stored, *bad),
            dtype == DType::float32 ? "finite number" : "whole number that int32 holds");
      }
    }
  }

 private:
  // Fields are asked for one after the other: the last record is kept.
  std::span<const std::byte> read_record(int64_t row) {
    std::array<uint32_t, kIndexWords> entry{};
    index_->read(row, entry);
    const std::span<std::byte> bytes = std::span(record_).first(entry[3]);
    if (row != last_) {
      where_ = fmt::format("{}: record {}", names_[entry[0]].string(), row);
      last_ = -1;
      files_[entry[0]]->read_exactly_at(
          bytes, static_cast<int64_t>(entry[1]) | static_cast<int64_t>(entry[2]) << 32);
      last_ = row;
    }
    return bytes;
  }

  std::vector<Path> names_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<int64_t> sizes_;
  std::unique_ptr<PackedRows> index_;
  std::vector<FeatureSpec> features_;
  std::vector<std::byte> element_bytes_, record_;
  std::string where_;
  int64_t last_ = -1;
};

// A compressed file, inflated once; a plain one as it is.
Path plain_file(FileSystem& files, const Path& path, const Path& cache) {
  ByteReader reader(files, path);
  if (!reader.is_compressed()) return path;
  if (cache.empty()) {
    throw DataError("{}: it is compressed; give a cache folder, or unpack it with gunzip",
                    path.string());
  }
  files.create_directories(cache);
  const Path inflated = cache / fmt::format("{}-{:016x}.tfrecord", path.filename().string(),
                                            mix_bits(hash_text(identity_of(files, {path}))));
  if (files.size(inflated)) return inflated;
  write_atomically(files, inflated, [&](File& to) {
    std::vector<std::byte> piece(size_t{64} << 10);
    constexpr int64_t kRoom = int64_t{64} << 20;
    for (size_t count = reader.read(piece); count > 0; count = reader.read(piece)) {
      to.append(std::span(piece).first(count));
      if (files.free_bytes(cache) < kRoom) {
        throw FileError("{}: {} has no room to inflate it; free some", path.string(),
                        cache.string());
      }
    }
  });
  return inflated;
}

}  // namespace

uint32_t masked_crc32c(std::span<const std::byte> bytes) { return masked(crc32c(0, bytes)); }

namespace data {

SourcePtr tfrecord(const TfRecordOptions& options) {
  FileSystem& files = options.file_system != nullptr ? *options.file_system : real_files();
  if (options.files.empty()) throw Error("tfrecord: no file was given");
  std::vector<uint32_t> index;
  std::vector<std::unique_ptr<File>> opened;
  int64_t records = 0, longest = 0;
  for (size_t file = 0; file < options.files.size(); ++file) {
    const Path path = plain_file(files, options.files[file], options.cache);
    RecordReader reader(files, path, options.files[file].string(), options.most_record_bytes);
    while (const auto place = reader.next()) {
      const auto offset = static_cast<uint64_t>(place->offset);
      index.insert(index.end(),
                   {static_cast<uint32_t>(file), static_cast<uint32_t>(offset),
                    static_cast<uint32_t>(offset >> 32), static_cast<uint32_t>(place->bytes)});
      longest = std::max(longest, place->bytes);
      ++records;
      if (std::ssize(index) * 4 > options.most_in_memory) {
        throw DataError(
            "{}: the places of more than {} records need more than {}; raise most_in_memory, or "
            "train on fewer files",
            options.files[file].string(), records, bytes_text(options.most_in_memory));
      }
    }
    opened.push_back(files.open(path, OpenMode::read));
  }
  if (records == 0) throw DataError("{}: it has no records", options.files[0].string());
  index.shrink_to_fit();
  return std::make_shared<TfRecordSource>(
      options, std::move(opened), std::make_unique<MemoryRows>(std::move(index), kIndexWords),
      records, longest);
}

}  // namespace data
}  // namespace snug
