#include <nlohmann/json.hpp>

#include "snug/base/error.h"
#include "snug/data/columns.h"

namespace snug {

std::string Columns::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Column& column : columns) {
    nlohmann::ordered_json item = {{"name", column.name}, {"use", name_of(column.use)}};
    item["missing"] = static_cast<int>(column.missing);
    item["missing_value"] = column.missing_value;
    if (column.use == ColumnUse::hash) item["buckets"] = column.buckets;
    if (column.is_number()) {
      item["shift"] = column.shift;
      item["scale"] = column.scale;
    }
    if (std::isfinite(column.low)) item["low"] = column.low;
    if (std::isfinite(column.high)) item["high"] = column.high;
    if (column.unseen_is_missing) item["unseen_is_missing"] = true;
    if (!column.vocabulary.empty()) item["vocabulary"] = column.vocabulary;
    item["note"] = column.note;
    if (column.position > 0) item["position"] = column.position;
    list.push_back(std::move(item));
  }
  const nlohmann::ordered_json all = {{"columns", list},
                                      {"labels", labels},
                                      {"weight", weight},
                                      {"has_header", has_header},
                                      {"delimiter", std::string(1, delimiter)},
                                      {"doubts", doubts}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Columns Columns::from_json(std::string_view text) {
  try {
    const nlohmann::json all = nlohmann::json::parse(text);
    Columns result{.columns = {},
                   .labels = all.at("labels"),
                   .weight = all.at("weight"),
                   .has_header = all.at("has_header"),
                   .delimiter = all.at("delimiter").get<std::string>().at(0),
                   .doubts = all.value("doubts", std::vector<std::string>())};
    for (const nlohmann::json& item : all.at("columns")) {
      Column column{.name = item.at("name"), .use = column_use(item.at("use").get<std::string>())};
      const int rule = item.at("missing");
      if (rule < 0 || rule > static_cast<int>(MissingRule::median)) {
        throw DataError("columns: there is no rule {} for missing cells", rule);
      }
      column.missing = static_cast<MissingRule>(rule);
      column.missing_value = item.at("missing_value");
      column.buckets = item.value("buckets", int64_t{0});
      column.shift = item.value("shift", 0.0);
      column.scale = item.value("scale", 1.0);
      column.low = item.value("low", column.low);
      column.high = item.value("high", column.high);
      if (!(column.low <= column.high))
        throw DataError("columns: clip from {} to {}", column.low, column.high);
      column.unseen_is_missing = item.value("unseen_is_missing", false);
      column.vocabulary = item.value("vocabulary", std::vector<std::string>());
      column.note = item.value("note", "");
      column.position = item.value("position", int64_t{0});
      result.columns.push_back(std::move(column));
    }
    return result;
  } catch (const std::exception& error) {
    throw DataError("columns: what was kept of them cannot be read: {}; let them be learned again",
                    error.what());
  }
}

}  // namespace snug
