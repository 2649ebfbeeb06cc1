// A file of records, and a record alone: checksums hide the records of a file from a fuzzer.

#include "snug/data/tfrecord.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  for (const StoredType stored : {StoredType::float32, StoredType::int64, StoredType::uint8}) {
    std::byte to[64] = {};
    refused_or_read([&] {
      read_feature(
          std::as_bytes(bytes), {.key = "x", .row = {8}, .stored = stored},
          [] { return std::string("input"); }, to);
    });
  }
  features_of(std::as_bytes(bytes));
  InputFiles files(bytes);
  data::TfRecordOptions options{.files = {"input"}, .x = {{.key = "x", .row = {2}}}};
  options.file_system = &files;
  data::first_features(options);
  read_all(*data::tfrecord(options));
}
