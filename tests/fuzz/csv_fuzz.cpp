// Any bytes as a CSV file, plain or compressed: rows are held, or parsed each time they are read,
// and are the same; or the file is refused with an error of the user's kind.

#include "snug/data/csv.h"
#include "snug/data/table_report.h"
#include "tests/fuzz/input_file.h"

namespace {

std::vector<float> rows_of(snug::Source& source) {
  const int64_t rows = std::min<int64_t>(*source.rows(), 64);
  const int64_t width = source.fields()[0].row.size();
  std::vector<int64_t> numbers;
  for (int64_t row = rows - 1; row >= 0; --row) numbers.push_back(row);
  std::vector<float> values(static_cast<size_t>(rows * width));
  source.read(0, numbers, {{snug::DType::float32, {rows, width}}, values.data()});
  return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  snug::fuzz::InputFiles files({data, size});
  snug::data::CsvOptions options{.files = {"input"}, .file_system = &files};
  options.bad_rows = {.policy = snug::BadRowPolicy::skip, .most = 1};
  try {
    const snug::data::CsvData held = snug::data::csv(options);
    snug::Columns::from_json(held.columns.json());
    snug::fuzz::read_all(*held.source);
    snug::CsvTable table(files, {.files = {"input"}, .header = {}});
    snug::report_on(table, {});
    options.most_in_memory = 8;
    const snug::data::CsvData parsed = snug::data::csv(options);
    if (rows_of(*held.source) != rows_of(*parsed.source)) __builtin_trap();
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
    return 0;
  }
  return 0;
}
