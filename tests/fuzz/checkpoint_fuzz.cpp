// A checkpoint, or a part of one behind checksums that are right.

#include "snug/base/checksum.h"
#include "snug/train/checkpoint_file.h"
#include "snug/train/checkpoint_layout.h"
#include "snug/train/state_bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

namespace snug::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

void read_file(Input bytes) {
  InputFiles files(bytes);
  const CheckpointFile file(files, "input");
  file.verify();
  for (const auto& section : file.sections()) {
    if (section.name == "values" || section.name == "variables") continue;
    StateReader(file.section(section.name), section.name).lines();
  }
}

// The bytes as the list of variables, and as everything else.
void read_as_list(std::span<const std::byte> bytes) {
  namespace layout = checkpoint_layout;
  const uint64_t first = layout::aligned(layout::kHeaderBytes + 3 * layout::kEntryBytes);
  const uint64_t sum = checksum(bytes);
  Bytes file = layout::header_bytes({{"progress", first, bytes.size(), sum},
                                     {layout::kVariables, first, bytes.size(), sum},
                                     {layout::kValues, first, bytes.size(), sum}},
                                    first + bytes.size());
  file.resize(first);
  file.insert(file.end(), bytes.begin(), bytes.end());
  read_file({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

}  // namespace

void read_input(Input input) {
  const auto bytes = std::as_bytes(input);
  refused_or_read([&] { read_as_list(bytes); });
  refused_or_read([&] { StateReader(Bytes(bytes.begin(), bytes.end()), "input").lines(); });
  read_file(input);
}

}  // namespace snug::fuzz
