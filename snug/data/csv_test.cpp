#include "snug/data/csv.h"

#include <gtest/gtest.h>

#include "snug/data/changing_files_testing.h"
#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/csv_file.h"

namespace snug::testing {
namespace {

constexpr std::string_view kTable =
    "age,work,income\n"
    "20, private ,<=50K\n"
    "40,\"state, local\",>50K\n"
    "?,private,>50K\n"
    "30,?,<=50K\n";

std::string refusal(std::string_view text, const std::vector<std::string>& labels = {"y"}) {
  CsvFile file(text);
  return message_of<DataError>([&] { data::csv(file.options(labels)); });
}

TEST(Csv, EncodesRows) {
  CsvFile file(kTable);
  data::CsvOptions options = file.options({"income"});
  options.wishes.settings["age"].use = ColumnUse::as_is;
  const data::CsvData csv = data::csv(options);
  ASSERT_EQ(csv.source->rows(), 4);
  EXPECT_EQ(csv.source->fields()[0].row, Shape({3}));
  EXPECT_EQ(read_rows(*csv.source, 0, {0, 1, 2, 3}),
            (std::vector<float>{20, 1, 0, 40, 0, 1, 30, 1, 0, 30, 0, 0}));
  EXPECT_EQ(read_rows<int32_t>(*csv.source, 1, {3, 2, 1, 0}), (std::vector<int32_t>{0, 1, 1, 0}));
  expect_random_source(*csv.source);
  EXPECT_EQ(csv.source->place(0, 2), "t.csv: line 4");
}

TEST(Csv, MissingWeightsAreWhatTheirRuleSays) {
  CsvFile file("a,w,y\n1,2,0\n2,,1\n3,4,1\n");
  data::CsvOptions options = file.options({"y"});
  options.wishes.weight = "w";
  options.wishes.settings["w"] = {.missing = MissingRule::value, .missing_value = 5};
  EXPECT_EQ(read_rows(*data::csv(options).source, 2, {0, 1, 2}), (std::vector<float>{2, 5, 4}));
  options.wishes.settings["w"] = {.missing = MissingRule::mean};
  EXPECT_EQ(read_rows(*data::csv(options).source, 2, {0, 1, 2}), (std::vector<float>{2, 3, 4}));
}

// Held, kept in a file, and parsed each time: the same rows.
TEST(Csv, IsTheSameWhereverRowsAreKept) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("{},\"c{}\n\",{}\n", i % 7, i % 5, i % 3);
    if (i % 100 == 99) text += "bad,row\n";
  }
  CsvFile file(text);
  data::CsvOptions options = file.options({"y"});
  options.bad_rows.policy = BadRowPolicy::skip;
  options.wishes.settings["a"].use = ColumnUse::as_is;
  const data::CsvData held = data::csv(options);
  EXPECT_EQ(held.bad_rows, 30);
  options.most_in_memory = 1000;
  const data::CsvData parsed = data::csv(options);
  EXPECT_LT(parsed.source->buffer_bytes(), held.source->buffer_bytes() + (2 << 20));
  options.cache = "cache";
  const data::CsvData kept = data::csv(options);
  const data::CsvData again = data::csv(options);
  ASSERT_EQ(file.files.list("cache").size(), 1u);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 3000; ++i) rows.push_back(i * 1117 % 3000);
  for (const data::CsvData* data : {&parsed, &kept, &again}) {
    ASSERT_EQ(data->source->rows(), 3000);
    EXPECT_EQ(data->bad_rows, 30);
    EXPECT_EQ(data->columns.columns, held.columns.columns);
    for (const int field : {0, 1}) {
      EXPECT_EQ(read_rows(*data->source, field, rows), read_rows(*held.source, field, rows));
      data->source->begin_pass(0);
      held.source->begin_pass(0);
      EXPECT_EQ(rest_of(*data->source, field, 64), rest_of(*held.source, field, 64));
    }
    EXPECT_EQ(data->source->place(0, 2999), held.source->place(0, 2999));
  }
}

