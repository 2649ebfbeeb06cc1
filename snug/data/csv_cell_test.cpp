#include "snug/data/csv_cell.h"

#include <gtest/gtest.h>

#include <cmath>

namespace snug {
namespace {

TEST(CsvCell, Numbers) {
  EXPECT_EQ(number_of("12"), 12.0);
  EXPECT_EQ(number_of("-1.5e3"), -1500.0);
  EXPECT_EQ(number_of("+7"), 7.0);
  EXPECT_EQ(number_of(".5"), 0.5);
  EXPECT_TRUE(std::isinf(*number_of("1e400")));
  EXPECT_TRUE(std::isinf(*number_of("inf")));
  EXPECT_EQ(number_of("1e-400").value_or(-1), 0.0);
  EXPECT_EQ(number_of(" 7 "), 7.0) << "in quotes, which keep blanks";
  EXPECT_EQ(number_of("\t-.5"), -0.5);
  for (const char* text :
       {"", " ", "a", "1a", "1 2", "- 1", "0x10", "+-1", "1,5", "--1", "e5", "+"}) {
    EXPECT_FALSE(number_of(text)) << text;
  }
}

TEST(CsvCell, Missing) {
  for (const char* text : {"", "?", "NA", "N/A", "nan", "NaN", "null", "None", " ", " ? "}) {
    EXPECT_TRUE(is_missing(text)) << text;
  }
  for (const char* text : {"0", "no", "-", "Nan Madol"}) EXPECT_FALSE(is_missing(text)) << text;
}

TEST(CsvCell, Utf8) {
  EXPECT_TRUE(is_utf8("Österreich 日本 \xf0\x9f\x98\x80"));
  for (const char* text :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(CsvCell, Quotes) {
  EXPECT_EQ(in_quotes("abc"), "\"abc\"");
  EXPECT_EQ(in_quotes("a\nb"), "\"a\\x0ab\"");
  EXPECT_EQ(in_quotes("caf\xe9"), "\"caf\\xe9\"");
  EXPECT_EQ(in_quotes("1\u00a0"), "\"1\\xc2\\xa0\"") << "a blank that is none";
  EXPECT_EQ(in_quotes("\u200b1\ufeff"), "\"\\xe2\\x80\\x8b1\\xef\\xbb\\xbf\"");
  EXPECT_EQ(in_quotes("\u2013 \u20ac"), "\"\u2013 \u20ac\"") << "these can be seen";
  EXPECT_EQ(in_quotes(std::string(50, 'x')), "\"" + std::string(40, 'x') + "...\"");
  EXPECT_EQ(in_quotes(std::string(39, 'x') + "é!"), "\"" + std::string(39, 'x') + "...\"");
}

TEST(CsvCell, KeysOfRunFiles) {
  EXPECT_EQ(yaml_key("age"), "age");
  EXPECT_EQ(yaml_key("unit price 2"), "unit price 2");
  EXPECT_EQ(yaml_key("Größe"), "Größe");
  EXPECT_EQ(yaml_key("shop: city"), "\"shop: city\"");
  EXPECT_EQ(yaml_key("a,b"), "\"a,b\"");
  EXPECT_EQ(yaml_key("#1"), "\"#1\"");
  EXPECT_EQ(yaml_key(""), "\"\"");
  EXPECT_EQ(yaml_key(" a"), "\" a\"");
  EXPECT_EQ(yaml_key("6\" \\ pipe"), "\"6\\\" \\\\ pipe\"");
  EXPECT_EQ(yaml_key("a\nb"), "\"a\\x0ab\"");
}

}  // namespace
}  // namespace snug
