#include "snug/cli/prediction_rows.h"

#include <algorithm>

namespace snug::cli {
namespace {

// "t.csv" of "t.csv: line 19".
std::string file_of(const std::string& place) { return place.substr(0, place.rfind(": ")); }

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

}  // namespace snug::cli
