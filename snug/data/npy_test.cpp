#include "snug/data/npy.h"

#include <cmath>
#include <cstring>

#include "snug/data/npy_header.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"

namespace snug {
namespace {

using testing::expect_random_source;
using testing::expect_within;
using testing::MemoryFiles;
using testing::message_of;
using testing::read_rows;
using testing::write_text;

std::string dict(std::string_view dtype, std::string_view shape, bool fortran = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", dtype,
                     fortran ? "True" : "False", shape);
}

// A header of this version around a text, padded as NumPy pads it.
std::string header(std::string text, int version = 1) {
  const size_t preamble = version == 1 ? 10 : 12;
  while ((preamble + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), 0};
  for (size_t i = 0; i < preamble - 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i));
  return bytes + text;
}

template <typename T>
std::string elements(const std::vector<T>& values, bool big_endian = false) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  for (size_t i = 0; big_endian && i < values.size(); ++i) {
    std::reverse(bytes.begin() + i * sizeof(T), bytes.begin() + (i + 1) * sizeof(T));
  }
  return bytes;
}

template <typename T>
std::string counted(int64_t count, bool big_endian = false) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(i % 100);
  return elements(values, big_endian);
}

class NpyTest : public ::testing::Test {
 protected:
  SourcePtr open(const std::string& bytes, size_t buffer = 64) {
    write_text(files_, "x.npy", bytes);
    return data::npy({.x = {"x.npy"}, .y = {}, .files = &files_, .buffer_bytes = buffer});
  }
  std::string refusal(const std::string& bytes) {
    std::string message = message_of<DataError>([&] { open(bytes); });
    EXPECT_TRUE(message.starts_with("x.npy: ")) << message;
    return message;
  }
  std::string header_refusal(const std::string& text) { return refusal(header(text)); }

  template <typename T>
  void expect_type(std::string_view code, StoredType stored) {
    for (const bool big : {false, true}) {
      for (const int version : {1, 2, 3}) {
        const std::string dtype = fmt::format("{}{}", big ? '>' : '<', code);
        const SourcePtr source =
            open(header(dict(dtype, "(30, 5)"), version) + counted<T>(150, big));
        EXPECT_EQ(source->fields()[0].stored, stored);
        EXPECT_EQ(source->buffer_bytes(), 64);
        expect_random_source(*source);
        EXPECT_EQ(read_rows(*source, 0, {3}), (std::vector<float>{15, 16, 17, 18, 19}));
      }
    }
  }

  MemoryFiles files_;
};

TEST_F(NpyTest, ReadsEveryNumericType) {
  expect_type<float>("f4", StoredType::float32);
  expect_type<double>("f8", StoredType::float64);
  expect_type<int8_t>("i1", StoredType::int8);
  expect_type<int16_t>("i2", StoredType::int16);
  expect_type<int32_t>("i4", StoredType::int32);
  expect_type<int64_t>("i8", StoredType::int64);
  expect_type<uint8_t>("u1", StoredType::uint8);
  expect_type<uint16_t>("u2", StoredType::uint16);
  expect_type<uint32_t>("u4", StoredType::uint32);
  expect_type<uint64_t>("u8", StoredType::uint64);
}

TEST_F(NpyTest, ReadsHalvesAndTruths) {
  const auto halves = open(header(dict("<f2", "(2,)")) + elements<uint16_t>({0x3c00, 0x4000}));
  EXPECT_EQ(read_rows(*halves, 0, {1, 0}), (std::vector<float>{2, 1}));
  const auto truths = open(header(dict("|b1", "(3,)")) + std::string("\0\1\2", 3));
  EXPECT_EQ(read_rows(*truths, 0, {0, 1, 2}), (std::vector<float>{0, 1, 1}));
}

// Rows that are larger than the buffer are read in pieces, and a bad element is still named right.
TEST_F(NpyTest, NamesABadElementInAnyPiece) {
  for (const size_t buffer : {8, 64, 1 << 20}) {
    std::vector<double> values(600, 1.0);
    values[13 * 30 + 29] = std::nan("");
    const SourcePtr source = open(header(dict("<f8", "(20, 5, 6)")) + elements(values), buffer);
    EXPECT_EQ(
        message_of<DataError>([&] {
          read_rows(*source, 0, {12, 13, 14});
        }),
        "x.npy: row 13, element [4, 5] is nan, but a finite number was expected; mend or drop "
        "the row");
    EXPECT_EQ(read_rows(*source, 0, {12, 14}), std::vector<float>(60, 1.0f));
  }
  const auto floats = open(header(dict("<f4", "(2, 2)")) + elements<float>({1, 2, 3, INFINITY}));
  expect_within(message_of<DataError>([&] {
                  read_rows(*floats, 0, {0, 1});
                }),
                "x.npy: row 1, column 1 is inf");
}

