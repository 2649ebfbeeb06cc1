// Random numbers by counter: Philox 4x32 with ten rounds (Salmon et al., 2011). The same counter
// and key give the same four words everywhere, so that nothing needs to be stored or drawn in
// order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace snug {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline constexpr int kPhiloxRounds = 10;
inline constexpr uint32_t kPhiloxMultipliers[2] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr uint32_t kPhiloxKeySteps[2] = {0x9E3779B9u, 0xBB67AE85u};

// Four uniform words for a counter and a key.
constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t first = uint64_t{kPhiloxMultipliers[0]} * counter[0];
    const uint64_t second = uint64_t{kPhiloxMultipliers[1]} * counter[2];
    counter = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += kPhiloxKeySteps[0];
    key[1] += kPhiloxKeySteps[1];
  }
  return counter;
}

// A bijection of 64-bit words in which every bit of the result depends on every bit of x.
constexpr uint64_t mix_bits(uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  return x ^ x >> 32;
}

// Of a place's name, for streams of its own. FNV-1a: the same on every machine, unlike std::hash.
constexpr uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// A key from two words, such as a seed and a hash of the place where it is used.
constexpr PhiloxKey philox_key(uint64_t seed, uint64_t stream) {
  const uint64_t mixed = mix_bits(seed + 0x9E3779B97F4A7C15u + mix_bits(stream));
  return {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

}  // namespace snug
