// A gzip file: in pieces of any size the same bytes come out, or the same refusal.

#include <optional>

#include "snug/data/gzip.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

namespace snug::fuzz {
namespace {

// The first MiB; nothing where it is refused.
std::optional<std::vector<std::byte>> inflated(Input bytes, size_t piece) {
  constexpr size_t kMost = 1 << 20;
  std::vector<std::byte> all, part(piece);
  try {
    InputFile file("input", bytes);
    GzipReader reader(file);
    for (size_t count = piece; count == piece && all.size() < kMost;) {
      count = reader.read(part);
      all.insert(all.end(), part.begin(), part.begin() + count);
    }
  } catch (const DataError&) {
    return std::nullopt;
  }
  return all;
}

}  // namespace

void read_input(Input bytes) {
  SNUG_CHECK(inflated(bytes, 1 << 16) == inflated(bytes, 1 << 10), "pieces differ");
}

}  // namespace snug::fuzz