TEST(Csv, TheCacheIsForOneContent) {
  std::string text = "a,y\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},{}\n", i, i % 2);
  CsvFile file(text);
  data::CsvOptions options = file.options({"y"});
  options.most_in_memory = 100;
  options.cache = "cache";
  data::csv(options);
  write_text(file.files, "t.csv", text + "5,1\n");
  EXPECT_EQ(data::csv(options).source->rows(), 1001);
  // A damaged one is made again.
  for (const std::string& name : file.files.list("cache")) {
    write_text(file.files, Path("cache") / name, "rubbish");
  }
  EXPECT_EQ(data::csv(options).source->rows(), 1001);
  EXPECT_EQ(data::csv(options).source->rows(), 1001);
}

TEST(Csv, CompressedFilesNeedACacheOnlyWhenTheyAreLarge) {
  std::string text = "a,y\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},{}\n", i, i % 2);
  CsvFile file(gzipped(text));
  data::CsvOptions options = file.options({"y"});
  EXPECT_EQ(data::csv(options).source->rows(), 1000);
  options.most_in_memory = 100;
  expect_within(message_of<DataError>([&] { data::csv(options); }), "give a cache folder");
  options.cache = "cache";
  EXPECT_EQ(data::csv(options).source->rows(), 1000);
}

TEST(Csv, SeveralFilesAreOneTable) {
  CsvFile file("a,y\n1,0\n2,1\n");
  write_text(file.files, "u.csv", "a,y\n3,0\n4,1\n5,0\n");
  data::CsvOptions options = file.options({"y"});
  options.wishes.settings["a"].use = ColumnUse::as_is;
  options.files = {"t.csv", "u.csv"};
  for (const int64_t most : {int64_t{1} << 20, int64_t{8}}) {
    options.most_in_memory = most;
    const data::CsvData csv = data::csv(options);
    EXPECT_EQ(read_rows(*csv.source, 0, {4, 0, 2, 1, 3}), (std::vector<float>{5, 1, 3, 2, 4}));
    EXPECT_EQ(csv.source->place(0, 3), "u.csv: line 3");
    EXPECT_EQ(csv.source->place(0, 1), "t.csv: line 3");
  }
  write_text(file.files, "u.csv", "a,z\n3,0\n");
  expect_within(message_of<DataError>([&] { data::csv(options); }), "column 1 is called \"z\"");
}

TEST(Csv, ValidationIsReadAsTheTrainingDataWas) {
  CsvFile file(kTable);
  const data::CsvData train = data::csv(file.options({"income"}));
  write_text(file.files, "v.csv", "income,extra,work,age\n>50K,1,private,30\n");
  data::CsvOptions options = file.options();
  options.files = {"v.csv"};
  options.like = &train.columns;
  const data::CsvData other = data::csv(options);
  EXPECT_EQ(other.source->fields()[0].row, Shape({3}));
  const std::vector<float> inputs = {0, 1, 0};  // The mean of age, then private.
  EXPECT_EQ(read_rows(*other.source, 0, {0}), inputs);
  EXPECT_EQ(read_rows<int32_t>(*other.source, 1, {0}), (std::vector<int32_t>{1}));
  write_text(file.files, "v.csv", "work,age\nprivate,30\n");
  const data::CsvData unlabelled = data::csv(options);
  EXPECT_EQ(unlabelled.source->fields().size(), 1u) << "without a label";
  EXPECT_EQ(read_rows(*unlabelled.source, 0, {0}), inputs);
  const Columns again = Columns::from_json(unlabelled.columns.json());
  options.like = &again;
  EXPECT_EQ(read_rows(*data::csv(options).source, 0, {0}), inputs) << "as one that was read so";
  options.like = &train.columns;
  write_text(file.files, "v.csv", "work,income\nprivate,>50K\n");
  expect_within(message_of<DataError>([&] { data::csv(options); }), "no column \"age\"");
  write_text(file.files, "v.csv", "age,work,income\n30,privat,>50K\n");
  const std::string message = message_of<DataError>([&] { data::csv(options); });
  expect_within(message, "v.csv: line 2, column work is \"privat\", but one of the 2 categories");
  expect_within(message, "such as \"private\"");
  write_text(file.files, "v.csv", "age,work,income\n30,private,>50K.\n");
  expect_within(message_of<DataError>([&] { data::csv(options); }), "column income is \">50K.\"");
}

