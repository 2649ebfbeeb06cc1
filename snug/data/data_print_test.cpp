#include "snug/data/data_print.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "snug/data/dataset.h"
#include "snug/data/npy.h"
#include "snug/data/npy_writer.h"
#include "snug/data/source_testing.h"
#include "snug/testing/temp_dir.h"

namespace snug::testing {
namespace {

constexpr int64_t kRows = 1000, kWidth = 3;

struct Numbers {
  std::vector<float> x = std::vector<float>(kRows * kWidth);
  std::vector<int32_t> y = std::vector<int32_t>(kRows);

  Numbers() {
    std::iota(x.begin(), x.end(), 0.5F);
    std::iota(y.begin(), y.end(), 7);
  }
  SourcePtr source() const {
    return data::arrays({.x = {Array(x.data(), {kRows, kWidth})}, .y = {Array(y)}});
  }
};

DataPrint print_of(Source& source, size_t room = 1000, int64_t count = kRows) {
  std::vector<std::byte> memory(room);
  return data_print_of(source, {.slots = {{DType::float32, {kWidth}}, {DType::int32, {}}},
                                .first = 0,
                                .count = count,
                                .memory = memory});
}

TEST(DataPrint, IsOfTheFirstAndTheLastRowAndOfSomeBetween) {
  const Numbers numbers;
  const DataPrint print = print_of(*numbers.source());
  ASSERT_EQ(print.rows.size(), 32);
  EXPECT_EQ(print.sums.size(), 64);
  EXPECT_EQ(print.rows.front(), 0);
  EXPECT_EQ(print.rows.back(), kRows - 1);
  for (size_t i = 1; i < print.rows.size(); ++i) {
    EXPECT_GE(print.rows[i] - print.rows[i - 1], 32);
    EXPECT_LE(print.rows[i] - print.rows[i - 1], 33);
  }
  EXPECT_EQ(print, print_of(*numbers.source()));
  EXPECT_EQ(change_between(print, print, *numbers.source()), "");
}

TEST(DataPrint, OfFewRowsIsOfAll) {
  const Numbers numbers;
  for (const int64_t count : {0, 1, 2, 31}) {
    const DataPrint print = print_of(*numbers.source(), 1000, count);
    std::vector<double> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(print.rows, all);
  }
}

// Nobody has so many, and nothing overflows.
TEST(DataPrint, OfVeryManyRows) {
  class Endless final : public Source {
   public:
    const std::vector<Field>& fields() const override { return fields_; }
    std::optional<int64_t> rows() const override { return int64_t{1} << 62; }
    Access access() const override { return Access::random; }
    void read(int, std::span<const int64_t> rows, const Tensor& slot) override {
      slot.as<float>()[0] = static_cast<float>(rows[0]);
    }
    int64_t next(int64_t, std::span<const Tensor>) override { return 0; }
    void restart() override {}

   private:
    std::vector<Field> fields_ = {{.name = "x", .row = {}}};
  } source;
  std::vector<std::byte> memory(64);
  const DataPrint print = data_print_of(
      source,
      {.slots = {{DType::float32, {}}}, .first = 0, .count = *source.rows(), .memory = memory});
  EXPECT_TRUE(std::ranges::is_sorted(print.rows));
  EXPECT_EQ(print.rows.back(), static_cast<double>(*source.rows() - 1));
}

TEST(DataPrint, NamesTheRowThatChanged) {
  Numbers numbers;
  const DataPrint before = print_of(*numbers.source());
  const auto row = static_cast<int64_t>(before.rows[5]);
  const auto change = [&] {
    const SourcePtr source = numbers.source();
    return change_between(before, print_of(*source), *source);
  };
  numbers.x[row * kWidth + 2] += 1;
  EXPECT_EQ(change(),
            fmt::format("x: row {} has other numbers (of the 32 rows that are compared)", row));
  numbers.x[row * kWidth + 2] -= 1;
  numbers.y[row] += 1;
  EXPECT_EQ(change(),
            fmt::format("y: row {} has other numbers (of the 32 rows that are compared)", row));
  for (float& number : numbers.x) number *= 2;
  EXPECT_EQ(change(),
            "x: row 0 has other numbers, and so have 31 more (of the 32 rows that are compared)");
  const SourcePtr source = numbers.source();
  EXPECT_EQ(change_between(before, print_of(*source, 1000, 900), *source),
            "it has rows 0 to 899, and had 0 to 999");
}

// A number counts, not where it stands.
TEST(DataPrint, OfAFileIsThatOfTheArray) {
  const TempDir folder;
  const Numbers numbers;
  const auto file = [&](const char* name, const Shape& row, const std::vector<float>& all) {
    NpyWriter writer(real_files(), folder.path() / name, row);
    writer.append(all);
    writer.finish();
    return folder.path() / name;
  };
  const Path x = file("x.npy", {kWidth}, numbers.x);
  const Path y = file("y.npy", {}, {numbers.y.begin(), numbers.y.end()});
  EXPECT_EQ(print_of(*data::npy(x, y)), print_of(*numbers.source()));
  const std::vector<double> doubles(numbers.x.begin(), numbers.x.end());
  const std::vector<int64_t> wide(numbers.y.begin(), numbers.y.end());
  EXPECT_EQ(
      print_of(*data::arrays({.x = {Array(doubles.data(), {kRows, kWidth})}, .y = {Array(wide)}})),
      print_of(*numbers.source()));
}

TEST(DataPrint, OfRowsThatCannotBeReadIsNotKnown) {
  Numbers numbers;
  const DataPrint before = print_of(*numbers.source());
  const auto row = static_cast<int64_t>(before.rows[5]);
  numbers.x[row * kWidth] = std::numeric_limits<float>::quiet_NaN();
  const SourcePtr source = numbers.source();
  const DataPrint now = print_of(*source);
  EXPECT_EQ(now.sums[10], DataPrint::kUnknown);
  EXPECT_EQ(now.sums[11], before.sums[11]);
  EXPECT_EQ(change_between(before, now, *source), "");
  EXPECT_EQ(change_between(now, before, *source), "") << "it was mended";
}

// Rows that a function draws anew whenever they are read.
TEST(DataPrint, OfRowsThatAreNeverTheSameIsNotKnown) {
  struct Drawn final : Source {
    Drawn(SourcePtr from) : from(std::move(from)) {}
    const std::vector<Field>& fields() const override { return from->fields(); }
    std::optional<int64_t> rows() const override { return from->rows(); }
    Access access() const override { return Access::random; }
    void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
      from->read(field, rows, slot);
      if (field == 0) *slot.as<float>().data() = static_cast<float>(++count);
    }
    int64_t next(int64_t count, std::span<const Tensor> slots) override {
      return from->next(count, slots);
    }
    void restart() override { from->restart(); }
    SourcePtr from;
    int count = 0;
  };
  const Numbers numbers;
  Drawn source(numbers.source());
  const DataPrint before = print_of(source);
  std::vector<float> row(kWidth);
  const DataPrint now =
      data_print_of(source, {.slots = {{DType::float32, {kWidth}}, {DType::int32, {}}},
                             .count = kRows,
                             .memory = std::as_writable_bytes(std::span(row)),
                             .twice = true});
  EXPECT_EQ(now.sums[0], DataPrint::kUnknown);
  EXPECT_EQ(now.sums[1], before.sums[1]);
  EXPECT_EQ(change_between(before, now, source), "");
}

TEST(DataPrint, NeedsRoomForOneRowOrRowsThatCanBeBorrowed) {
  const Numbers numbers;
  const DataPrint whole = print_of(*numbers.source());
  EXPECT_EQ(print_of(*numbers.source(), 0), whole);
  const SourcePtr shuffled =
      Dataset(numbers.source()).shuffle(3, /*reshuffle_each_iteration=*/true).source();
  const DataPrint little = print_of(*shuffled, sizeof(int32_t));
  EXPECT_EQ(little.sums[0], DataPrint::kUnknown);
  EXPECT_NE(little.sums[1], DataPrint::kUnknown);
}

// Rows that every pass orders anew are those of the first, whichever pass ran last.
TEST(DataPrint, IsOfPassZero) {
  const Numbers numbers;
  const SourcePtr source = Dataset(numbers.source()).shuffle(3).source();
  const DataPrint before = print_of(*source);
  source->begin_pass(4);
  EXPECT_EQ(print_of(*source), before);
}

TEST(DataPrint, LeavesRowsAloneThatComeInSequence) {
  int calls = 0;
  const SourcePtr source = data::generator(
      [&](std::span<const Tensor>) -> int64_t {
        ++calls;
        return 1;
      },
      {.x = Shape{kWidth}, .y = {{}, DType::int32}, .restart = [] {}});
  const DataPrint print = print_of(*source);
  EXPECT_TRUE(print.rows.empty());
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(change_between(print, print_of(*Numbers().source()), *source), "");
}

}  // namespace
}  // namespace snug::testing
