// A table of numbers that is parsed once gives the rows of one that is gone over twice.
#include "snug/data/csv_numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "snug/data/csv.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

void write(MemoryFiles& files, const Path& path, std::string_view text) {
  files.open(path, OpenMode::write)->append(std::as_bytes(std::span(text)));
}

struct Look {
  double missing = 0;  // The share of cells.
  bool blank_lines = false;
  const char* newline = "\n";
};

std::string table_of_numbers(std::mt19937_64& random, int rows, const Look& look) {
  std::string text = "a,b,c,label\n";
  const auto share = [&] { return static_cast<double>(random() % 1000) / 1000; };
  for (int i = 0; i < rows; ++i) {
    for (int c = 0; c < 4; ++c) {
      if (c > 0) text += ',';
      if (c < 3 && share() < look.missing) {
        text += random() % 2 == 0 ? "" : "NA";
      } else if (random() % 50 == 0) {
        text += fmt::format("{:e}", share() * 1e5);
      } else if (random() % 9 == 0) {
        text += fmt::format(" {}", share() - 0.5);
      } else {
        text += fmt::format("{:.{}f}", (share() - 0.5) * 1000, random() % 5);
      }
    }
    text += look.newline;
    if (look.blank_lines && random() % 10 == 0) text += look.newline;
  }
  return text;
}