// Whatever the order of the columns is, and wherever the rows are kept.
TEST(Csv, NumbersAreFoundByTheNamesOfTheirColumns) {
  CsvFile file("a,b,c,y\n1,2,3,0\n4,5,6,1\n");
  data::CsvOptions options = file.options({"y"});
  for (const char* name : {"a", "b", "c"}) options.wishes.settings[name].use = ColumnUse::as_is;
  const data::CsvData train = data::csv(options);
  std::string text = "c,y,a,b\n";
  for (int i = 0; i < 1000; ++i) text += "30,1,10,20\n";
  write_text(file.files, "v.csv", text);
  options.files = {"v.csv"};
  options.like = &train.columns;
  for (const char* cache : {"", "cache", "cache", "cache"}) {
    const data::CsvData other = data::csv(options);
    EXPECT_EQ(read_rows(*other.source, 0, {999}), (std::vector<float>{10, 20, 30}));
    EXPECT_EQ(read_rows<int32_t>(*other.source, 1, {999}), (std::vector<int32_t>{1}));
    options.most_in_memory = 100;
    options.cache = cache;
  }
}

TEST(Csv, ALabelInAFirstLineThatIsNoHeaderIsSaid) {
  CsvFile file("a,2020,y\n1,2,0\n3,4,1\n");
  expect_within(message_of([&] { data::csv(file.options({"y"})); }),
                "t.csv: its first line has \"y\", but is not taken for a header: \"2020\" is a "
                "number; give header: true");
  write_text(file.files, "t.csv", "a,a,y\n1,2,0\n");
  expect_within(message_of([&] { data::csv(file.options({"y"})); }),
                "two columns are called \"a\"; rename one");
}

TEST(Csv, BadRowsAreNamed) {
  expect_within(refusal("a,b,y\n1,2,0\n3,1\n4,5,1\n"), "t.csv: line 3: it has 2 cells, but 3");
  expect_within(refusal("a,b,y\n1,2,0\n1,x,1\n2,3,0\n"),
                "t.csv: line 3, column b is \"x\", but a number was expected");
  expect_within(refusal("a,y\n1,0\n1e400,1\n"), "column a is \"1e400\", but a finite number");
  expect_within(refusal("a,y\n1,0\ninf,1\n"), "column a is \"inf\", but a finite number");
  expect_within(refusal("a,y\n1,0\n2,\n"), "column y is \"\", but a value was expected");
  expect_within(refusal("a,y\n1,0\n2,\"1\n"), "line 3: its last quote is never closed");
  expect_within(refusal("a,y\n1,0\nq,0\nr,1\n3,1\n4,1\n"), "and 1 more row is bad");
  expect_within(refusal("a,w,y\n1,x,0\n2,caf\xe9,1\n"), "text in UTF-8 was expected");
  expect_within(refusal(""), "t.csv: the file is empty");
  expect_within(refusal("a,y\n", {}), "there is a header, but no row follows it");
  expect_within(refusal("a,y\n?,1\n"), "no column is left to learn from");
  CsvFile twice("a,a\n1,2\n");
  data::CsvOptions options = twice.options();
  options.header = true;
  expect_within(message_of<DataError>([&] { data::csv(options); }), "two columns are called \"a\"");
}

