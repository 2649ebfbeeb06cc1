// NumPy files for tests: the golden values in tests/golden.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snug/tensor/tensor.h"

namespace snug::testing {

// An array that was read: little-endian, row-major.
struct Array {
  Type type;
  std::vector<std::byte> data;

  template <typename T>
  std::span<const T> as() const {
    SNUG_CHECK(kDType<T> == type.dtype, "a {} array read as {}", name_of(type.dtype),
               name_of(kDType<T>));
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
  // Floats and integers alike.
  std::vector<double> doubles() const;
};

// The arrays of an .npz file whose members are stored, not compressed. Throws CorruptFile, with the
// path and the member, for anything else.
class Npz {
 public:
  explicit Npz(const std::string& path);

  bool contains(const std::string& name) const { return arrays_.contains(name); }
  // Throws Error that names the file and lists what it has.
  const Array& operator[](const std::string& name) const;
  const std::map<std::string, Array>& arrays() const { return arrays_; }

 private:
  std::string path_;
  std::map<std::string, Array> arrays_;
};

// An .npy file's array, from its bytes.
Array parse_npy(std::string_view bytes, std::string_view where);

// A file of tests/golden, and its text.
std::string golden_path(std::string_view name);
std::string read_text(const std::string& path);

}  // namespace snug::testing
