// tf.train.Example, read from its bytes into a slot: protobuf's wire format, without messages.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/csv_cell.h"
#include "snug/data/tfrecord.h"

namespace snug {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

using Bytes = std::span<const std::byte>;

// The fields of a message, one after the other.
class Message {
 public:
  explicit Message(Bytes bytes)
      : bytes_(bytes),
        stream_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // The number of the next field; 0 at the end, -1 where the bytes are no message.
  int next() {
    const uint32_t tag = stream_.ReadTag();
    if (tag == 0) return stream_.ConsumedEntireMessage() && at_end() ? 0 : -1;
    type_ = WireFormatLite::GetTagWireType(tag);
    return WireFormatLite::GetTagFieldNumber(tag);
  }
  bool is_bytes() const { return type_ == WireFormatLite::WIRETYPE_LENGTH_DELIMITED; }
  bool is_varint() const { return type_ == WireFormatLite::WIRETYPE_VARINT; }
  bool is_fixed32() const { return type_ == WireFormatLite::WIRETYPE_FIXED32; }

  std::optional<Bytes> bytes() {
    uint32_t size = 0;
    if (!stream_.ReadVarint32(&size)) return std::nullopt;
    const auto at = static_cast<size_t>(stream_.CurrentPosition());
    if (size > bytes_.size() - at || !stream_.Skip(static_cast<int>(size))) return std::nullopt;
    return bytes_.subspan(at, size);
  }
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    if (!stream_.ReadVarint64(&value)) return std::nullopt;
    return value;
  }
  std::optional<uint32_t> fixed32() {
    uint32_t value = 0;
    if (!stream_.ReadLittleEndian32(&value)) return std::nullopt;
    return value;
  }
  bool skip() {
    switch (type_) {
      case WireFormatLite::WIRETYPE_VARINT:
        return varint().has_value();
      case WireFormatLite::WIRETYPE_FIXED64:
        return stream_.Skip(8);
      case WireFormatLite::WIRETYPE_FIXED32:
        return stream_.Skip(4);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return bytes().has_value();
      default:
        return false;
    }
  }

 private:
  bool at_end() const { return stream_.CurrentPosition() == static_cast<int>(bytes_.size()); }

  Bytes bytes_;
  CodedInputStream stream_;
  WireFormatLite::WireType type_ = WireFormatLite::WIRETYPE_VARINT;
};

// The last field of this number that holds a message; one of no bytes where there is none.
std::optional<Bytes> sub_message(Bytes bytes, int number) {
  Message message(bytes);
  Bytes found;
  for (int field = message.next(); field != 0; field = message.next()) {
    if (field < 0) return std::nullopt;
    if (field != number || !message.is_bytes()) {
      if (!message.skip()) return std::nullopt;
      continue;
    }
    const std::optional<Bytes> part = message.bytes();
    if (!part) return std::nullopt;
    found = *part;
  }
  return found;
}

// The Feature of a key in the map of Features; an empty optional inside where it is absent.
struct Found {
  bool valid = true;
  std::optional<Bytes> feature;
};

// Calls visit(key, entry) for each entry of the map of Features, which says whether it is good;
// false where one is not, or the bytes are no map.
template <typename Visit>
bool visit_features(Bytes features, const Visit& visit) {
  Message map(features);
  for (int field = map.next(); field != 0; field = map.next()) {
    if (field < 0) return false;
    if (field != 1 || !map.is_bytes()) {
      if (!map.skip()) return false;
      continue;
    }
    const std::optional<Bytes> entry = map.bytes();
    const std::optional<Bytes> name = entry ? sub_message(*entry, 1) : std::nullopt;
    if (!name) return false;
    const std::string_view key(reinterpret_cast<const char*>(name->data()), name->size());
    if (!visit(key, *entry)) return false;
  }
  return true;
}

Found find_feature(Bytes features, std::string_view key) {
  Found found;
  found.valid = visit_features(features, [&](std::string_view name, Bytes entry) {
    if (name != key) return true;
    found.feature = sub_message(entry, 2);
    return found.feature.has_value();
  });
  return found;
}

