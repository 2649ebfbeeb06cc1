#include "snug/kernels/decimal.h"

#include <fast_float/fast_float.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace snug::kernels {
namespace {

struct Found {
  std::vector<uint32_t> ends, cells_to;
};

Found find(const std::string& text, char delimiter = ',') {
  const std::string padded = std::string(kTextPadding, ',') + text + std::string(kTextPadding, ',');
  Found found{.ends = std::vector<uint32_t>(text.size() + kTextPadding),
              .cells_to = std::vector<uint32_t>(text.size() + kTextPadding)};
  const CellCount count = find_cells(padded.data() + kTextPadding, text.size(), delimiter, '\n',
                                     found.ends.data(), found.cells_to.data());
  found.ends.resize(count.cells);
  found.cells_to.resize(count.lines);
  return found;
}

TEST(Decimal, FindsCellsAndLines) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::string text;
    const uint64_t kinds = 2 + random() % 8;
    for (uint64_t i = 0, n = random() % 400; i < n; ++i) text += ",\n12345a;"[random() % kinds];
    Found expected;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != ',' && text[i] != '\n') continue;
      expected.ends.push_back(static_cast<uint32_t>(i));
      if (text[i] == '\n') expected.cells_to.push_back(static_cast<uint32_t>(expected.ends.size()));
    }
    const Found found = find(text);
    ASSERT_EQ(found.ends, expected.ends) << text;
    ASSERT_EQ(found.cells_to, expected.cells_to) << text;
    const ByteCounts counts = count_bytes(text.data(), text.size(), ',', '3');
    ASSERT_EQ(counts.first, static_cast<size_t>(std::ranges::count(text, ',')));
    ASSERT_EQ(counts.second, static_cast<size_t>(std::ranges::count(text, '3')));
  }
}

double parsed(const std::string& cell, char around = '7') {
  const std::string text =
      std::string(kTextPadding, around) + cell + "," + std::string(kTextPadding, around);
  const auto end = static_cast<uint32_t>(kTextPadding + cell.size());
  double value = 0;
  const size_t others = parse_decimals(text.data(), kTextPadding, &end, 1, &value);
  EXPECT_EQ(others, std::isnan(value) ? 1u : 0u);
  return value;
}

TEST(Decimal, PlainNumbersAreExact) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 300'000; ++trial) {
    std::string text = random() % 3 == 0 ? "-" : "";
    for (uint64_t i = 0, n = random() % 10; i < n; ++i)
      text += static_cast<char>('0' + random() % 10);
    if (random() % 2 == 0) text += '.';
    for (uint64_t i = 0, n = random() % 8; i < n; ++i)
      text += static_cast<char>('0' + random() % 10);
    const bool number = text.find_first_of("0123456789") != std::string::npos;
    const double value = parsed(text, "7.-,"[random() % 4]);
    if (!number || (std::isnan(value) && text.size() > 15)) {
      ASSERT_TRUE(std::isnan(value)) << text;
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint64_t>(value),
              std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)))
        << text;
  }
}

// Cells side by side are parsed together where vectors are wide: mostly plain numbers, with others
// between them.
TEST(Decimal, ManyCellsAreWhatEachIs) {
  std::mt19937_64 random(4);
  const char* others[] = {
      "", "-", ".", "-.", "1.2.3", "1-2", "+1", "1e5", " 1", "x", "12345678901234567"};
  for (int trial = 0; trial < 4000; ++trial) {
    std::string text(kTextPadding, "7.-,"[random() % 4]);
    std::vector<std::string> cells;
    std::vector<uint32_t> ends;
    const uint64_t most = 1 + random() % 14, odd = 2 + random() % 100;
    for (uint64_t i = 0, n = random() % 600; i < n; ++i) {
      std::string cell = random() % 3 == 0 ? "-" : "";
      const uint64_t digits = 1 + random() % most, point = random() % 16;
      for (uint64_t digit = 0; digit < digits; ++digit) {
        if (digit == point) cell += '.';
        cell += static_cast<char>('0' + random() % 10);
      }
      if (random() % odd == 0) cell = others[random() % std::size(others)];
      text += cell;
      ends.push_back(static_cast<uint32_t>(text.size()));
      text += random() % 20 == 0 ? '\n' : ',';
      cells.push_back(std::move(cell));
    }
    text += std::string(kTextPadding, '7');
    std::vector<double> values(cells.size());
    size_t nans = 0;
    const size_t found =
        parse_decimals(text.data(), kTextPadding, ends.data(), cells.size(), values.data());
    for (size_t i = 0; i < cells.size(); ++i) {
      double expected = 0;
      const char* end = cells[i].data() + cells[i].size();
      const auto [stop, error] = fast_float::from_chars(cells[i].data(), end, expected);
      const bool plain = error == std::errc() && stop == end && cells[i].size() < 17 &&
                         cells[i].find('e') == std::string::npos;
      nans += plain ? 0 : 1;
      if (!plain) {
        ASSERT_TRUE(std::isnan(values[i])) << cells[i];
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint64_t>(values[i]), std::bit_cast<uint64_t>(expected)) << cells[i];
    }
    ASSERT_EQ(found, nans);
  }
}

