// Any bytes as a checkpoint, or as a part of one: they are read, or refused with an error of the
// user's kind.

#include "snug/base/checksum.h"
#include "snug/train/checkpoint_file.h"
#include "snug/train/checkpoint_layout.h"
#include "snug/train/state_bytes.h"
#include "tests/fuzz/input_file.h"

namespace {

using Bytes = std::vector<std::byte>;

void read_file(std::span<const uint8_t> bytes) {
  snug::fuzz::InputFiles files(bytes);
  const snug::CheckpointFile file(files, "input");
  file.verify();
  for (const auto& section : file.sections()) {
    if (section.name == "values" || section.name == "variables") continue;
    snug::StateReader(file.section(section.name), section.name).lines();
  }
}

// The bytes as the list of variables, behind a header whose checksums are right.
void read_as_list(std::span<const std::byte> bytes) {
  namespace layout = snug::checkpoint_layout;
  const uint64_t first = layout::aligned(layout::kHeaderBytes + 3 * layout::kEntryBytes);
  const uint64_t sum = snug::checksum(bytes);
  Bytes file = layout::header_bytes({{"progress", first, bytes.size(), sum},
                                     {layout::kVariables, first, bytes.size(), sum},
                                     {layout::kValues, first, bytes.size(), sum}},
                                    first + bytes.size());
  file.resize(first);
  file.insert(file.end(), bytes.begin(), bytes.end());
  read_file({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

template <typename Read>
void refused_or_read(const Read& read) {
  try {
    read();
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  refused_or_read([&] { read_file({data, size}); });
  refused_or_read([&] { read_as_list(bytes); });
  refused_or_read([&] { snug::StateReader(Bytes(bytes.begin(), bytes.end()), "input").lines(); });
  return 0;
}
