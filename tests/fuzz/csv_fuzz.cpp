// A CSV file, plain or compressed: rows are held, or parsed each time they are read, and are the
// same.

#include "snug/data/csv.h"
#include "snug/data/table_report.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

namespace snug::fuzz {
namespace {

std::vector<float> rows_of(Source& source) {
  const int64_t rows = std::min<int64_t>(*source.rows(), 64);
  const int64_t width = source.fields()[0].row.size();
  std::vector<int64_t> numbers;
  for (int64_t row = rows - 1; row >= 0; --row) numbers.push_back(row);
  std::vector<float> values(static_cast<size_t>(rows * width));
  source.read(0, numbers, {{DType::float32, {rows, width}}, values.data()});
  return values;
}

}  // namespace

void read_input(Input bytes) {
  InputFiles files(bytes);
  data::CsvOptions options{.files = {"input"}, .file_system = &files};
  options.bad_rows = {.policy = BadRowPolicy::skip, .most = 1};
  const data::CsvData held = data::csv(options);
  Columns::from_json(held.columns.json());
  read_all(*held.source);
  CsvTable table(files, {.files = {"input"}, .header = {}});
  report_on(table, {});
  options.most_in_memory = 8;
  const data::CsvData parsed = data::csv(options);
  SNUG_CHECK(rows_of(*held.source) == rows_of(*parsed.source), "rows held and parsed differ");
  options.cache = "cache";
  for (const char* how : {"written", "found"}) {
    const data::CsvData kept = data::csv(options);
    SNUG_CHECK(rows_of(*held.source) == rows_of(*kept.source), "rows held and {} differ", how);
  }
}

}  // namespace snug::fuzz