std::vector<uint32_t> all_bits(Source& source) {
  std::vector<int64_t> rows(static_cast<size_t>(*source.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<uint32_t> bits;
  for (int field = 0; field < std::ssize(source.fields()); ++field) {
    for (const float value : read_rows(source, field, rows))
      bits.push_back(std::bit_cast<uint32_t>(value));
  }
  for (const int64_t row : {rows.front(), rows[rows.size() / 2], rows.back()}) {
    const std::string place = source.place(0, row);
    bits.insert(bits.end(), place.begin(), place.end());
  }
  return bits;
}

data::CsvOptions options_of(MemoryFiles& files, bool in_memory) {
  data::CsvOptions options{.files = {"a.csv", "b.csv"},
                           .wishes = {.labels = {"label"}},
                           .most_in_memory = in_memory ? int64_t{64} << 20 : 1000,
                           .file_system = &files,
                           .threads = 2};
  options.wishes.settings["b"] = {.use = ColumnUse::min_max, .missing = MissingRule::flag};
  return options;
}

TEST(CsvNumbers, ParsedOnceOrTwiceTheRowsAreTheSame) {
  std::mt19937_64 random(12);
  for (const Look& look : {Look{}, Look{.missing = 0.05}, Look{.blank_lines = true},
                           Look{.missing = 0.3, .newline = "\r\n"}}) {
    MemoryFiles files;
    write(files, "a.csv", table_of_numbers(random, 30'000, look));
    write(files, "b.csv", table_of_numbers(random, 500, look));
    const data::CsvData once = data::csv(options_of(files, true));
    const data::CsvData twice = data::csv(options_of(files, false));
    EXPECT_EQ(once.columns.json(), twice.columns.json());
    EXPECT_EQ(all_bits(*once.source), all_bits(*twice.source));
    EXPECT_EQ(*once.source->rows(), 30'500);
  }
}

TEST(CsvNumbers, AreKeptWhereThereIsNothingElse) {
  MemoryFiles files;
  std::mt19937_64 random(13);
  const auto kept = [&](const std::string& text, size_t most = 1 << 20) {
    files.remove("t.csv");
    write(files, "t.csv", text);
    CsvTable table(files, {.files = {"t.csv"}});
    return scan_table(table, {.most_number_bytes = most, .threads = 2}).numbers;
  };
  const std::string table = table_of_numbers(random, 300, {.missing = 0.1});
  const std::optional<TableNumbers> numbers = kept(table);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->rows, 300);
  EXPECT_FALSE(kept(table, 300 * 4 * 8)) << "there is no room";
  EXPECT_FALSE(kept(table + "1,2,x,4\n")) << "a text";
  EXPECT_FALSE(kept(table + "1,2,inf,4\n")) << "a number that is not finite";
  EXPECT_FALSE(kept(table + "1,2,3\n")) << "too few cells";
  EXPECT_FALSE(kept(table + "1,\"2\",3,4\n")) << "quotes";
}

// What cannot be encoded is found by the second pass, which names it.
TEST(CsvNumbers, AMissingLabelIsStillNamed) {
  MemoryFiles files;
  write(files, "t.csv", "a,label\n1,2\n3,\n5,6\n");
  try {
    data::csv({.files = {"t.csv"}, .wishes = {.labels = {"label"}}, .file_system = &files});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

// The first records looked like numbers, the others do not.
TEST(CsvNumbers, AColumnThatWasMisjudgedIsCountedAgain) {
  MemoryFiles files;
  std::string text = "a,c,label\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},{},1\n", i, i < 200 ? "7" : "red");
  write(files, "t.csv", text);
  const data::CsvData data =
      data::csv({.files = {"t.csv"}, .wishes = {.labels = {"label"}}, .file_system = &files});
  const Column* column = data.columns.find("c");
  EXPECT_EQ(column->use, ColumnUse::one_hot);
  EXPECT_EQ(column->vocabulary, (std::vector<std::string>{"7", "red"}));
}

// The same in memory and in the cache, and by what the model keeps of the columns.
TEST(CsvNumbers, ColumnsAreClippedAndTakeTheMedian) {
  MemoryFiles files;
  std::string text = "a,b,c,label\n";
  for (int i = 0; i < 101; ++i)
    text += fmt::format("{},{},{},1\n", i * i, i, i % 2 == 0 ? "x" : "y");
  write(files, "t.csv", text + ",500,x,1\n");
  data::CsvOptions options{
      .files = {"t.csv"}, .wishes = {.labels = {"label"}}, .file_system = &files};
  options.wishes.settings["a"] = {.use = ColumnUse::as_is, .missing = MissingRule::median};
  options.wishes.settings["b"] = {.use = ColumnUse::min_max, .low = 10, .high = 60};
  options.wishes.settings["c"] = {.unseen_is_missing = true};
  const data::CsvData data = data::csv(options);
  EXPECT_EQ(read_rows(*data.source, 0, {101, 35, 3}),
            (std::vector<float>{2500, 1, 1, 0, 35 * 35, 0.5, 0, 1, 9, 0, 0, 1}));
  const Columns kept = Columns::from_json(data.columns.json());
  EXPECT_EQ(kept.columns, data.columns.columns);
  files.remove("new.csv");
  write(files, "new.csv", "a,b,c\n,-7,z\n1,61,y\n");
  const data::CsvData later =
      data::csv({.files = {"new.csv"}, .like = &kept, .file_system = &files});
  EXPECT_EQ(read_rows(*later.source, 0, {0, 1}), (std::vector<float>{2500, 0, 0, 0, 1, 1, 0, 1}));
}

TEST(CsvNumbers, WishesThatMeanNothingAreNamed) {
  MemoryFiles files;
  write(files, "t.csv", "a,c,label\n1,x,1\n2,y,0\n");
  const auto refusal = [&](const char* column, const ColumnSetting& setting) {
    data::CsvOptions options{
        .files = {"t.csv"}, .wishes = {.labels = {"label"}}, .file_system = &files};
    options.wishes.settings[column] = setting;
    return message_of([&] { data::csv(options); });
  };
  EXPECT_NE(refusal("c", {.low = 0}).find("\"c\" is one_hot, for which there is no clip"),
            std::string::npos);
  EXPECT_NE(refusal("a", {.low = 3, .high = 1}).find("clipped from 3 to 1"), std::string::npos);
  EXPECT_NE(refusal("a", {.unseen_is_missing = true}).find("unseen means nothing"),
            std::string::npos);
  EXPECT_NE(refusal("label", {.unseen_is_missing = true}).find("the label, for which"),
            std::string::npos);
  EXPECT_NE(refusal("c", {.missing = MissingRule::median}).find("missing cannot be median"),
            std::string::npos);
}

}  // namespace
}  // namespace snug::testing
