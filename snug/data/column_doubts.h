// What a person should look at before a column is learned from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "snug/data/column_scan.h"

namespace snug {

// Categories that a person would take for the same, those of one together: "<=50K" and "<=50K.".
std::vector<std::vector<std::string>> ways_of_writing(const ColumnScan& column);
// A line for each of them.
std::vector<std::string> words_written_twice(const ColumnScan& column);

// The same of classes, by how often they come.
std::vector<std::string> classes_written_twice(const std::map<std::string, int64_t>& counts);

// A column of texts that a person would take for numbers: "12 kg", "$1,200", "7%", "1,5".
std::optional<std::string> doubt_of_written_numbers(const ColumnScan& column);

// A column that numbers the rows, as an id does, and says nothing about other rows. Of few rows it
// may be chance.
std::optional<std::string> doubt_of_id(const ColumnScan& column);

// The unnamed column with the numbers of the rows that pandas's to_csv writes first.
// Says that texts look like dates, each of which is then a category of its own.
std::optional<std::string> doubt_of_dates(const ColumnScan& column);

// Says that a number such as -999 or 9999 comes often and stands far from all others, as marks of
// missing values do. Only where its values were counted.
std::optional<std::string> doubt_of_mark(const ColumnScan& column);

bool is_index_of_pandas(const ColumnScan& column);

}  // namespace snug
