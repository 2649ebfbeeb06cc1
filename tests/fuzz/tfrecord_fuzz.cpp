// Any bytes as a record, and as a file of records: they are read, or refused with an error of the
// user's kind. Checksums hide the records from a fuzzer, so they are also read without.

#include "snug/data/tfrecord.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using snug::StoredType;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const StoredType stored : {StoredType::float32, StoredType::int64, StoredType::uint8}) {
    std::byte to[64] = {};
    try {
      snug::read_feature(bytes, {.key = "x", .row = {8}, .stored = stored}, "input", to);
    } catch (const snug::DataError&) {
      continue;
    }
  }
  snug::fuzz::InputFiles files({data, size});
  try {
    snug::data::TfRecordOptions options{.files = {"input"}, .x = {{.key = "x", .row = {2}}}};
    options.file_system = &files;
    snug::fuzz::read_all(*snug::data::tfrecord(options));
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
    return 0;
  }
  return 0;
}
