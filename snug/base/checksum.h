// XXH3 of 64 bits: finds damage, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace snug {

// Of bytes that come piece by piece.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace snug
