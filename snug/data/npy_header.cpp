#include "snug/data/npy_header.h"

#include <optional>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

size_t preamble_bytes(std::string_view start) { return start[6] == 1 ? 10 : 12; }

// A cursor in the header's text, which is a Python dictionary of three entries.
class DictReader {
 public:
  DictReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  bool accept(char wanted) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("\"{}\"", wanted));
  }

  std::string_view quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("the end of a text");
    const std::string_view result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }

  bool boolean() {
    const bool value = accept('T');
    if (!value) expect('F');
    const std::string_view rest = value ? "rue" : "alse";
    if (text_.substr(at_, rest.size()) != rest) fail("True or False");
    at_ += rest.size();
    return value;
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      if (shape.rank() == Shape::kMaxRank) {
        throw DataError("{}: the array has more than {} axes; reshape it", where_, Shape::kMaxRank);
      }
      shape.push_back(whole_number());
      if (accept(')')) break;
      expect(',');
    }
    return shape;
  }

  [[noreturn]] void fail(std::string_view wanted) const {
    throw DataError(
        "{}: its .npy header cannot be read: {} was expected at byte {} of \"{}\"; "
        "save it again with numpy.save",
        where_, wanted, at_, printable());
  }

 private:
  int64_t whole_number() {
    while (accept(' ')) continue;
    int64_t value = 0;
    const size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        fail("a smaller number");
      }
    }
    if (at_ == begin) fail("a whole number");
    accept('L');  // Python 2 marked long integers.
    return value;
  }

  std::string printable() const {
    std::string result;
    for (const char c : text_.substr(0, 80)) result += c >= ' ' && c <= '~' ? c : '.';
    return result;
  }

  std::string_view text_, where_;
  size_t at_ = 0;
};

std::optional<StoredType> number_type(std::string_view code) {
  constexpr std::pair<std::string_view, StoredType> kTypes[] = {
      {"f2", StoredType::float16}, {"f4", StoredType::float32}, {"f8", StoredType::float64},
      {"i1", StoredType::int8},    {"i2", StoredType::int16},   {"i4", StoredType::int32},
      {"i8", StoredType::int64},   {"u1", StoredType::uint8},   {"u2", StoredType::uint16},
      {"u4", StoredType::uint32},  {"u8", StoredType::uint64},  {"b1", StoredType::boolean}};
  for (const auto& [name, type] : kTypes) {
    if (name == code) return type;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_dtype(std::string_view dtype, std::string_view where) {
  const char kind = dtype.size() > 1 ? dtype[1] : ' ';
  std::string_view what = "elements that are no numbers", advice = "save x.astype(\"float32\")";
  if (kind == 'O') what = "Python objects";
  if (kind == 'S' || kind == 'U' || kind == 'a') {
    what = "texts";
    advice = "give each distinct text a number and save those";
  }
  if (kind == 'M' || kind == 'm') {
    what = "dates or durations";
    advice = "save them as numbers: x.astype(\"int64\")";
  }
  if (kind == 'c') {
    what = "complex numbers";
    advice = "save their parts as two columns";
  }
  if (kind == 'V') what = "raw bytes or bfloat16";
  if (kind == 'f') what = "floats of a size that is not 2, 4 or 8 bytes";
  throw DataError("{}: it holds {} (dtype \"{}\"), but numbers were expected; {}", where, what,
                  dtype, advice);
}

void read_dtype(DictReader& dict, std::string_view where, NpyHeader& header) {
  if (dict.accept('[')) {
    throw DataError(
        "{}: it holds records of several columns (a structured dtype), but numbers of one type "
        "were expected; save each column, or numpy.lib.recfunctions.structured_to_unstructured(x)",
        where);
  }
  const std::string_view dtype = dict.quoted();
  const char order = dtype.empty() ? ' ' : dtype[0];
  const std::optional<StoredType> type =
      dtype.empty() ? std::nullopt : number_type(dtype.substr(1));
  if (!type || (order != '<' && order != '>' && order != '|' && order != '=')) {
    refuse_dtype(dtype, where);
  }
  header.stored = *type;
  header.swapped = order == '>' && size_of(*type) > 1;
}

}  // namespace

size_t npy_header_bytes(std::string_view start, std::string_view where) {
  if (start.empty()) throw DataError("{}: it is empty; save it again with numpy.save", where);
  if (start.starts_with("\x1f\x8b"))
    throw DataError("{}: it is no .npy file, but packed by gzip; unpack it with gunzip", where);
  if (start.starts_with("PK"))
    throw DataError("{}: it is no .npy file, but a zip file; call it .npz if numpy.savez made it",
                    where);
  if (!start.starts_with(kMagic.substr(0, start.size()))) {
    throw DataError(
        "{}: it is no .npy file: it does not begin with \"\\x93NUMPY\"; save it with numpy.save",
        where);
  }
  const bool has_version = start.size() > 6;
  if (has_version && (start[6] < 1 || start[6] > 3)) {
    throw DataError("{}: it has version {} of the .npy format, but 1, 2 or 3 was expected", where,
                    static_cast<unsigned char>(start[6]));
  }
  if (!has_version || start.size() < preamble_bytes(start)) {
    throw DataError("{}: it is cut off in its header, after {} bytes; copy or save it again", where,
                    start.size());
  }
  const size_t text = little_endian(start.substr(8, preamble_bytes(start) - 8));
  if (text > kNpyLongestText) {
    throw DataError(
        "{}: its header claims {} bytes of text, but a few hundred were expected; it is "
        "damaged: save it again",
        where, text);
  }
  return preamble_bytes(start) + text;
}

NpyHeader parse_npy_header(std::string_view bytes, std::string_view where) {
  NpyHeader header{.bytes = static_cast<int64_t>(npy_header_bytes(bytes, where))};
  SNUG_CHECK(bytes.size() == static_cast<size_t>(header.bytes));
  DictReader dict(bytes.substr(preamble_bytes(bytes)), where);
  bool fortran = false;
  unsigned seen = 0;
  dict.expect('{');
  while (!dict.accept('}')) {
    const std::string_view key = dict.quoted();
    dict.expect(':');
    if (key == "descr") {
      read_dtype(dict, where, header);
      seen |= 1;
    } else if (key == "fortran_order") {
      fortran = dict.boolean();
      seen |= 2;
    } else if (key == "shape") {
      header.shape = dict.tuple();
      seen |= 4;
    } else {
      dict.fail("descr, fortran_order or shape");
    }
    if (!dict.accept(',')) {
      dict.expect('}');
      break;
    }
  }
  if (seen != 7) dict.fail("one each of descr, fortran_order and shape");
  if (header.shape.rank() == 0) {
    throw DataError("{}: it holds a single number, but an array with rows was expected", where);
  }
  header.by_columns = fortran && header.shape.rank() > 1;
  return header;
}

}  // namespace snug
