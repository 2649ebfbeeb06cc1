#include "snug/data/hdf5_layout.h"

#include <gtest/gtest.h>

#include <limits>

#include "snug/data/hdf5_links.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

// Bytes by their numbers.
Hdf5Bytes bytes(const std::vector<int>& numbers) {
  std::vector<std::byte> all;
  for (const int number : numbers) all.push_back(static_cast<std::byte>(number));
  return {all, "t.h5"};
}
Hdf5Type type_of(const std::vector<int>& numbers) { return hdf5_type(bytes(numbers)); }

TEST(Hdf5Layout, Types) {
  EXPECT_EQ(type_of({0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0}).name, "int32");
  EXPECT_EQ(type_of({0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0}).name, "uint8");
  EXPECT_EQ(type_of({0x10, 0, 0, 0, 3, 0, 0, 0, 0, 0, 24, 0}).name, "unknown");
  const std::vector<int> float32 = {0x11, 0x20, 0x1f, 0, 4, 0,    0,    0,    0, 0,
                                    32,   0,    23,   8, 0, 0x17, 0x7f, 0x00, 0, 0};
  EXPECT_EQ(type_of(float32).name, "float32");
  EXPECT_FALSE(type_of(float32).swapped);
  std::vector<int> turned = float32;
  turned[1] = 0x21;
  EXPECT_EQ(type_of(turned).name, "float32");
  EXPECT_TRUE(type_of(turned).swapped);
  std::vector<int> strange = float32;
  strange[13] = 7;  // Another size of the exponent.
  EXPECT_EQ(type_of(strange).name, "unknown");
  EXPECT_TRUE(type_of({0x13, 0, 0, 0, 5, 0, 0, 0}).is_text);
  EXPECT_TRUE(type_of({0x19, 1, 0, 0, 16, 0, 0, 0}).is_variable_text);
  // h5py's bool: an enumeration of bytes.
  EXPECT_EQ(type_of({0x18, 2, 0, 0, 1, 0, 0, 0, 0x10, 8, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0}).name,
            "int8");
  // An enumeration of enumerations: no library writes one.
  EXPECT_EQ(type_of({0x18, 2, 0,    0, 1, 0, 0, 0, 0x18, 2, 0, 0, 1, 0,
                     0,    0, 0x10, 8, 0, 0, 1, 0, 0,    0, 0, 0, 8, 0})
                .name,
            "unknown");
  EXPECT_THROW(type_of({0x10, 8, 0}), CorruptFile);
}

TEST(Hdf5Layout, Spaces) {
  const Hdf5Space old = hdf5_space(bytes(
      {1, 1, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(old.shape, std::vector<int64_t>{5});
  EXPECT_EQ(old.most, std::vector<int64_t>{-1});
  const Hdf5Space newer = hdf5_space(bytes({2, 1, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(newer.shape, std::vector<int64_t>{7});
  EXPECT_EQ(newer.most, newer.shape);
  EXPECT_TRUE(hdf5_space(bytes({2, 0, 0, 0})).shape.empty());
  EXPECT_THROW(hdf5_space(bytes({2, 0, 0, 2})), Hdf5NotRead) << "null: no elements at all";
  EXPECT_THROW(hdf5_space(bytes({9, 0, 0, 0})), Hdf5NotRead);
  EXPECT_THROW(hdf5_space(bytes({2, 200, 0, 0})), Hdf5NotRead);
  EXPECT_THROW(hdf5_space(bytes({2, 2, 0, 1, 7, 0, 0})), CorruptFile);
}

TEST(Hdf5Layout, Links) {
  const Hdf5Link hard = hdf5_link(bytes({1, 0, 2, 'a', 'b', 9, 1, 0, 0, 0, 0, 0, 0}), "t.h5");
  EXPECT_EQ(hard.name, "ab");
  EXPECT_TRUE(hard.is_hard);
  EXPECT_EQ(hard.address, 265);
  // With a kind, an order of creation and a set of characters.
  const Hdf5Link full = hdf5_link(
      bytes({1, 0x1c, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 'x', 8, 0, 0, 0, 0, 0, 0, 0}), "t.h5");
  EXPECT_EQ(full.name, "x");
  EXPECT_EQ(full.address, 8);
  EXPECT_FALSE(hdf5_link(bytes({1, 8, 1, 1, 'x'}), "t.h5").is_hard);
  EXPECT_THROW(hdf5_link(bytes({2, 0, 1, 'x'}), "t.h5"), CorruptFile);
  EXPECT_THROW(hdf5_link(bytes({1, 0, 200, 'x'}), "t.h5"), CorruptFile);
}

TEST(Hdf5Input, PlacesAreWhereNumbersReach) {
  MemoryFiles files;
  write_text(files, "t.h5", "12345678");
  const std::unique_ptr<File> file = files.open("t.h5", OpenMode::read);
  Hdf5Input input(*file, "t.h5");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(input.place(2, 3, 4), 14);
  EXPECT_EQ(input.place(kMost - 1, 1), kMost);
  EXPECT_THROW(input.place(kMost, 1), CorruptFile);
  EXPECT_THROW(input.place(0, kMost, 2), CorruptFile);
  EXPECT_EQ(input.up_to(6, 4).left(), 2u);
  EXPECT_THROW(input.up_to(kLeast, 4), CorruptFile);
  EXPECT_THROW(input.up_to(kMost, 4), CorruptFile);
}

TEST(Hdf5Bytes, AreNotReadBeyondTheirEnd) {
  Hdf5Bytes four = bytes({1, 2, 3, 4});
  EXPECT_EQ(four.number<uint16_t>(), 0x0201);
  EXPECT_EQ(four.left(), 2u);
  EXPECT_THROW(four.number<uint32_t>(), CorruptFile);
  EXPECT_EQ(four.number_of(2), 0x0403u);
  EXPECT_THROW(bytes({1}).number_of(9), CorruptFile);
  EXPECT_EQ(bytes({'a', 'b', 0}).text_at(1), "b");
  EXPECT_THROW(bytes({'a', 'b'}).text_at(0), CorruptFile);
  EXPECT_THROW(bytes({'a'}).text_at(5), CorruptFile);
  EXPECT_TRUE(bytes({'a', 'b'}).is("ab"));
  EXPECT_FALSE(bytes({'a'}).is("ab"));
}

TEST(Hdf5Input, HoldsToTheFile) {
  MemoryFiles files;
  write_text(files, "t.h5", "0123456789");
  const std::unique_ptr<File> file = files.open("t.h5", OpenMode::read);
  Hdf5Input input(*file, "t.h5");
  EXPECT_EQ(input.at(2, 3).text(3), "234");
  EXPECT_EQ(input.up_to(8, 5).text(2), "89");
  EXPECT_TRUE(input.holds(0, 10));
  EXPECT_FALSE(input.holds(1, 10));
  EXPECT_FALSE(input.holds(-1, 1));
  EXPECT_FALSE(input.holds(5, -1));
  EXPECT_THROW(input.at(9, 2), CorruptFile);
  EXPECT_THROW(input.at(int64_t{1} << 62, 1), CorruptFile);
  input.set_base(4);
  EXPECT_EQ(input.size(), 6);
  EXPECT_EQ(input.at(0, 2).text(2), "45");
  EXPECT_THROW(
      [&] {
        while (true) input.count_node();
      }(),
      CorruptFile);
}

}  // namespace
}  // namespace snug::testing
