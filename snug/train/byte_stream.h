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
  // Writes into the memory of `bytes`, whose contents go.
  explicit CheckpointOutput(std::vector<std::byte> bytes = {}) : bytes_(std::move(bytes)) {
    bytes_.resize(bytes_.capacity());
  }

  // So many more bytes will be written: room for exactly them, in place of what would be doubled.
  void expect(size_t count) {
    if (size_ + count <= bytes_.size()) return;
    bytes_.resize(size_);
    bytes_.shrink_to_fit();  // So that what was there before does not stand beside it.
    bytes_.resize(size_ + count);
  }

  template <typename T>
  void number(T value) {
    std::memcpy(extend(sizeof(T)), &value, sizeof(T));
  }
  void bytes(std::span<const std::byte> from) {
    if (!from.empty()) std::memcpy(extend(from.size()), from.data(), from.size());
  }
  // Its length in 2 bytes, then the text.
  void text(std::string_view text) {
    number(static_cast<uint16_t>(text.size()));
    bytes(std::as_bytes(std::span(text)));
  }
  size_t size() const { return size_; }
  std::vector<std::byte> take() {
    bytes_.resize(size_);
    return std::move(bytes_);
  }

 private:
  // The next so many bytes. The vector is longer than what is written, so that few calls grow it.
  std::byte* extend(size_t count) {
    if (size_ + count > bytes_.size()) bytes_.resize(2 * (size_ + count));
    std::byte* at = bytes_.data() + size_;
    size_ += count;
    return at;
  }

  std::vector<std::byte> bytes_;
  size_t size_ = 0;
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