// [[1, 2, 'a'], [4, 5, 6]] of the seeds.
TEST(Csv, AStringAmongNumbersIsNamed) {
  expect_within(refusal("1,2,a\n4,5,6\n", {}), "t.csv: line 1, column 2 is \"a\", but a number");
}

TEST(Csv, PoliciesForBadRows) {
  std::string text = "a,y\n";
  for (int i = 0; i < 100; ++i) text += i % 50 == 20 ? "oops,1\n" : fmt::format("{},1\n", i);
  CsvFile file(text);
  data::CsvOptions options = file.options({"y"});
  options.bad_rows.policy = BadRowPolicy::skip;
  EXPECT_EQ(data::csv(options).source->rows(), 98);
  options.bad_rows.most = 0.01;
  expect_within(message_of<DataError>([&] { data::csv(options); }),
                "2 of 100 rows are bad, more than the 1 %");
  options.bad_rows = {.policy = BadRowPolicy::quarantine, .rejected = "rejected.csv"};
  EXPECT_EQ(data::csv(options).source->rows(), 98);
  EXPECT_EQ(read_text(file.files, "rejected.csv"),
            "file,position,column,value,problem,record\n"
            "t.csv,line 22,a,oops,a number was expected,\"oops,1\"\n"
            "t.csv,line 72,a,oops,a number was expected,\"oops,1\"\n");
  options.bad_rows = {.policy = BadRowPolicy::impute};
  const data::CsvData imputed = data::csv(options);
  EXPECT_EQ(imputed.source->rows(), 100);
  EXPECT_EQ(imputed.imputed, 2);
  EXPECT_EQ(read_rows(*imputed.source, 0, {20}), (std::vector<float>{0})) << "the mean";
}

// A quote that is never closed takes all lines behind it.
TEST(Csv, LinesThatAQuoteSwallowsAreBadRows) {
  std::string text = "a,w,y\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{},{}u,1\n", i, i == 40 ? "\"" : "");
  CsvFile file(text);
  data::CsvOptions options = file.options({"y"});
  options.bad_rows.policy = BadRowPolicy::skip;
  expect_within(
      message_of<DataError>([&] { data::csv(options); }),
      "60 of 100 rows are bad, more than the 5 % that bad_rows_at_most allows; the "
      "first: t.csv: line 42: its last quote is never closed, so it runs on for 60 lines");
  options.bad_rows.most = 1;
  const data::CsvData data = data::csv(options);
  EXPECT_EQ(data.source->rows(), 40);
  EXPECT_EQ(data.bad_rows, 60);
}

TEST(Csv, AFileThatChangesIsAnError) {
  std::string text = "a,y\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{},1\n", i);
  CsvFile file(text);
  data::CsvOptions options = file.options({"y"});
  options.most_in_memory = 8;
  const SourcePtr source = data::csv(options).source;
  write_text(file.files, "t.csv", text.substr(0, 100));
  expect_within(message_of<FileError>([&] { source->begin_pass(1); }), "changed during the run");
  expect_within(message_of<FileError>([&] { read_rows(*source, 0, {99}); }),
                "changed during the run");
}

TEST(Csv, AFileThatChangesWhileItIsReadIsAnError) {
  const std::string text = "a,b,y\n1,x,1\n2,y,0\n";
  for (const Path& cache : {Path(), Path("cache")}) {
    int opens = 1;
    for (bool changed = true; changed; ++opens) {
      CsvFile file(text);
      ChangingFiles changing(file.files, "t.csv", opens, text + "3,z,1\n");
      data::CsvOptions options = file.options({"y"});
      options.file_system = &changing;
      options.cache = cache;
      try {
        const int64_t rows = *data::csv(options).source->rows();
        // Changed before it was looked at, or not at all.
        changed = opens == 1;
        EXPECT_EQ(rows, changed ? 3 : 2);
      } catch (const FileError& error) {
        expect_within(error.what(), "t.csv: it was changed while it was read");
      }
    }
    EXPECT_GT(opens, 3);
  }
}

