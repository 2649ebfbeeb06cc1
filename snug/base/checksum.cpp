#include "snug/base/checksum.h"

// The library's own header holds all of it: nothing to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace snug {

struct alignas(64) Checksum::State {
  XXH3_state_t xxh;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}

uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->xxh); }

uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace snug