// Writes elements one by one and counts them; more than there is room for are counted only.
class ElementSink {
 public:
  ElementSink(std::byte* to, int64_t room, size_t size) : to_(to), room_(room), size_(size) {}
  void add(const void* element) {
    if (count_ < room_) std::memcpy(to_ + static_cast<size_t>(count_) * size_, element, size_);
    ++count_;
  }
  // Elements that stand one after the other.
  void add_all(Bytes elements) {
    const auto count = static_cast<int64_t>(elements.size() / size_);
    const int64_t fit = std::clamp<int64_t>(room_ - count_, 0, count);
    if (fit > 0) {
      std::memcpy(to_ + static_cast<size_t>(count_) * size_, elements.data(),
                  static_cast<size_t>(fit) * size_);
    }
    count_ += count;
  }
  int64_t count() const { return count_; }

 private:
  std::byte* to_;
  int64_t room_, count_ = 0;
  size_t size_;
};

bool read_floats(Bytes list, ElementSink& sink) {
  Message message(list);
  for (int field = message.next(); field != 0; field = message.next()) {
    if (field < 0) return false;
    if (field == 1 && message.is_bytes()) {
      const std::optional<Bytes> packed = message.bytes();
      if (!packed || packed->size() % 4 != 0) return false;
      sink.add_all(*packed);
    } else if (field == 1 && message.is_fixed32()) {
      const std::optional<uint32_t> bits = message.fixed32();
      if (!bits) return false;
      sink.add(&*bits);
    } else if (!message.skip()) {
      return false;
    }
  }
  return true;
}

bool read_packed_ints(Bytes packed, ElementSink& sink) {
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(packed.data()),
                          static_cast<int>(packed.size()));
  while (stream.CurrentPosition() < static_cast<int>(packed.size())) {
    uint64_t value = 0;
    if (!stream.ReadVarint64(&value)) return false;
    sink.add(&value);
  }
  return true;
}

bool read_ints(Bytes list, ElementSink& sink) {
  Message message(list);
  for (int field = message.next(); field != 0; field = message.next()) {
    if (field < 0) return false;
    if (field == 1 && message.is_bytes()) {
      const std::optional<Bytes> packed = message.bytes();
      if (!packed || !read_packed_ints(*packed, sink)) return false;
    } else if (field == 1 && message.is_varint()) {
      const std::optional<uint64_t> value = message.varint();
      if (!value) return false;
      sink.add(&*value);
    } else if (!message.skip()) {
      return false;
    }
  }
  return true;
}

// All entries: of several, the last one alone would be no row.
bool read_bytes(Bytes list, ElementSink& sink) {
  Message message(list);
  for (int field = message.next(); field != 0; field = message.next()) {
    if (field < 0) return false;
    if (field != 1 || !message.is_bytes()) {
      if (!message.skip()) return false;
      continue;
    }
    const std::optional<Bytes> entry = message.bytes();
    if (!entry) return false;
    sink.add_all(*entry);
  }
  return true;
}

bool read_list(Bytes list, int kind, ElementSink& sink) {
  return kind == 2   ? read_floats(list, sink)
         : kind == 3 ? read_ints(list, sink)
                     : read_bytes(list, sink);
}

constexpr std::string_view kLists[] = {"nothing", "a bytes_list", "a float_list", "an int64_list"};

// The features that an example has, in words.
std::string names_of(Bytes features) {
  constexpr size_t kMostText = 200;
  std::string names;
  visit_features(features, [&](std::string_view name, Bytes) {
    if (names.size() < kMostText) names += (names.empty() ? "" : ", ") + in_quotes(name);
    return true;
  });
  return names.empty() ? "none at all" : names;
}

// Which of Feature's lists an element type comes from.
int list_of(StoredType stored) {
  return stored == StoredType::float32 ? 2 : (stored == StoredType::int64 ? 3 : 1);
}

// The list that a Feature has: its number, or 0.
int kind_of(Bytes feature) {
  Message message(feature);
  int kind = 0;
  for (int field = message.next(); field > 0 && message.skip(); field = message.next()) {
    if (field <= 3) kind = field;
  }
  return kind;
}

// Fills up with zeros what a feature of fewer steps leaves of its row.
void pad(const FeatureSpec& feature, int64_t count, const std::function<std::string()>& where,
         std::byte* to) {
  const int64_t longest = feature.row[0], step = feature.row.size() / longest;
  if (count > feature.row.size()) {
    throw DataError(
        "{}: feature \"{}\" has {} steps, but {} is the longest that was declared; declare more, "
        "or drop the record",
        where(), feature.key, (count + step - 1) / step, longest);
  }
  if (count % step != 0) {
    throw DataError("{}: feature \"{}\" has {} elements, which are no whole steps of {}", where(),
                    feature.key, count, step);
  }
  const size_t size = size_of(feature.stored), had = static_cast<size_t>(count) * size;
  std::memset(to + had, 0, static_cast<size_t>(feature.row.size()) * size - had);
}

