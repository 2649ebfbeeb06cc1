#include "snug/testing/npz.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "snug/base/error.h"

namespace snug::testing {
namespace {

// A little-endian number in a string of bytes.
template <typename T>
T number(std::string_view bytes, size_t at, std::string_view where) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) {
    throw CorruptFile("{}: it ends at byte {}, before a number at {}", where, bytes.size(), at);
  }
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// What stands behind 'key': in the dictionary of a header.
std::string_view entry(std::string_view header, std::string_view key, std::string_view where) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) throw CorruptFile("{}: its header has no {}", where, key);
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

DType dtype_of(std::string_view descr, std::string_view where) {
  if (descr.starts_with("'<f4'")) return DType::float32;
  if (descr.starts_with("'<f8'")) return DType::float64;
  if (descr.starts_with("'<i4'")) return DType::int32;
  if (descr.starts_with("'<i8'")) return DType::int64;
  if (descr.starts_with("'|u1'")) return DType::uint8;
  if (descr.starts_with("'|b1'")) return DType::boolean;
  throw CorruptFile("{}: an element type {} that is not known", where, descr.substr(0, 8));
}

Shape shape_of(std::string_view text) {
  Shape shape;
  for (size_t i = 1; i < text.size() && text[i] != ')'; ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    int64_t extent = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      extent = extent * 10 + (text[i] - '0');
    }
    shape.push_back(extent);
    --i;
  }
  return shape;
}

template <typename T>
void widen(const Array& array, std::vector<double>& result) {
  for (const T element : array.as<T>()) result.push_back(static_cast<double>(element));
}

}  // namespace

std::vector<double> Array::doubles() const {
  std::vector<double> result;
  switch (type.dtype) {
    case DType::float32:
      widen<float>(*this, result);
      break;
    case DType::float64:
      widen<double>(*this, result);
      break;
    case DType::int32:
      widen<int32_t>(*this, result);
      break;
    case DType::int64:
      widen<int64_t>(*this, result);
      break;
    case DType::uint8:
      widen<uint8_t>(*this, result);
      break;
    case DType::boolean:
      widen<bool>(*this, result);
      break;
  }
  return result;
}

Array parse_npy(std::string_view bytes, std::string_view where) {
  if (!bytes.starts_with("\x93NUMPY")) throw CorruptFile("{}: it is no .npy array", where);
  const bool wide = number<uint8_t>(bytes, 6, where) > 1;
  const size_t header_at = wide ? 12 : 10;
  const size_t header_bytes =
      wide ? number<uint32_t>(bytes, 8, where) : number<uint16_t>(bytes, 8, where);
  if (bytes.size() < header_at + header_bytes) throw CorruptFile("{}: its header is cut", where);
  const std::string_view header = bytes.substr(header_at, header_bytes);
  Array array;
  array.type = {dtype_of(entry(header, "descr", where), where),
                shape_of(entry(header, "shape", where))};
  if (!entry(header, "fortran_order", where).starts_with("False")) {
    throw CorruptFile("{}: its order is column-major; save it with order='C'", where);
  }
  bytes.remove_prefix(header_at + header_bytes);
  if (bytes.size() != array.type.bytes()) {
    throw CorruptFile("{}: {} bytes for {}", where, bytes.size(), array.type.text());
  }
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  array.data.assign(data, data + bytes.size());
  return array;
}

// The directory at the end of the file lists the members; each has a header of its own.
Npz::Npz(const std::string& path) : path_(path) {
  const std::string text = read_text(path);
  const std::string_view file = text;
  const size_t end = file.rfind("PK\x05\x06");
  if (end == std::string_view::npos) throw CorruptFile("{}: it is no zip file", path);
  const int members = number<uint16_t>(file, end + 10, path);
  size_t at = number<uint32_t>(file, end + 16, path);
  for (int i = 0; i < members; ++i) {
    const size_t name_bytes = number<uint16_t>(file, at + 28, path);
    const std::string name(file.substr(at + 46, name_bytes));
    const std::string where = path + "/" + name;
    if (number<uint16_t>(file, at + 10, path) != 0) {
      throw CorruptFile("{}: it is compressed; write it with numpy.savez", where);
    }
    const size_t bytes = number<uint32_t>(file, at + 24, path);
    const size_t local = number<uint32_t>(file, at + 42, path);
    const size_t begin = local + 30 + number<uint16_t>(file, local + 26, path) +
                         number<uint16_t>(file, local + 28, path);
    if (begin > file.size()) throw CorruptFile("{}: it starts behind the end", where);
    const std::string key = name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
    arrays_[key] = parse_npy(file.substr(begin, bytes), where);
    at += 46 + name_bytes + number<uint16_t>(file, at + 30, path) +
          number<uint16_t>(file, at + 32, path);
  }
}

const Array& Npz::operator[](const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found != arrays_.end()) return found->second;
  std::string names;
  for (const auto& [key, array] : arrays_) names += " " + key;
  throw Error("{}: it has no array {}; it has{}", path_, name, names);
}

std::string golden_path(std::string_view name) { return fmt::format("{}/{}", SNUG_GOLDEN, name); }

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FileError("{}: it cannot be opened", path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace snug::testing
