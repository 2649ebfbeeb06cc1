#include "snug/data/columns.h"

#include <gtest/gtest.h>

#include "snug/data/source_testing.h"
#include "snug/testing/csv_file.h"

namespace snug::testing {
namespace {

Columns chosen(std::string_view text, ColumnWishes wishes = {}) {
  CsvFile file(text);
  data::CsvOptions options = file.options();
  options.wishes = std::move(wishes);
  return data::csv(options).columns;
}

TEST(Columns, AreChosenByWhatTheyHold) {
  const Columns columns =
      chosen("age,work,id,empty,income\n20,private,a1,,<=50K\n30,?,b2,,>50K\n,state,c3,NA,>50K\n",
             {.labels = {"income"}});
  EXPECT_EQ(columns.find("age")->use, ColumnUse::standardise);
  EXPECT_EQ(columns.find("age")->missing, MissingRule::mean);
  EXPECT_EQ(columns.find("age")->missing_value, 25);
  EXPECT_EQ(columns.find("work")->use, ColumnUse::one_hot);
  EXPECT_EQ(columns.find("work")->vocabulary, (std::vector<std::string>{"private", "state"}));
  EXPECT_EQ(columns.find("empty")->use, ColumnUse::drop);
  EXPECT_EQ(columns.find("income")->use, ColumnUse::index);
  EXPECT_EQ(columns.find("income")->vocabulary, (std::vector<std::string>{"<=50K", ">50K"}));
  EXPECT_EQ(columns.input_width(), 1 + 2 + 3);
  expect_within(columns.text(), "1 missing become the mean");
  expect_within(columns.text(), "2 classes: \"<=50K\", \">50K\"");
}

TEST(Columns, ManyTextsAreHashedOrDropped) {
  std::string text = "many,own,y\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("m{},o{},{}\n", i % 300, i, i % 2);
  const Columns columns = chosen(text, {.labels = {"y"}});
  EXPECT_EQ(columns.find("many")->use, ColumnUse::hash);
  EXPECT_EQ(columns.find("many")->width(), 64);
  EXPECT_EQ(columns.find("own")->use, ColumnUse::drop);
  EXPECT_EQ(columns.find("y")->use, ColumnUse::as_is);
}

// More than are listed, which come often all the same.
TEST(Columns, TextsThatAreTooManyToListAreHashedWhereTheyComeOften) {
  std::string text = "city,name,long,y\n";
  for (int i = 0; i < 30'000; ++i)
    text += fmt::format("c{},n{},{:x>2000},{}\n", i * 7 % 5000, i, i % 150, i % 2);
  const Columns columns = chosen(text, {.labels = {"y"}});
  EXPECT_EQ(columns.find("city")->use, ColumnUse::hash);
  EXPECT_EQ(columns.find("name")->use, ColumnUse::drop);
  EXPECT_EQ(columns.find("long")->use, ColumnUse::hash) << "150 texts, too long for a list";
}

// Most of the room for values is for columns whose values are listed.
TEST(Columns, ATextLabelOfAWideTableIsNotTooMuch) {
  std::string text = "y";
  for (int i = 0; i < 30'000; ++i) text += fmt::format(",c{}", i);
  for (int row = 0; row < 12; ++row) {
    text += fmt::format("\nclass {}", row % 6);
    for (int i = 0; i < 30'000; ++i) text += row % 2 == 0 ? ",1" : ",2";
  }
  EXPECT_EQ(chosen(text + '\n', {.labels = {"y"}}).find("y")->vocabulary.size(), 6u);
}

TEST(Columns, TextsThatAreTooLongForAListAreSaidToBe) {
  std::string text = "a,y\n";
  for (int i = 0; i < 600; ++i) text += fmt::format("{},{:x>2000}\n", i, i % 200);
  expect_within(
      message_of<DataError>([&] { chosen(text, {.labels = {"y"}}); }),
      "column \"y\" has about 200 different texts, which take more than the 256.0 KiB that "
      "are kept for it, too many for index; is it the right label?");
}

// Rows that are predicted may lack what the training data has everywhere.
TEST(Columns, ANumberThatIsMissingInOtherRowsTakesTheMean) {
  const std::string table = "a,b,y\n1,1,0\n3,-5,1\n";
  const Columns columns = chosen(table, {.labels = {"y"}});
  EXPECT_EQ(columns.find("a")->missing, MissingRule::mean);
  CsvFile other("a,b\n,4\n5,\n");
  data::CsvOptions options = other.options();
  options.like = &columns;
  EXPECT_EQ(read_rows(*data::csv(options).source, 0, {0, 1}), (std::vector<float>{0, 2, 3, 0}));
  const Columns as_it_stands =
      chosen(table, {.labels = {"y"}, .settings = {{"b", {.low = -1}}}, .mean_for_others = false});
  EXPECT_EQ(as_it_stands.find("a")->missing, MissingRule::refuse);
  EXPECT_EQ(columns.find("y")->missing, MissingRule::refuse) << "a label";
}

// log(1 + x) has no mean here, which no cell asks for.
TEST(Columns, AMeanThatCannotBeIsNotInsistedOn) {
  CsvFile file("a,y\n1e30,0\n-9e30,1\n");
  data::CsvOptions options = file.options({"y"});
  options.wishes.settings["a"] = {.use = ColumnUse::log};
  expect_within(message_of<DataError>([&] { data::csv(options); }),
                "t.csv: line 3, column a is \"-9e30\", but a number above -1 was expected");
}

TEST(Columns, AreAsTheUserSays) {
  const Columns columns =
      chosen("a,b,c,d\n1,1,0,9\n3,2,9,\n",
             {.labels = {},
              .settings = {{"a", {.use = ColumnUse::min_max}},
                           {"b", {.use = ColumnUse::one_hot}},
                           {"c", {.use = ColumnUse::log}},
                           {"d", {.use = ColumnUse::as_is, .missing = MissingRule::flag}}}});
  float out[2] = {};
  const Column& a = *columns.find("a");
  EXPECT_EQ(a.scaled(1), 0);
  EXPECT_EQ(a.scaled(3), 1);
  EXPECT_EQ(columns.find("b")->width(), 2);
  EXPECT_FLOAT_EQ(columns.find("c")->scaled(9), std::log(10.0f));
  const Column& d = *columns.find("d");
  ASSERT_EQ(d.width(), 2);
  d.expand(d.missing_bits(), out);
  EXPECT_EQ(out[0], 9);
  EXPECT_EQ(out[1], 1);
}

TEST(Columns, StandardiseHasMeanZeroAndDeviationOne) {
  // Far from 0: sums of squares would lose everything.
  const Columns columns = chosen("t\n1000000001\n1000000003\n");
  const Column& t = *columns.find("t");
  EXPECT_FLOAT_EQ(t.scaled(1000000001), -1);
  EXPECT_FLOAT_EQ(t.scaled(1000000003), 1);
  const Columns constant = chosen("t,u\n5,1\n5,2\n");
  EXPECT_EQ(constant.find("t")->scaled(5), 0);
  expect_within(constant.text(), "always the same");
}

// Rows of two numbers, the first of which is given, and a class.
std::string numbered_rows(std::string_view header, int rows, int (*number)(int row)) {
  std::string text(header);
  for (int i = 0; i < rows; ++i) text += fmt::format("{},{},{}\n", number(i), i % 7, i % 2);
  return text;
}

TEST(Columns, TheIndexOfPandasIsLeftOut) {
  const auto in_order = [](int row) { return row; };
  for (const char* header : {",a,y\n", "Unnamed: 0,a,y\n"}) {
    const Columns columns = chosen(numbered_rows(header, 10, in_order), {.labels = {"y"}});
    EXPECT_EQ(columns.columns[0].use, ColumnUse::drop);
    EXPECT_EQ(columns.input_width(), 1);
    ASSERT_EQ(columns.doubts.size(), 1u);
    expect_within(columns.doubts[0], "numbers the rows, as pandas's to_csv writes it");
    expect_within(columns.text(), "it numbers the rows; to use it: as_is");
  }
  // Of a part of a shuffled table.
  const auto mixed = [](int row) { return row * 7919 % 10007; };
  EXPECT_EQ(chosen(numbered_rows(",a,y\n", 300, mixed)).columns[0].use, ColumnUse::drop);
  // With a name, wished for, or with a number that comes twice.
  EXPECT_EQ(chosen(numbered_rows("t,a,y\n", 10, in_order)).columns[0].use, ColumnUse::standardise);
  const auto twice = [](int row) { return row == 9 ? 0 : 2 * row; };
  EXPECT_EQ(chosen(numbered_rows(",a,y\n", 10, twice)).columns[0].use, ColumnUse::standardise);
  const Columns wished = chosen(numbered_rows(",a,y\n", 10, in_order),
                                {.settings = {{"column 0", {.use = ColumnUse::as_is}}}});
  EXPECT_EQ(wished.columns[0].use, ColumnUse::as_is);
  EXPECT_TRUE(wished.doubts.empty());
}

// New rows would all have unseen ones.
TEST(Columns, TextsThatEveryRowHasForItselfAreLeftOut) {
  const auto use = [](int rows, int texts) {
    std::string table = "name,a,y\n";
    for (int i = 0; i < rows; ++i) table += fmt::format("A-{},{},{}\n", i % texts, i % 7, i % 2);
    return chosen(table, {.labels = {"y"}}).columns[0].use;
  };
  EXPECT_EQ(use(100, 100), ColumnUse::drop);
  EXPECT_EQ(use(100, 95), ColumnUse::drop);
  EXPECT_EQ(use(100, 60), ColumnUse::one_hot);
  EXPECT_EQ(use(20, 20), ColumnUse::one_hot) << "too few to tell";
  EXPECT_EQ(use(400, 300), ColumnUse::drop);
  EXPECT_EQ(use(900, 300), ColumnUse::hash);
}

TEST(Columns, DatesAreDoubted) {
  std::string table = "sold: on,a,y\n";
  for (int i = 0; i < 40; ++i)
    table += fmt::format("2024-01-{:02},{},{}\n", i % 20 + 1, i % 7, i % 2);
  const Columns columns = chosen(table, {.labels = {"y"}});
  ASSERT_EQ(columns.doubts.size(), 1u);
  expect_within(columns.doubts[0], "column sold: on: its cells look like dates");
  EXPECT_TRUE(
      chosen(table, {.settings = {{"sold: on", {.use = ColumnUse::one_hot}}}}).doubts.empty());
}

TEST(Columns, IdsAreDoubted) {
  const auto mixed = [](int row) { return row * 7919 % 100003; };
  const Columns columns = chosen(numbered_rows("id,a,y\n", 6000, mixed), {.labels = {"y"}});
  EXPECT_EQ(columns.columns[0].use, ColumnUse::standardise);
  ASSERT_EQ(columns.doubts.size(), 1u);
  expect_within(columns.doubts[0], "column id has a whole number of its own in every row");
  expect_within(columns.doubts[0], "columns: {id: drop}");
  expect_within(chosen(numbered_rows("no: 1,a,y\n", 6000, mixed)).doubts[0],
                "columns: {\"no: 1\": drop}");
  const auto some_twice = [](int row) { return row * 7919 % 100003 * (row == 300 ? 0 : 1); };
  EXPECT_TRUE(chosen(numbered_rows("id,a,y\n", 6000, some_twice)).doubts.empty());
  EXPECT_TRUE(chosen(numbered_rows("id,a,y\n", 99, mixed)).doubts.empty()) << "by chance";
  EXPECT_TRUE(chosen(numbered_rows("id,a,y\n", 6000, mixed), {.labels = {"id"}}).doubts.empty());
  EXPECT_TRUE(chosen(numbered_rows("id,a,y\n", 6000, mixed),
                     {.settings = {{"id", {.use = ColumnUse::standardise}}}})
                  .doubts.empty());
}

TEST(Columns, CategoriesWrittenInTwoWaysAreDoubted) {
  const std::string text = "a,sex,income\n1,Male,<=50K\n2,male,>50K\n3,Female,<=50K.\n";
  const Columns columns = chosen(text, {.labels = {"income"}});
  ASSERT_EQ(columns.doubts.size(), 2u);
  expect_within(columns.doubts[0], "column sex: \"Male\" (once) and \"male\" (once) look like one");
  expect_within(columns.doubts[1], "\"<=50K\" (once) and \"<=50K.\" (once) look like one");
}

TEST(Columns, TravelAsJson) {
  const Columns columns = chosen("a,b,c\n1,x,0.1\n2,y,\n,X,3\n", {.labels = {"b"}});
  const Columns again = Columns::from_json(columns.json());
  EXPECT_EQ(again.doubts.size(), 1u);
  EXPECT_EQ(again.doubts, columns.doubts);
  EXPECT_EQ(again.columns, columns.columns);
  EXPECT_EQ(again.labels, columns.labels);
  for (const char* text : {"", "{}", "[1]", "{\"columns\": [{\"name\": 3}]}"}) {
    expect_within(message_of<DataError>([&] { Columns::from_json(text); }), "columns: ");
  }
}

TEST(Columns, AColumnHasOneRole) {
  const auto message = [](const ColumnWishes& wishes) {
    return message_of([&] { chosen("a,b,y\n1,2,0\n2,3,1\n", wishes); });
  };
  expect_within(message({.labels = {"y"}, .weight = "y"}),
                "column \"y\" is the label and the sample_weight");
  expect_within(message({.labels = {"b", "y"}, .weight = "y"}), "column \"y\" is the label");
  expect_within(message({.labels = {"y", "b", "y"}}), "the label \"y\" is given twice");
}

TEST(Columns, AWeightIsANumberOfNoughtOrMore) {
  const auto message = [](ColumnSetting setting) {
    return message_of([&] {
      chosen("a,w,y\n1,2,0\n2,,1\n",
             {.labels = {"y"}, .weight = "w", .settings = {{"w", std::move(setting)}}});
    });
  };
  for (const ColumnUse use :
       {ColumnUse::drop, ColumnUse::one_hot, ColumnUse::index, ColumnUse::hash}) {
    expect_within(message({.use = use}),
                  fmt::format("\"w\" is the sample_weight, which cannot be {}", name_of(use)));
  }
  expect_within(message({.missing = MissingRule::flag}), "which cannot be flag");
  expect_within(message({.missing = MissingRule::value, .missing_value = -1}),
                "give missing: 0 or more");
}

TEST(Columns, MistakesAreNamed) {
  const auto message = [](std::string_view text, ColumnWishes wishes) {
    return message_of([&] { chosen(text, std::move(wishes)); });
  };
  const std::string_view table = "income,age\n<=50K,20\n>50K,30\n";
  expect_within(message(table, {.labels = {"Incom"}}), "did you mean \"income\"");
  expect_within(message(table, {.settings = {{"agee", {}}}}), "no column \"agee\"");
  expect_within(message(table, {.settings = {{"income", {.use = ColumnUse::standardise}}}}),
                "no cell of it is a number (line 2 has \"<=50K\")");
  expect_within(
      message(table, {.labels = {"income"}, .settings = {{"age", {.use = ColumnUse::drop}}}}),
      "no column is left");
  expect_within(message(table, {.settings = {{"age", {.missing = MissingRule::category}}}}),
                "mean, median, flag or a number");
  expect_within(message("a,y\n5,0\n,1\n", {.labels = {"y"},
                                           .settings = {{"a",
                                                         {.use = ColumnUse::log,
                                                          .missing = MissingRule::value,
                                                          .missing_value = -1}}}}),
                "column \"a\" is log, where its missing cells, -1, would become -inf");
  expect_within(message_of([] { column_use("one_hut"); }), "did you mean one_hot");
}

}  // namespace
}  // namespace snug::testing