// What a text of bytes is that was taken for pixels; empty: it may be such.
std::string_view picture_in(Bytes list) {
  const std::optional<Bytes> entry = sub_message(list, 1);
  if (!entry) return "";
  const std::string_view bytes(reinterpret_cast<const char*>(entry->data()), entry->size());
  if (bytes.starts_with("\xff\xd8\xff")) return "a JPEG";
  return bytes.starts_with("\x89PNG\r\n") ? "a PNG" : "";
}

FoundFeature described(std::string_view key, int kind, Bytes list) {
  constexpr StoredType kStored[] = {StoredType::uint8, StoredType::uint8, StoredType::float32,
                                    StoredType::int64};
  FoundFeature found{.spec = {.key = std::string(key), .row = {}, .stored = kStored[kind]}};
  ElementSink sink(nullptr, 0, size_of(found.spec.stored));
  const bool read = kind > 0 && read_list(list, kind, sink);
  if (sink.count() != 1) found.spec.row = Shape{sink.count()};
  if (!read || sink.count() == 0) {
    found.why_not = read ? "it is empty in the first record" : "it holds no list";
  } else if (const std::string_view picture = kind == 1 ? picture_in(list) : ""; !picture.empty()) {
    found.why_not =
        fmt::format("it holds {} file, and pictures in records are not decoded", picture);
  }
  return found;
}

}  // namespace

std::optional<std::vector<FoundFeature>> features_of(Bytes example) {
  std::vector<FoundFeature> all;
  const std::optional<Bytes> features = sub_message(example, 1);
  const auto add = [&](std::string_view key, Bytes entry) {
    const std::optional<Bytes> feature = sub_message(entry, 2);
    const int kind = feature ? kind_of(*feature) : 0;
    const std::optional<Bytes> list = kind > 0 ? sub_message(*feature, kind) : Bytes();
    if (feature && list) all.push_back(described(key, kind, *list));
    return feature && list;
  };
  if (!features || !visit_features(*features, add)) return std::nullopt;
  return all;
}

void read_feature(Bytes example, const FeatureSpec& feature,
                  const std::function<std::string()>& where, std::byte* to) {
  const std::optional<Bytes> features = sub_message(example, 1);
  const Found found = features ? find_feature(*features, feature.key) : Found{.valid = false};
  if (!found.valid) {
    throw DataError("{}: it is no tf.train.Example; check which files these are", where());
  }
  if (!found.feature) {
    throw DataError("{}: it has no feature \"{}\", but {}; mend or drop the record", where(),
                    feature.key, names_of(*features));
  }
  const int wanted = list_of(feature.stored), kind = kind_of(*found.feature);
  if (kind != wanted) {
    throw DataError("{}: feature \"{}\" holds {}, but {} was expected", where(), feature.key,
                    kLists[kind], kLists[wanted]);
  }
  const std::optional<Bytes> list = sub_message(*found.feature, wanted);
  ElementSink sink(to, feature.row.size(), size_of(feature.stored));
  if (!list || !read_list(*list, wanted, sink))
    throw DataError("{}: feature \"{}\" is damaged", where(), feature.key);
  const std::string_view picture =
      wanted == 1 && sink.count() != feature.row.size() ? picture_in(*list) : "";
  if (!picture.empty()) {
    throw DataError(
        "{}: feature \"{}\" holds {} file of {} bytes, and pictures in records are not decoded; "
        "write its pixels into the record, or give a folder of pictures",
        where(), feature.key, picture, sink.count());
  }
  if (feature.padded) {
    pad(feature, sink.count(), where, to);
  } else if (sink.count() != feature.row.size()) {
    throw DataError(
        "{}: feature \"{}\" has {} elements, but {} were expected, for the shape {}; where lengths "
        "differ, declare the longest: {{key: {}, longest: {}}}",
        where(), feature.key, sink.count(), feature.row.size(), feature.row.text(), feature.key,
        std::max(sink.count(), feature.row.size()));
  }
}

}  // namespace snug
