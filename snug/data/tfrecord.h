// Rows in TFRecord files of tf.train.Example.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/source.h"

namespace snug {

// CRC-32C, as TFRecord masks it.
uint32_t masked_crc32c(std::span<const std::byte> bytes);

// What a field takes from an Example.
struct FeatureSpec {
  std::string key;
  Shape row;  // Concrete; its elements in one list.
  // float32: float_list; int64: int64_list; uint8: the bytes of one entry of bytes_list.
  StoredType stored = StoredType::float32;
  // A record may have fewer elements, whole steps of the row's first axis; zeros follow them.
  bool padded = false;
};

// Writes a feature of a serialised Example to `to`, row.size() elements of the stored type. Throws
// DataError, which begins with where() and names the key: it is absent, holds another kind of list
// or another number of elements (where it is padded: more, or no whole steps), or the bytes are no
// Example.
void read_feature(std::span<const std::byte> example, const FeatureSpec& feature,
                  const std::function<std::string()>& where, std::byte* to);

// A feature that an Example has, with a row of as many elements (no axis for one).
struct FoundFeature {
  FeatureSpec spec;
  std::string why_not;  // It cannot be read; empty: it can.
};
// All of them; nullopt where the bytes are no Example.
std::optional<std::vector<FoundFeature>> features_of(std::span<const std::byte> example);

namespace data {

struct TfRecordOptions {
  std::vector<Path> files;  // Their records follow one another.
  std::vector<FeatureSpec> x, y;
  std::string sample_weight;  // The key of one float a record; empty: none.
  int64_t most_record_bytes = int64_t{16} << 20;
  Path cache;  // A folder for compressed files, which are inflated once.
  // For the places of the records: of all of them where they are few, else of every second, fourth,
  // ... one, from which the others are found by their lengths.
  int64_t most_in_memory = int64_t{2} << 20;
  FileSystem* file_system = nullptr;
};

// Goes over the files once to check all checksums and to learn where the records are. Throws
// DataError, which names file, record and byte, for a wrong checksum, a cut or a record that is too
// long; FileError.
SourcePtr tfrecord(const TfRecordOptions& options);

// The features of the first record of the first file, whatever features the options name. Throws as
// tfrecord() does.
std::vector<FoundFeature> first_features(const TfRecordOptions& options);

}  // namespace data
}  // namespace snug
