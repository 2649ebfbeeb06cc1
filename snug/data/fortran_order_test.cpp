#include "snug/data/fortran_order.h"

#include <gtest/gtest.h>

#include "snug/data/npy.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

// The file of an array of these extents, in which element (i, j, k) is 100 i + 10 j + k.
template <typename T>
std::string fortran(std::string_view dtype, const std::vector<int64_t>& shape) {
  std::string extents;
  for (const int64_t extent : shape) extents += fmt::format("{}, ", extent);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': True, 'shape': ({}), }}", dtype, extents);
  text.resize((text.size() + 10) / 64 * 64 + 53, ' ');
  text += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += {static_cast<char>(text.size()), static_cast<char>(text.size() >> 8)};
  bytes += text;
  const int64_t rows = shape[0], height = shape[1], width = shape.size() > 2 ? shape[2] : 1;
  for (int64_t k = 0; k < width; ++k) {
    for (int64_t j = 0; j < height; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        const T value = static_cast<T>(100 * i + 10 * j + k);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
      }
    }
  }
  return bytes;
}

TEST(FortranOrder, IsPutInRows) {
  MemoryFiles files;
  write_text(files, "x.npy", fortran<float>("<f4", {5, 3, 4}));
  const data::NpyOptions options{.x = {"x.npy"}, .y = {}, .cache = "cache", .files = &files};
  const SourcePtr source = data::npy(options);
  EXPECT_EQ(source->fields()[0].row, (Shape{3, 4}));
  expect_random_source(*source);
  const std::vector<float> row = read_rows(*source, 0, {2});
  for (int64_t j = 0; j < 3; ++j) {
    for (int64_t k = 0; k < 4; ++k)
      EXPECT_EQ(row[static_cast<size_t>(4 * j + k)], static_cast<float>(200 + 10 * j + k));
  }
  EXPECT_EQ(source->place(0, 2), "x.npy: row 2");
  // Once.
  FaultyFiles counting(files);
  data::NpyOptions again = options;
  again.files = &counting;
  const int64_t before = counting.calls();
  EXPECT_EQ(read_rows(*data::npy(again), 0, {2}), row);
  EXPECT_LE(counting.calls() - before, 4) << "it was written again";
  // Another file of the same size is another array.
  std::string other = fortran<float>("<f4", {5, 3, 4});
  other[other.size() - 1] = 0;
  other[other.size() - 2] = 0;
  write_text(files, "x.npy", other);
  EXPECT_NE(read_rows(*data::npy(options), 0, {4}), read_rows(*source, 0, {4}));
}

TEST(FortranOrder, OfManyBlocksAndOtherTypes) {
  MemoryFiles files;
  write_text(files, "x.npy", fortran<double>("<f8", {40'000, 7}));
  write_text(files, "y.npy", fortran<uint8_t>("|u1", {40'000, 1}));
  const SourcePtr source =
      data::npy({.x = {"x.npy"}, .y = {"y.npy"}, .cache = "cache", .files = &files});
  for (const int64_t row : {int64_t{0}, int64_t{18'724}, int64_t{18'725}, int64_t{39'999}}) {
    const auto first = static_cast<float>(100 * row);
    EXPECT_EQ(read_rows(*source, 0, {row}),
              (std::vector<float>{first, first + 10, first + 20, first + 30, first + 40, first + 50,
                                  first + 60}));
    EXPECT_EQ(read_rows<int32_t>(*source, 1, {row})[0], 100 * row % 256);
  }
}

TEST(FortranOrder, NeedsAFolder) {
  MemoryFiles files;
  write_text(files, "x.npy", fortran<float>("<f4", {5, 3}));
  expect_within(
      message_of<DataError>([&] { data::npy({.x = {"x.npy"}, .y = {}, .files = &files}); }),
      "x.npy: it is in Fortran order");
}

}  // namespace
}  // namespace snug::testing
