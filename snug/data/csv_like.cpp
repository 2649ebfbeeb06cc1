// A table that is read as another one was.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/data/csv.h"
#include "snug/data/row_encoder.h"

namespace snug::data {
namespace {

// A column, and where it stands among those that are read.
struct LikePlace {
  const Column* column = nullptr;
  int64_t position = 0;
};

std::unordered_map<std::string_view, LikePlace> places_of(const Columns& columns) {
  std::vector<const Column*> order;
  for (const Column& column : columns.columns) order.push_back(&column);
  std::ranges::stable_sort(order, {}, &Column::position);
  std::unordered_map<std::string_view, LikePlace> places;
  for (size_t i = 0; i < order.size(); ++i)
    places[order[i]->name] = {order[i], static_cast<int64_t>(i)};
  return places;
}

// Whether names that were found in the first line of a table are a row of one like `like`.
bool is_row(const CsvTable& table, const Columns& like) {
  const std::vector<std::string_view> cells(table.names().begin(), table.names().end());
  return RowEncoder(columns_like(like, table)).likeness(cells) == Likeness::plain;
}

}  // namespace

std::optional<bool> header_like(FileSystem& files, const CsvOptions& options) {
  const Columns* like = options.like;
  if (options.header || like == nullptr) return options.header;
  const auto table = [&](std::optional<bool> header) {
    return CsvTable(files, {options.files, header, options.delimiter});
  };
  try {
    if (!like->has_header) return table({}).has_header() && !is_row(table({}), *like);
    columns_like(*like, table(true));
    return true;
  } catch (const DataError&) {
    // What is wrong is said when the table is read.
    return like->has_header ? std::nullopt : std::optional(false);
  }
}

Columns columns_like(const Columns& like, const CsvTable& table) {
  Columns columns = like;
  columns.columns.clear();
  const std::unordered_map<std::string_view, LikePlace> places = places_of(like);
  if (!like.has_header && table.names().size() != like.columns.size()) {
    throw DataError("{}: it has {} columns, but the training data has {}; give the same columns",
                    table.file_name(), table.names().size(), like.columns.size());
  }
  for (size_t i = 0; i < table.names().size(); ++i) {
    const std::string& name = like.has_header ? table.names()[i] : like.columns[i].name;
    const auto found = places.find(name);
    columns.columns.push_back(found != places.end() ? *found->second.column : Column{.name = name});
    if (found != places.end()) columns.columns.back().position = found->second.position;
  }
  std::unordered_set<std::string_view> there;
  for (const Column& column : columns.columns) there.insert(column.name);
  const std::vector<std::string_view> names(table.names().begin(), table.names().end());
  for (const Column& column : like.columns) {
    if (!like.is_input(column) || there.contains(column.name)) continue;
    throw DataError("{}: there is no column \"{}\", which the training data has; {}",
                    table.file_name(), column.name, did_you_mean(column.name, names));
  }
  std::erase_if(columns.labels, [&](const auto& label) { return !columns.find(label); });
  if (!columns.find(columns.weight)) columns.weight.clear();
  return columns;
}

}  // namespace snug::data