TEST_F(NpyTest, ReadsSeveralFiles) {
  write_text(files_, "a.npy", header(dict("<f4", "(4, 2)")) + counted<float>(8));
  write_text(files_, "y.npy", header(dict("<i8", "(4,)")) + counted<int64_t>(4));
  write_text(files_, "w.npy", header(dict("<f4", "(4,)")) + counted<float>(4));
  const SourcePtr source = data::npy(
      {.x = {"a.npy", "w.npy"}, .y = {"y.npy"}, .sample_weight = "w.npy", .files = &files_});
  ASSERT_EQ(source->fields().size(), 4);
  EXPECT_EQ(source->fields()[2].name, "y.npy");
  EXPECT_EQ(source->fields()[3].role, FieldRole::weight);
  EXPECT_EQ(source->buffer_bytes(), kRowBufferBytes + 32) << "w.npy is small beside a.npy";
  EXPECT_EQ(read_rows<int32_t>(*source, 2, {3, 0}), (std::vector<int32_t>{3, 0}));
  write_text(files_, "y.npy", header(dict("<i8", "(3,)")) + counted<int64_t>(3));
  expect_within(message_of([&] { data::npy({.x = {"a.npy"}, .y = {"y.npy"}, .files = &files_}); }),
                "a.npy has 4, y.npy has 3");
}

TEST_F(NpyTest, ReadsHeadersOfAllWriters) {
  const std::string four = elements<float>({1, 2, 3, 4});
  for (const char* text : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
           "{'shape': (4,), 'fortran_order': False, 'descr': '<f4'}",
           "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(4,)}",
           "{'descr': '<f4', 'fortran_order': True, 'shape': (4L,), }",
           " {'descr' : '=f4' , 'fortran_order' : False , 'shape' : ( 4 , 1 ) }",
       }) {
    EXPECT_EQ(read_rows(*open(header(text) + four), 0, {0, 3}), (std::vector<float>{1, 4})) << text;
  }
  EXPECT_EQ(open(header(dict("<f4", "(0, 3)")))->rows(), 0);
}

TEST_F(NpyTest, RefusesWhatIsNoNpyFile) {
  expect_within(refusal(""), "it is empty");
  expect_within(refusal("PK\3\4 an npz file"), "it is no .npy file");
  expect_within(refusal("\x93NUM"), "cut off in its header, after 4 bytes");
  expect_within(refusal("\x93NUMPY"), "cut off in its header, after 6 bytes");
  expect_within(refusal(std::string("\x93NUMPY\1\0\5", 9)), "cut off in its header, after 9 bytes");
  expect_within(refusal(std::string("\x93NUMPY\7\0\5\0\0\0", 12)), "version 7 of the .npy format");
  expect_within(refusal(std::string("\x93NUMPY\2\0\0\0\0\1", 12)), "claims 16777216 bytes of text");
  expect_within(refusal(header(dict("<f4", "(2,)")).substr(0, 50)),
                "cut off in its header, which has 128 bytes, after 50");
}

TEST_F(NpyTest, RefusesHeadersThatCannotBeRead) {
  expect_within(header_refusal("nonsense"), "\"{\" was expected at byte 0 of \"nonsense");
  expect_within(header_refusal("{'descr': '<f4"), "the end of a text was expected");
  expect_within(header_refusal("{'fortran_order': Maybe}"), "\"F\" was expected");
  expect_within(header_refusal("{'fortran_order': Trueish}"), "was expected");
  expect_within(header_refusal("{'fortran_order': Fals}"), "True or False was expected");
  expect_within(header_refusal("{'color': 'red'}"), "descr, fortran_order or shape was expected");
  expect_within(header_refusal("{'descr': '<f4'}"), "one each of descr, fortran_order and shape");
  expect_within(header_refusal(dict("<f4", "(2, x)")), "a whole number was expected");
  expect_within(header_refusal(dict("<f4", "(-2,)")), "a whole number was expected");
  expect_within(header_refusal(dict("<f4", "(99999999999999999999,)")), "a smaller number");
  expect_within(header_refusal(dict("<f4", "(1,1,1,1,1,1,1,1,1)")), "more than 8 axes");
}

