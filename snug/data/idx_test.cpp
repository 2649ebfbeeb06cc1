#include "snug/data/idx.h"

#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"

namespace snug {
namespace {

using testing::expect_random_source;
using testing::expect_within;
using testing::gzipped;
using testing::message_of;
using testing::read_rows;
using testing::write_text;

std::string idx_header(char type, const std::vector<uint32_t>& extents) {
  std::string bytes = {0, 0, type, static_cast<char>(extents.size())};
  for (const uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(extent >> shift);
  }
  return bytes;
}

template <typename T>
std::string counted(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    const T value = static_cast<T>(i % 100);
    const auto* start = reinterpret_cast<const char*>(&value);
    bytes.append(std::reverse_iterator(start + sizeof(T)), std::reverse_iterator(start));
  }
  return bytes;
}

class IdxTest : public ::testing::Test {
 protected:
  SourcePtr open(std::string_view images, data::IdxOptions options = {}) {
    write_text(files_, "images", images);
    options.x = {"images"};
    options.files = &files_;
    return data::idx(options);
  }
  std::string refusal(std::string_view bytes) {
    std::string message = message_of<DataError>([&] { open(bytes); });
    EXPECT_TRUE(message.starts_with("images: ")) << message;
    return message;
  }

  template <typename T>
  void expect_type(char code, StoredType stored) {
    const std::string bytes = idx_header(code, {9, 2, 3}) + counted<T>(54);
    const std::string packed = gzipped(bytes);
    expect_rows(*open(bytes, {.buffer_bytes = 24}), stored, 24);
    expect_rows(*open(packed), stored, 54 * sizeof(T));
    expect_rows(*open(packed, {.buffer_bytes = 24, .cache = "cache"}), stored, 24);
  }

  static void expect_rows(Source& source, StoredType stored, size_t buffer_bytes) {
    EXPECT_EQ(source.buffer_bytes(), buffer_bytes);
    EXPECT_EQ(source.fields()[0].stored, stored);
    EXPECT_EQ(source.fields()[0].row, (Shape{2, 3}));
    EXPECT_EQ(source.fields()[0].name, "images");
    expect_random_source(source);
    EXPECT_EQ(read_rows(source, 0, {2}), (std::vector<float>{12, 13, 14, 15, 16, 17}));
  }

