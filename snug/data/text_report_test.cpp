#include "snug/data/text_report.h"

#include <gtest/gtest.h>

#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

class TextReportTest : public ::testing::Test {
 protected:
  void put(const Path& path, std::string_view content) {
    files.create_directories(path.parent_path());
    write_text(files, path, content);
  }
  TextReport report(const Path& labels = {}) {
    data::TextOptions options{.files = {"t.txt"}, .labels = labels};
    options.file_system = &files;
    return report_on(options);
  }

  MemoryFiles files;
};

TEST_F(TextReportTest, ALabelWrittenInTwoWaysIsNamed) {
  put("t.txt", "a\nb\nc\nd\ne\n");
  put("l.txt", "pos\nneg\nPos\nneg\npos\n");
  const TextReport found = report("l.txt");
  ASSERT_FALSE(found.is_clean());
  expect_within(found.wrong.back(),
                "the labels \"Pos\" (once) and \"pos\" (2 times) look like one class");
}

TEST_F(TextReportTest, CountsTextsAndWords) {
  put("t.txt", gzipped("The cat sat.\nthe DOG\r\n\nit sat on the mat again\n"));
  const TextReport found = report();
  EXPECT_TRUE(found.is_clean());
  EXPECT_EQ(found.texts, 4);
  EXPECT_EQ(found.words, 11);
  EXPECT_EQ(found.different_words, 8);
  EXPECT_FALSE(found.has_more);
  EXPECT_EQ(found.longest, 6);
  EXPECT_EQ(found.longest_place, "t.txt: line 4");
  EXPECT_EQ(found.median, 2);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_EQ(found.notes[0], "texts without words: 1, the first of them t.txt: line 3");
}

TEST_F(TextReportTest, NamesWhatIsNoText) {
  put("t.txt", std::string_view("good\nb\0d\nfine\n\0\n", 16));
  const TextReport found = report();
  EXPECT_FALSE(found.is_clean());
  EXPECT_EQ(found.bad_rows, 2);
  ASSERT_EQ(found.listed.size(), 2u);
  EXPECT_EQ(found.listed[0].position, "line 2");
  EXPECT_EQ(found.listed[1].position, "line 4");
  expect_within(found.listed[0].problem, "bytes that are 0");
}

// Also where a character stands across the border of two pieces of a long line.
TEST_F(TextReportTest, NamesOtherEncodings) {
  put("t.txt", "gr\xc3\xbc\xc3\x9f\ngr\xfc\xdf\nfine\nb\xe2\x82\n");
  TextReport found = report();
  ASSERT_EQ(found.wrong.size(), 1u);
  EXPECT_EQ(found.wrong[0],
            "texts that are not in UTF-8: 2, the first of them t.txt: line 2; save them as UTF-8");
  for (const int shift : {0, 1, 2, 3}) {
    std::string line(static_cast<size_t>((64 << 10) - shift), 'a');
    line += "\xf0\x9f\x98\x80 more";
    put("t.txt", line);
    EXPECT_TRUE(report().is_clean()) << shift;
    put("t.txt", line.substr(0, line.size() - 6) + " more");
    EXPECT_FALSE(report().is_clean()) << shift;
  }
}

TEST_F(TextReportTest, LabelsBelongToTexts) {
  put("t.txt", "a\nb\nc\nd\ne\nf\n");
  put("l.txt", "pos\nneg\n\npos\npos\nneg");
  TextReport found = report("l.txt");
  EXPECT_EQ(found.classes, (std::map<std::string, int64_t>{{"neg", 2}, {"pos", 3}}));
  ASSERT_EQ(found.listed.size(), 1u);
  EXPECT_EQ(found.listed[0].text(), "l.txt: line 3: it is empty, but a label was expected");
  EXPECT_TRUE(found.wrong.empty());
  put("l.txt", "pos\npos\npos\npos\nneg\n");
  found = report("l.txt");
  ASSERT_EQ(found.wrong.size(), 3u);
  expect_within(found.wrong[0], "l.txt has 5 lines, but there are 6 texts");
  expect_within(found.wrong[1], "class \"neg\" has 1 row, all of them in the last 20 %");
}

TEST_F(TextReportTest, FoldersAreClasses) {
  put("f/neg/1.txt", "bad\nbad film");
  put("f/pos/1.txt", "good film");
  put("f/pos/2.txt", std::string_view("\0", 1));
  data::TextOptions options{.folder = "f"};
  options.file_system = &files;
  const TextReport found = report_on(options);
  EXPECT_EQ(found.texts, 3);
  EXPECT_EQ(found.classes, (std::map<std::string, int64_t>{{"neg", 1}, {"pos", 2}}));
  ASSERT_EQ(found.listed.size(), 1u);
  EXPECT_EQ(found.listed[0].file, "f/pos/2.txt");
}

TEST_F(TextReportTest, NoTexts) {
  put("t.txt", "");
  EXPECT_EQ(report().wrong, (std::vector<std::string>{"there are no texts"}));
}

}  // namespace
}  // namespace snug::testing