TEST_F(NpyTest, RefusesElementsThatAreNoNumbers) {
  expect_within(header_refusal(dict("|O", "(2,)")), "it holds Python objects (dtype \"|O\")");
  expect_within(header_refusal(dict("<U5", "(2,)")), "it holds texts (dtype \"<U5\")");
  expect_within(header_refusal(dict("|S3", "(2,)")), "it holds texts");
  expect_within(header_refusal(dict("<M8[ns]", "(2,)")), "it holds dates or durations");
  expect_within(header_refusal(dict("<c8", "(2,)")), "it holds complex numbers");
  expect_within(header_refusal(dict("<V2", "(2,)")), "it holds raw bytes or bfloat16");
  expect_within(header_refusal(dict("<f16", "(2,)")), "a size that is not 2, 4 or 8");
  expect_within(header_refusal(dict("", "(2,)")), "no numbers (dtype \"\")");
  expect_within(header_refusal("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
                "records of several columns");
}

TEST_F(NpyTest, RefusesShapesThatItCannotRead) {
  expect_within(header_refusal(dict("<f4", "(2, 2)", true)), "numpy.ascontiguousarray");
  expect_within(header_refusal(dict("<f4", "()")), "a single number");
  expect_within(header_refusal(dict("<f8", "(4000000000, 4000000000)")),
                "more than any file holds");
  expect_within(header_refusal(dict("<f8", "(0, 4000000000, 4000000000)")), "more than any file");
  expect_within(header_refusal(dict("|u1", "(4611686018427387904,)")), "more than any file");
  write_text(files_, "x.npy", header(dict("<f4", "(7, 0)")));
  expect_within(message_of([&] { data::npy({.x = {"x.npy"}, .y = {}, .files = &files_}); }),
                "a row has the shape [0] and so no elements");
}

TEST_F(NpyTest, RefusesFilesOfAnotherSize) {
  const std::string whole = header(dict("<f4", "(10, 2)")) + counted<float>(20);
  expect_within(refusal(whole.substr(0, whole.size() - 9)),
                "it is cut off: the header says 10 rows of 8 bytes, 208 bytes in all, but the file "
                "has 199 and ends in row 8");
  expect_within(refusal(whole + "abc"), "but 3 bytes follow the last row");
}

TEST_F(NpyTest, NoticesAFileThatChanges) {
  const std::string whole = header(dict("<f4", "(10, 2)")) + counted<float>(20);
  const SourcePtr source = open(whole);
  files_.open("x.npy", OpenMode::update)->truncate(180);
  EXPECT_EQ(read_rows(*source, 0, {0}), (std::vector<float>{0, 1}));
  const std::string changed = message_of<FileError>([&] { read_rows(*source, 0, {6}); });
  expect_within(changed, "x.npy: it had 208 bytes when it was opened and has 180 now");
  expect_within(message_of<FileError>([&] { source->begin_pass(1); }), "has 180 now");
}

TEST_F(NpyTest, PassesOnWhatTheDiskSays) {
  expect_within(message_of<FileError>([&] { data::npy({.x = {"none.npy"}, .files = &files_}); }),
                "none.npy: cannot open it");
  write_text(files_, "x.npy", header(dict("<f4", "(10, 2)")) + counted<float>(20));
  testing::FaultyFiles faulty(files_);
  const SourcePtr source = data::npy({.x = {"x.npy"}, .files = &faulty});
  faulty.set_count_reads(true);
  faulty.fail_call(1, testing::Fault::input_output);
  EXPECT_THROW(read_rows(*source, 0, {0}), FileError);
  EXPECT_EQ(read_rows(*source, 0, {0}), (std::vector<float>{0, 1}));
}

// As many requests as there are stretches; what lies between rows of one is less than a page.
TEST_F(NpyTest, ReadsNeighboursTogether) {
  write_text(files_, "x.npy", header(dict("<f4", "(5000, 2)")) + counted<float>(10'000));
  testing::FaultyFiles counting(files_);
  const SourcePtr source = data::npy({.x = {"x.npy"}, .files = &counting});
  counting.set_count_reads(true);
  const int64_t before = counting.calls();
  EXPECT_EQ(read_rows(*source, 0, {4000, 5, 6, 4001, 90, 2000, 3}),
            (std::vector<float>{0, 1, 10, 11, 12, 13, 2, 3, 80, 81, 0, 1, 6, 7}));
  EXPECT_EQ(counting.calls() - before, 3);
}

}  // namespace
}  // namespace snug
