#include "snug/data/tfrecord.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// What TensorFlow writes for {label: int64[7], x: float[1, 2], img: bytes["\x89PNG"]}.
const std::string kTensorFlows = from_hex(
    "36000000000000004f578cef0a340a0e0a056c6162656c12051a030a01070a110a0178120c120a0a080000803f00"
    "0000400a0f0a03696d6712080a060a0489504e4779ff6a45");

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string feature(const std::string& key, int list, const std::string& content) {
  return field(1, field(1, key) + field(2, field(list, content)));
}
std::string packed_floats(const std::vector<float>& values) {
  return field(1, {reinterpret_cast<const char*>(values.data()), values.size() * 4});
}
std::string packed_ints(const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) bytes += varint(static_cast<uint64_t>(value));
  return field(1, bytes);
}
std::string crc_of(const std::string& bytes) {
  const uint32_t crc = masked_crc32c(std::as_bytes(std::span(bytes)));
  return {reinterpret_cast<const char*>(&crc), 4};
}
std::string record(const std::string& data) {
  const uint64_t size = data.size();
  const std::string length(reinterpret_cast<const char*>(&size), 8);
  return length + crc_of(length) + data + crc_of(data);
}
TEST(TfExample, ItsFeaturesAreListed) {
  const std::string bytes =
      field(1, feature("x", 2, packed_floats({1, 2, 3})) + feature("y", 3, packed_ints({7})) +
                   feature("none", 3, packed_ints({})) + feature("text", 1, field(1, "abc")) +
                   feature("image", 1, field(1, "\xff\xd8\xff\xe0")));
  const auto found = features_of(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(found && found->size() == 5u);
  EXPECT_EQ((*found)[0].spec.row, (Shape{3}));
  EXPECT_EQ((*found)[0].spec.stored, StoredType::float32);
  EXPECT_EQ((*found)[1].spec.row, Shape{});
  EXPECT_EQ((*found)[1].spec.stored, StoredType::int64);
  expect_within((*found)[2].why_not, "empty");
  EXPECT_EQ((*found)[3].spec.row, (Shape{3}));
  EXPECT_EQ((*found)[3].why_not, "");
  expect_within((*found)[4].why_not, "a JPEG file");
  const std::string broken = bytes.substr(0, bytes.size() - 1);
  EXPECT_FALSE(features_of(std::as_bytes(std::span(broken))));
}

std::string example(const std::vector<float>& x, int64_t label) {
  return record(
      field(1, feature("x", 2, packed_floats(x)) + feature("label", 3, packed_ints({label}))));
}

data::TfRecordOptions options_for(MemoryFiles& files) {
  data::TfRecordOptions options;
  options.files = {"t.tfrecord"};
  options.x = {{.key = "x", .row = {2}}};
  options.y = {{.key = "label", .row = {}, .stored = StoredType::int64}};
  options.file_system = &files;
  return options;
}

SourcePtr open_records(MemoryFiles& files, const std::string& bytes) {
  write_text(files, "t.tfrecord", bytes);
  return data::tfrecord(options_for(files));
}

std::string refusal(const std::string& bytes) {
  MemoryFiles files;
  return message_of<DataError>([&] {
    const SourcePtr source = open_records(files, bytes);
    for (const int part : {0, 1}) {
      for (int64_t row = 0; row < *source->rows(); ++row) read_rows<float>(*source, part, {row});
    }
  });
}

TEST(TfRecord, ReadsWhatTensorFlowWrites) {
  MemoryFiles files;
  write_text(files, "t.tfrecord", kTensorFlows);
  data::TfRecordOptions options = options_for(files);
  options.x.push_back({.key = "img", .row = {4}, .stored = StoredType::uint8});
  const SourcePtr source = data::tfrecord(options);
  EXPECT_EQ(source->rows(), 1);
  EXPECT_EQ(read_rows(*source, 0, {0}), (std::vector<float>{1, 2}));
  EXPECT_EQ(read_rows(*source, 1, {0}), (std::vector<float>{0x89, 'P', 'N', 'G'}));
  EXPECT_EQ(read_rows<int32_t>(*source, 2, {0}), (std::vector<int32_t>{7}));
  EXPECT_EQ(record(""), from_hex("000000000000000029039807d8ea82a2"));
}

// The places of its records were learned when it was opened.
TEST(TfRecord, AFileThatGrowsBetweenPassesIsAnError) {
  MemoryFiles files;
  const std::string before = example({1, 2}, 0) + example({3, 4}, 1);
  const SourcePtr source = open_records(files, before);
  const SourcePtr twin = source->twin();
  EXPECT_NO_THROW(source->begin_pass(1));
  const std::string more = example({5, 6}, 1);
  files.open("t.tfrecord", OpenMode::append)->append(std::as_bytes(std::span(more)));
  for (const SourcePtr& reader : {source, twin}) {
    expect_within(message_of<FileError>([&] { reader->begin_pass(2); }),
                  fmt::format("t.tfrecord: it had {} bytes when it was opened and has {} now",
                              before.size(), before.size() + more.size()));
  }
}

TEST(TfRecord, HasRandomAccess) {
  MemoryFiles files;
  std::string bytes, others;
  for (int i = 0; i < 40; ++i) (i < 25 ? bytes : others) += example({float(i), float(-i)}, i % 3);
  write_text(files, "t.tfrecord", bytes);
  write_text(files, "u.tfrecord.gz", gzipped(others));
  data::TfRecordOptions options = options_for(files);
  options.files.emplace_back("u.tfrecord.gz");
  expect_within(message_of<DataError>([&] { data::tfrecord(options); }), "give a cache folder");
  options.cache = "cache";
  const SourcePtr source = data::tfrecord(options);
  ASSERT_EQ(source->rows(), 40);
  EXPECT_EQ(read_rows(*source, 0, {39, 3}), (std::vector<float>{39, -39, 3, -3}));
  EXPECT_EQ(source->place(0, 30), "u.tfrecord.gz: record 5");
  expect_random_source(*source);
}

TEST(TfRecord, TakesListsThatAreNotPacked) {
  std::string list;
  for (const float value : {3.0f, 4.0f}) {
    list += varint(1 << 3 | 5) + std::string(reinterpret_cast<const char*>(&value), 4);
  }
  const std::string ints = varint(1 << 3) + varint(static_cast<uint64_t>(-5));
  MemoryFiles files;
  const SourcePtr source =
      open_records(files, record(field(1, feature("x", 2, list) + feature("label", 3, ints))));
  EXPECT_EQ(read_rows(*source, 0, {0}), (std::vector<float>{3, 4}));
  EXPECT_EQ(read_rows<int32_t>(*source, 1, {0}), (std::vector<int32_t>{-5}));
}

// Of several texts of bytes none is left out unseen.
TEST(TfRecord, SeveralTextsOfBytesAreOneRow) {
  MemoryFiles files;
  const std::string list = field(1, "ab") + field(1, "cd");
  write_text(files, "t.tfrecord", record(field(1, feature("x", 1, list))));
  data::TfRecordOptions options = options_for(files);
  options.y = {};
  options.x = {{.key = "x", .row = {4}, .stored = StoredType::uint8}};
  EXPECT_EQ(read_rows(*data::tfrecord(options), 0, {0}), (std::vector<float>{97, 98, 99, 100}));
  options.x[0].row = {2};
  expect_within(message_of<DataError>([&] { read_rows(*data::tfrecord(options), 0, {0}); }),
                "\"x\" has 4 elements, but 2 were expected");
}

TEST(TfRecord, RecordsOfDifferentLengths) {
  MemoryFiles files;
  write_text(files, "t.tfrecord", example({1, 2}, 0) + example({}, 1) + example({3, 4, 5, 6}, 2));
  data::TfRecordOptions options = options_for(files);
  options.x = {{.key = "x", .row = {2, 2}, .padded = true}};
  const SourcePtr source = data::tfrecord(options);
  EXPECT_EQ(read_rows(*source, 0, {2, 0, 1}),
            (std::vector<float>{3, 4, 5, 6, 1, 2, 0, 0, 0, 0, 0, 0}));
  options.x[0].row = {1, 2};
  EXPECT_EQ(message_of<DataError>([&] { read_rows(*data::tfrecord(options), 0, {2}); }),
            "t.tfrecord: record 2: feature \"x\" has 2 steps, but 1 is the longest that was "
            "declared; declare more, or drop the record");
  options.x[0].row = {2, 3};
  expect_within(message_of<DataError>([&] { read_rows(*data::tfrecord(options), 0, {0}); }),
                "has 2 elements, which are no whole steps of 3");
}

TEST(TfRecord, NamesWhatIsWrong) {
  const std::string good = example({1, 2}, 0);
  std::string damaged = good + good;
  damaged[good.size() + 20] = static_cast<char>(damaged[good.size() + 20] ^ 1);
  expect_within(refusal(damaged),
                fmt::format("t.tfrecord: record 1 at byte {} has a wrong checksum", good.size()));
  expect_within(refusal(good + good.substr(0, 5)), "record 1 at byte");
  expect_within(refusal(good.substr(0, good.size() - 1)), "record 0 at byte 0 is cut off");
  expect_within(refusal("this is a text and no file of records"), "this is no TFRecord file");
  expect_within(refusal(""), "it has no records");
  expect_within(refusal(record("no example")), "record 0: it is no tf.train.Example");
  expect_within(refusal(example({1, 2, 3}, 0)), "\"x\" has 3 elements, but 2 were expected");
  expect_within(refusal(example({1, 2, 3}, 0)), "{key: x, longest: 3}");
  expect_within(refusal(example({1, NAN}, 0)), "\"x\", element 1 is nan");
  expect_within(refusal(record(field(1, feature("x", 3, packed_ints({1, 2}))))),
                "\"x\" holds an int64_list, but a float_list was expected");
  expect_within(refusal(record(field(1, feature("z", 2, packed_floats({1, 2}))))),
                "no feature \"x\", but \"z\"");
  const uint64_t huge = uint64_t{1} << 40;
  const std::string length(reinterpret_cast<const char*>(&huge), 8);
  expect_within(refusal(length + crc_of(length)), "has 1099511627776 bytes, more than");
}

// What files of other people often are.
TEST(TfRecord, NamesPicturesAndOtherCompression) {
  MemoryFiles files;
  const std::string jpeg = "\xff\xd8\xff\xe0 and so on";
  write_text(files, "t.tfrecord", record(field(1, feature("x", 1, field(1, jpeg)))));
  data::TfRecordOptions options = options_for(files);
  options.x = {{.key = "x", .row = {8, 8, 3}, .stored = StoredType::uint8}};
  const SourcePtr source = data::tfrecord(options);
  expect_within(message_of<DataError>([&] { read_rows(*source, 0, {0}); }),
                "record 0: feature \"x\" holds a JPEG file of 14 bytes");
  expect_within(refusal("\x78\x9c and then what zlib writes"), "looks compressed by ZLIB");
}

TEST(TfRecord, NoDamageIsAFaultOfOurs) {
  const std::string data =
      field(1, feature("x", 2, packed_floats({1, 2})) + feature("label", 3, packed_ints({1})));
  const FeatureSpec x{.key = "x", .row = {2}};
  for (size_t at = 0; at < data.size(); ++at) {
    for (const int change : {0, 1, 0x80, 0xff}) {
      std::string changed = change == 0 ? data.substr(0, at) : data;
      if (change != 0) changed[at] = static_cast<char>(changed[at] ^ change);
      std::array<float, 2> to{};
      try {
        read_feature(
            std::as_bytes(std::span(changed)), x, [] { return std::string("r"); },
            reinterpret_cast<std::byte*>(to.data()));
      } catch (const DataError&) {
        continue;
      }
    }
  }
}

// Places of a few records, from which the others are found: over files of any length, in any order.
TEST(TfRecord, ASampledIndexFindsEveryRecord) {
  MemoryFiles files;
  int64_t label = 0;
  for (const auto& [name, count] :
       {std::pair{"a", 1}, std::pair{"b", 90}, std::pair{"c", 2}, std::pair{"d", 37}}) {
    std::string text;
    for (int i = 0; i < count; ++i, ++label) {
      // Records of many lengths.
      text += record(field(1, feature("x", 2, packed_floats({static_cast<float>(label)})) +
                                  feature("label", 3, packed_ints({label})) +
                                  feature("pad", 1, field(1, std::string(label % 11 * 7, 'p')))));
    }
    files.open(name, OpenMode::write)->append(std::as_bytes(std::span(text)));
  }
  for (const int64_t bytes : {64, 200, 1 << 20}) {
    data::TfRecordOptions options;
    options.files = {"a", "b", "c", "d"};
    options.x = {{.key = "x", .row = {1}}};
    options.y = {{.key = "label", .row = {}, .stored = StoredType::int64}};
    options.most_in_memory = bytes;
    options.file_system = &files;
    const SourcePtr source = data::tfrecord(options);
    ASSERT_EQ(source->rows(), 130);
    expect_random_source(*source);
    expect_random_source(*source->twin());
    EXPECT_EQ(read_rows<int32_t>(*source, 1, {129, 0, 91, 92, 93, 1}),
              (std::vector<int32_t>{129, 0, 91, 92, 93, 1}));
    EXPECT_EQ(source->place(0, 92), "c: record 1");
    EXPECT_EQ(source->place(0, 90), "b: record 89");
    EXPECT_LE(source->buffer_bytes(), static_cast<size_t>(bytes) + 400);
  }
}

// By an earlier run: what is in the middle of a large file shows whether it was read again.
TEST(TfRecord, WhereTheRecordsAreIsKept) {
  MemoryFiles files;
  std::string bytes;
  for (int64_t i = 0; i < 300; ++i) {
    bytes += record(field(1, feature("x", 2, packed_floats({static_cast<float>(i), 1})) +
                                 feature("label", 3, packed_ints({i})) +
                                 feature("pad", 1, field(1, std::string(1000 + i % 7, 'p')))));
  }
  data::TfRecordOptions options = options_for(files);
  options.cache = "cache";
  write_text(files, "t.tfrecord", bytes);
  EXPECT_EQ(data::tfrecord(options)->rows(), 300);
  ASSERT_EQ(files.list("cache").size(), 1u);

  const std::byte damage{'d'};
  files.open("t.tfrecord", OpenMode::update)->write_at({&damage, 1}, std::ssize(bytes) / 2);
  const SourcePtr again = data::tfrecord(options);
  EXPECT_EQ(read_rows<int32_t>(*again, 1, {299, 0, 148}), (std::vector<int32_t>{299, 0, 148}));
  int damaged = 0;
  for (int64_t row = 0; row < 300; ++row) {
    try {
      read_rows<int32_t>(*again, 1, {row});
    } catch (const DataError& error) {
      ++damaged;
      expect_within(error.what(), fmt::format("t.tfrecord: record {} has a wrong checksum", row));
    }
  }
  EXPECT_EQ(damaged, 1);

  // What was kept is gone, so all of the file is read, and its damage is found at once.
  files.remove(Path("cache") / files.list("cache")[0]);
  expect_within(message_of<DataError>([&] { data::tfrecord(options); }), "has a wrong checksum");
  EXPECT_TRUE(files.list("cache").empty());
}

// By words and by bytes: the check value of CRC-32C, and texts of every length.
TEST(TfRecord, ChecksumsOfAnyLength) {
  const auto unmasked = [](std::string_view text) {
    const uint32_t masked = masked_crc32c(std::as_bytes(std::span(text))) - 0xa282ead8u;
    return masked >> 17 | masked << 15;
  };
  EXPECT_EQ(unmasked("123456789"), 0xe3069283u);
  std::string text;
  for (int length = 0; length < 40; ++length, text += static_cast<char>(length * 37)) {
    uint32_t crc = ~0u;
    for (const char byte : text) {
      crc ^= static_cast<uint8_t>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    }
    EXPECT_EQ(unmasked(text), ~crc) << length;
  }
}

}  // namespace
}  // namespace snug::testing
