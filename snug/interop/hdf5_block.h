// The bytes that an HDF5 file's structures are made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace snug {

// Bytes that grow; numbers are put at the end or, where room was left, in place.
class Hdf5Block {
 public:
  int64_t size() const { return std::ssize(bytes); }
  template <typename T>
  void put(T value) {
    put_zeros(sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
  }
  template <typename T>
  void put_at(int64_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
  }
  void put_text(std::string_view text) {
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), from, from + text.size());
  }
  void put_zeros(size_t count) { bytes.resize(bytes.size() + count); }
  void pad() { bytes.resize((bytes.size() + 7) / 8 * 8); }
  // Room for a structure that is filled in later.
  int64_t reserve(size_t count) {
    pad();
    const int64_t at = size();
    put_zeros(count);
    return at;
  }

  std::vector<std::byte> bytes;
};

// Texts of any length, all together; attributes refer to them by place and number.
class Hdf5TextHeap {
 public:
  static constexpr size_t kLeastBytes = 4096, kMostTexts = 60'000;

  // Returns its number, from 1 on. The text stays where it is.
  uint32_t add(const std::string& text) {
    texts_.push_back(&text);
    return static_cast<uint32_t>(texts_.size());
  }
  size_t size() const { return texts_.size(); }

  void put(Hdf5Block& block) const {
    const int64_t start = block.size();
    block.put_text("GCOL");
    block.put<uint32_t>(1);
    block.put<uint64_t>(0);
    for (size_t i = 0; i < texts_.size(); ++i) {
      block.put<uint16_t>(static_cast<uint16_t>(i + 1));
      block.put<uint16_t>(1);
      block.put<uint32_t>(0);
      block.put<uint64_t>(texts_[i]->size());
      block.put_text(*texts_[i]);
      block.pad();
    }
    const auto used = static_cast<size_t>(block.size() - start);
    // The rest is an object of number 0, which has room for its own head.
    const size_t total = std::max(kLeastBytes, used + 16);
    block.put<uint64_t>(0);
    block.put<uint64_t>(total - used);
    block.put_zeros(total - used - 16);
    block.put_at<uint64_t>(start + 8, total);
  }

 private:
  std::vector<const std::string*> texts_;
};

}  // namespace snug