  testing::MemoryFiles files_;
};

TEST_F(IdxTest, ReadsEveryTypePlainAndPacked) {
  expect_type<uint8_t>(0x08, StoredType::uint8);
  expect_type<int8_t>(0x09, StoredType::int8);
  expect_type<int16_t>(0x0b, StoredType::int16);
  expect_type<int32_t>(0x0c, StoredType::int32);
  expect_type<float>(0x0d, StoredType::float32);
  expect_type<double>(0x0e, StoredType::float64);
}

TEST_F(IdxTest, RefusesWhatIsNoIdxFile) {
  for (const bool packed : {false, true}) {
    const auto message = [&](const std::string& bytes) {
      return refusal(packed ? gzipped(bytes) : bytes);
    };
    expect_within(message("ab"), "it has only 2 bytes");
    expect_within(message("\x89PNG...."), "it begins with the bytes 89 50, but 00 00 was expected");
    expect_within(message(idx_header(0x0a, {1}) + "x"), "has the element type 0a");
    expect_within(message(idx_header(0x08, {})), "claims 0 axes");
    expect_within(message(idx_header(0x08, std::vector<uint32_t>(9, 1))), "claims 9 axes");
    expect_within(message(idx_header(0x08, {5, 5}).substr(0, 9)),
                  "cut off in its header, which has 12 bytes, after 9");
    expect_within(message(idx_header(0x08, std::vector<uint32_t>(4, ~0u))), "more than any file");
    expect_within(message(idx_header(0x08, {0, ~0u, ~0u, ~0u})), "more than any file");
  }
}

TEST_F(IdxTest, RefusesFilesOfAnotherSize) {
  const std::string bytes = idx_header(0x08, {5, 4}) + counted<uint8_t>(20);
  const std::string less = bytes.substr(0, bytes.size() - 1), more = bytes + "x";
  expect_within(refusal(less), "cut off: the header says 5 rows of 4 bytes, 32 bytes in all, but");
  expect_within(refusal(more), "but 1 bytes follow the last row");
  expect_within(refusal(gzipped(less)), "5 rows of 4 bytes, but it ends in row 4");
  expect_within(refusal(gzipped(more)), "but more follows");
  const data::IdxOptions cached{.cache = "cache"};
  expect_within(message_of<DataError>([&] { open(gzipped(less), cached); }), "it ends in row 4");
  expect_within(message_of<DataError>([&] { open(gzipped(more), cached); }), "but more follows");
  EXPECT_TRUE(files_.list("cache").empty());
  const std::string packed = gzipped(bytes);
  expect_within(refusal(packed.substr(0, packed.size() - 3)), "the gzip file is cut off");
}

TEST_F(IdxTest, RefusesMoreThanMemoryMayHold) {
  const std::string bytes = gzipped(idx_header(0x08, {1000, 30}) + counted<uint8_t>(30'000));
  expect_within(message_of<DataError>([&] { open(bytes, {.most_in_memory = 29'999}); }),
                "images: its rows are 29.3 KiB when inflated, but 29.3 KiB of memory are left");
  EXPECT_EQ(open(bytes, {.most_in_memory = 30'000})->rows(), 1000);
  // A few bytes that claim four gigabytes.
  expect_within(refusal(gzipped(idx_header(0x08, {~0u, 1}))), "when inflated");
}

TEST_F(IdxTest, RefusesLabelsOfOtherImages) {
  write_text(files_, "images", idx_header(0x08, {5, 4}) + counted<uint8_t>(20));
  write_text(files_, "labels", idx_header(0x08, {3}) + counted<uint8_t>(3));
  expect_within(
      message_of([&] { data::idx({.x = {"images"}, .y = {"labels"}, .files = &files_}); }),
      "same number of rows, but images has 5, labels has 3");
}

TEST_F(IdxTest, InflatesOnceAContent) {
  const std::string first = gzipped(idx_header(0x08, {3}) + "abc");
  open(first, {.cache = "cache"});
  ASSERT_EQ(files_.list("cache").size(), 1);
  testing::FaultyFiles counting(files_);
  const int64_t before = counting.calls();
  data::idx({.x = {"images"}, .files = &counting, .cache = "cache"});
  EXPECT_EQ(counting.calls() - before, 0) << "nothing is written";
  const SourcePtr other = open(gzipped(idx_header(0x08, {3}) + "xyz"), {.cache = "cache"});
  EXPECT_EQ(files_.list("cache").size(), 2);
  EXPECT_EQ(read_rows(*other, 0, {0}), (std::vector<float>{'x'}));
}

// A disk that fails while the rows are inflated leaves nothing that a later run would take for
// them.
TEST_F(IdxTest, SurvivesAFaultAtAnyWrite) {
  const std::string packed = gzipped(idx_header(0x08, {3}) + "abc");
  for (int call = 1; call < 12; ++call) {
    testing::MemoryFiles files;
    write_text(files, "images", packed);
    testing::FaultyFiles faulty(files);
    faulty.fail_call(call, testing::Fault::no_space);
    try {
      data::idx({.x = {"images"}, .files = &faulty, .cache = "cache"});
    } catch (const FileError&) {
      SCOPED_TRACE(call);
    }
    const SourcePtr source = data::idx({.x = {"images"}, .files = &files, .cache = "cache"});
    EXPECT_EQ(read_rows(*source, 0, {0, 1, 2}), (std::vector<float>{'a', 'b', 'c'}));
  }
}

}  // namespace
}  // namespace snug
