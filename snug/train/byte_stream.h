// Numbers and texts as bytes, the lowest first, and back.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/error.h"

namespace snug {

static_assert(std::endian::native == std::endian::little, "files hold the lowest byte first");

class CheckpointOutput {
 public:
  template <typename T>
  void number(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  void bytes(std::span<const std::byte> from) {
    bytes_.insert(bytes_.end(), from.begin(), from.end());
  }
  // Its length in 2 bytes, then the text.
  void text(std::string_view text) {
    number(static_cast<uint16_t>(text.size()));
    bytes(std::as_bytes(std::span(text)));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Throws CorruptFile, which names `where`, where the bytes end too early.
class CheckpointInput {
 public:
  CheckpointInput(std::span<const std::byte> bytes, std::string where)
      : left_(bytes), where_(std::move(where)) {}

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> bytes(uint64_t count) {
    if (count > left_.size()) {
      throw CorruptFile("{}: it ends in the middle of a value; take an older checkpoint", where_);
    }
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  std::string text() {
    const auto taken = bytes(number<uint16_t>());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  bool is_at_end() const { return left_.empty(); }
  const std::string& where() const { return where_; }

 private:
  std::span<const std::byte> left_;
  std::string where_;
};

}  // namespace snug
