#include "snug/cli/prediction_rows.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/data/file_list.h"

namespace snug::cli {
namespace {

// "t.csv" of "t.csv: line 19".
std::string file_of(const std::string& place) { return place.substr(0, place.rfind(": ")); }

// All texts of the section that may be paths.
void add_files(const RunFile& run, const YamlValue& value, std::vector<Path>& files) {
  for (const YamlItem& item : value.items) add_files(run, item.value, files);
  for (const YamlValue& element : value.list) add_files(run, element, files);
  if (!value.is_scalar() || value.text.empty()) return;
  try {
    const std::vector<Path> pattern = {run.path(value)};
    const std::vector<Path> found = list_files(real_files(), pattern);
    files.insert(files.end(), found.begin(), found.end());
  } catch (const FileError&) {
    // It is no path.
  }
}

}  // namespace

RowNames row_names(const TrainedSession& session) {
  if (!session.are_pictures && session.left_out == 0) return {};
  if (session.are_pictures)
    return {"file", [rows = session.data](int64_t row) { return rows->place(0, row); }};
  // To name a row of a table is to read it, which another thread may do meanwhile.
  SourcePtr rows = session.data->twin();
  if (!rows) rows = session.data;
  const int64_t last = std::max<int64_t>(rows->rows().value_or(1), 1) - 1;
  const std::string first_file = file_of(rows->place(0, 0));
  const bool one_file = first_file == file_of(rows->place(0, last));
  const size_t from = one_file ? first_file.size() + 2 : 0;
  return {"position", [rows, from](int64_t row) {
            const std::string place = rows->place(0, row);
            return from < place.size() ? place.substr(from) : place;
          }};
}

void refuse_own_data(const RunFile& run, const std::vector<Path>& files) {
  std::vector<Path> data;
  add_files(run, *run.section("data"), data);
  for (const Path& file : files) {
    const bool is_read = std::ranges::any_of(data, [&](const Path& path) {
      std::error_code error;
      return std::filesystem::equivalent(path, file, error);
    });
    if (is_read)
      throw Error("--output {}: this file is among the data that is read; give another one",
                  file.string());
  }
}

}  // namespace snug::cli