TEST(Decimal, AnythingElseIsLeft) {
  for (const char* text :
       {"", "-", ".", "-.", "1.2.3", "1-2", "--1", "+1", "1e5", " 1", "1 ", "nan", "0x1",
        "12345678901234567", "9007199254740993", "1:", "1/", "\xb1", "1\r"}) {
    EXPECT_TRUE(std::isnan(parsed(text))) << text;
  }
  EXPECT_EQ(parsed("9007199254740991"), 9007199254740991.0);
  EXPECT_EQ(parsed("123456789.012345"), 123456789.012345);
  EXPECT_TRUE(std::signbit(parsed("-0")));
  EXPECT_EQ(parsed("5."), 5);
  EXPECT_EQ(parsed(".5"), 0.5);
}

TEST(Decimal, ALineMayEndWithTwoBytes) {
  const std::string text =
      std::string(kTextPadding, '9') + "1,2\r\n-3,\r\n" + std::string(kTextPadding, '9');
  const uint32_t ends[] = {65, 68, 71, 73};
  double values[4];
  EXPECT_EQ(parse_decimals(text.data(), 64, ends, 4, values), 1u);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(values[2], -3);
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(Decimal, SumsOfColumnsAreThoseOfPlainLoops) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(50, 20);
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const size_t columns : {1, 3, 8, 21}) {
    const size_t rows = 37;
    std::vector<double> values(rows * columns);
    for (double& value : values) {
      value = random() % 5 == 0   ? kNaN
              : random() % 3 == 0 ? std::round(normal(random))
                                  : normal(random);
    }
    const std::vector<double> origin(columns, 48.5), zeros(columns, 0), big(columns, 1e300),
        small(columns, -1e300);
    std::vector<double> count = zeros, whole = zeros, sum = zeros, squares = zeros, min = big,
                        max = small;
    add_columns(values.data(), rows, columns,
                {origin.data(), count.data(), whole.data(), sum.data(), squares.data(), min.data(),
                 max.data()});
    for (size_t c = 0; c < columns; ++c) {
      double n = 0, w = 0, s = 0, q = 0, least = 1e300, most = -1e300;
      for (size_t r = 0; r < rows; ++r) {
        const double value = values[r * columns + c];
        if (std::isnan(value)) continue;
        const double difference = value - 48.5;
        ++n;
        w += value == std::floor(value) ? 1 : 0;
        s += difference;
        q += difference * difference;
        least = std::min(least, value);
        most = std::max(most, value);
      }
      EXPECT_EQ(count[c], n);
      EXPECT_EQ(whole[c], w);
      EXPECT_EQ(sum[c], s) << "to the last bit";
      EXPECT_EQ(squares[c], q);
      EXPECT_EQ(min[c], least);
      EXPECT_EQ(max[c], most);
    }
  }
}

TEST(Decimal, ScalesAndSaysWhatIsNotFinite) {
  const std::vector<double> shift = {1, 0, -2}, scale = {0.1, 1, 3};
  std::vector<double> values = {0.25, 1e10, 7, 3, -4, 5};
  std::vector<float> to(2 * 4, -1);
  EXPECT_TRUE(scale_columns(values.data(), 2, 3, shift.data(), scale.data(), to.data(), 4));
  EXPECT_EQ(to, (std::vector<float>{static_cast<float>((0.25 - 1) * 0.1), 1e10f, 27, -1,
                                    static_cast<float>(2 * 0.1), -4, 21, -1}));
  for (const double odd : {1e300, -1e300, std::numeric_limits<double>::quiet_NaN()}) {
    values[4] = odd;
    EXPECT_FALSE(scale_columns(values.data(), 2, 3, shift.data(), scale.data(), to.data(), 4));
  }
}

}  // namespace
}  // namespace snug::kernels