TEST(Csv, LabelsThatAreNoWholeNumbersAreNamed) {
  CsvFile file("a,y\n1,0\n2,1.5\n");
  const SourcePtr source = data::csv(file.options({"y"})).source;
  expect_within(message_of<DataError>([&] {
                  read_rows<int32_t>(*source, 1, {0, 1});
                }),
                "t.csv: line 3: y is 1.5, but a whole number");
}

// Its first row has no number: it could be a header.
TEST(Csv, ATableWithoutAHeaderIsReadLikeOneWithoutAHeader) {
  CsvFile file("red,small,yes\nblue,large,no\nred,large,yes\n");
  data::CsvOptions options = file.options({"2"});
  options.header = false;
  const Columns columns = data::csv(options).columns;
  const auto rows_like = [&](std::string_view text) {
    CsvFile other(text);
    data::CsvOptions again = other.options();
    again.like = &columns;
    return *data::csv(again).source->rows();
  };
  EXPECT_EQ(rows_like("red,small,yes\nblue,large,no\n"), 2);
  EXPECT_EQ(rows_like("colour,size,bought\nblue,large,no\n"), 1) << "no row begins so";
}

// Names that are numbers are no header where nothing is known.
TEST(Csv, ATableWithAHeaderIsReadLikeOneWithAHeader) {
  CsvFile file("2019,2020,y\n1,2,0\n3,5,1\n");
  data::CsvOptions options = file.options({"y"});
  options.header = true;
  const Columns columns = data::csv(options).columns;
  CsvFile other("2019,2020\n1,2\n");
  options = other.options();
  options.like = &columns;
  EXPECT_EQ(*data::csv(options).source->rows(), 1);
  CsvFile without("1,2\n3,4\n");
  options.file_system = &without.files;
  expect_within(message_of<DataError>([&] { data::csv(options); }),
                "t.csv: there is no column \"2019\", which the training data has");
}

// Rows are packed as float32, which 16777217 is not.
TEST(Csv, IdsThatMayHaveBeenRoundedAreRefused) {
  CsvFile file("id,y\n16777215,0\n16777217,1\n");
  data::CsvOptions options = file.options({"y"});
  options.wishes.settings["id"] = {.use = ColumnUse::as_is};
  const SourcePtr source = data::csv(options).source;
  EXPECT_EQ(read_rows<int32_t>(*source, 0, {0}), (std::vector<int32_t>{16777215}));
  EXPECT_EQ(read_rows(*source, 0, {1}), (std::vector<float>{16777216})) << "a number like others";
  expect_within(message_of<DataError>([&] { read_rows<int32_t>(*source, 0, {1}); }),
                "t.csv: line 3: id is about 16777216, but a whole number below 16777216 was "
                "expected");
}

// Behind a column of several numbers.
TEST(Csv, IdsThatAreScaledAreNamedWithTheWayOut) {
  CsvFile file("city,user id,n,y\na,4,1.5,0\nb,5,2,1\nc,9,3,0\n");
  data::CsvOptions options = file.options({"y"});
  options.wishes.settings["city"] = {.use = ColumnUse::one_hot};
  options.wishes.settings["user id"] = {.use = ColumnUse::min_max};
  options.wishes.settings["n"] = {.use = ColumnUse::as_is};
  const SourcePtr source = data::csv(options).source;
  const auto message = [&](int64_t row) {
    return message_of<DataError>([&] { read_rows<int32_t>(*source, 0, {row}); });
  };
  expect_within(message(1),
                "t.csv: line 3: user id is 0.2 after min_max, but a whole number that int32 holds "
                "was expected, as ids of an embedding are; ids stay what they are with columns: "
                "{user id: as_is}");
  expect_within(message(0), "t.csv: line 2: n is 1.5, but a whole number that int32 holds was");
}

}  // namespace
}  // namespace snug::testing
