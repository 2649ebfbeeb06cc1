// The bytes of an HDF5 file, within bounds: whatever a file claims, no more is read than it has,
// and no more of its description than a bound.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/error.h"
#include "snug/base/file.h"

namespace snug {

static_assert(std::endian::native == std::endian::little, "numbers are read as they stand");

inline constexpr int64_t kHdf5Nowhere = -1;  // An address that leads nowhere.

// Bytes of a structure, read one number after the other.
class Hdf5Bytes {
 public:
  Hdf5Bytes(std::vector<std::byte> bytes, std::string where)
      : bytes_(std::move(bytes)), where_(std::move(where)) {}

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  // A number of 1 to 8 bytes.
  uint64_t number_of(size_t bytes) {
    uint64_t value = 0;
    if (bytes > sizeof(value)) throw CorruptFile("{}: a number of it is too long", where_);
    std::memcpy(&value, take(bytes), bytes);
    return value;
  }
  int64_t address() { return number<int64_t>(); }
  const std::byte* take(size_t count) {
    if (count > left()) throw CorruptFile("{}: a part of it is too short", where_);
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  void skip(size_t count) { take(count); }
  size_t left() const { return bytes_.size() - at_; }
  Hdf5Bytes part(size_t count) {
    const std::byte* from = take(count);
    return {std::vector<std::byte>(from, from + count), where_};
  }
  bool is(std::string_view magic) const {
    return left() >= magic.size() &&
           std::memcmp(bytes_.data() + at_, magic.data(), magic.size()) == 0;
  }
  void expect(std::string_view magic) {
    if (std::memcmp(take(magic.size()), magic.data(), magic.size()) != 0)
      throw CorruptFile("{}: a part that should begin with {} does not", where_, magic);
  }
  std::string text(size_t length) {
    const auto* from = reinterpret_cast<const char*>(take(length));
    return {from, length};
  }
  // Up to the first zero.
  std::string text_at(size_t offset) const {
    if (offset >= bytes_.size()) throw CorruptFile("{}: a name is out of its place", where_);
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const size_t length = ::strnlen(from, bytes_.size() - offset);
    if (length == bytes_.size() - offset) throw CorruptFile("{}: a name has no end", where_);
    return {from, length};
  }

 private:
  std::vector<std::byte> bytes_;
  std::string where_;
  size_t at_ = 0;
};

// A file whose addresses count from `base`.
class Hdf5Input {
 public:
  Hdf5Input(File& file, std::string where)
      : file_(file), where_(std::move(where)), size_(file.size()) {}

  Hdf5Bytes at(int64_t address, int64_t count) {
    if (!holds(address, count)) throw CorruptFile("{}: a part of it lies outside the file", where_);
    read_ += count;
    if (count > kMostOfOnePiece || read_ > kMostDescription)
      throw CorruptFile("{}: its description is larger than any file's", where_);
    std::vector<std::byte> bytes(static_cast<size_t>(count));
    file_.read_exactly_at(bytes, base_ + address);
    return {std::move(bytes), where_};
  }
  // Up to `count` bytes, fewer at the end of the file.
  Hdf5Bytes up_to(int64_t address, int64_t count) {
    return at(address, std::clamp<int64_t>(size() - std::max<int64_t>(address, 0), 0, count));
  }
  // start + count * bytes, of numbers that a file says. Throws where there is no such place.
  int64_t place(int64_t start, int64_t count, int64_t bytes = 1) const {
    int64_t sum = 0;
    if (__builtin_mul_overflow(count, bytes, &sum) || __builtin_add_overflow(start, sum, &sum))
      throw CorruptFile("{}: a part of it lies outside the file", where_);
    return sum;
  }
  bool holds(int64_t address, int64_t count) const {
    return address >= 0 && count >= 0 && address <= size() && count <= size() - address;
  }
  // Every node of a list or tree calls it, so that none goes on for ever.
  void count_node() {
    if (++nodes_ > kMostNodes) throw CorruptFile("{}: it has a list without end", where_);
  }

  void set_base(int64_t base) { base_ = base; }
  int64_t base() const { return base_; }
  int64_t size() const { return size_ - base_; }
  File& file() const { return file_; }
  const std::string& where() const { return where_; }

 private:
  static constexpr int64_t kMostDescription = int64_t{256} << 20;  // That is not elements.
  static constexpr int64_t kMostOfOnePiece = int64_t{16} << 20;
  static constexpr int64_t kMostNodes = 4'000'000;

  File& file_;
  std::string where_;
  int64_t size_, base_ = 0;
  int64_t read_ = 0, nodes_ = 0;
};

}  // namespace snug
