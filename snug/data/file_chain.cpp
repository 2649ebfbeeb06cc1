#include "snug/data/file_chain.h"

#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/byte_reader.h"
#include "snug/data/csv_table.h"
#include "snug/data/joined.h"

namespace snug::data {

// In halves, so that a row is found in as many steps as their number has bits.
SourcePtr concatenated(std::span<const SourcePtr> sources) {
  SNUG_CHECK(!sources.empty());
  if (sources.size() == 1) return sources[0];
  const size_t half = sources.size() / 2;
  return concatenated(concatenated(sources.first(half)), concatenated(sources.subspan(half)));
}

Path plain_file(FileSystem& files, const Path& path, const Path& cache) {
  ByteReader reader(files, path);
  if (!reader.is_compressed()) return path;
  if (cache.empty()) {
    throw DataError("{}: it is compressed; give a cache folder, or unpack it with gunzip",
                    path.string());
  }
  files.create_directories(cache);
  const uint64_t identity = mix_bits(hash_text(identity_of(files, {path})));
  const Path inflated =
      cache / fmt::format("{:016x}-{}", identity, path.stem().filename().string());
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

}  // namespace snug::data
