#include "snug/cli/class_names.h"

#include <algorithm>
#include <cmath>

#include "snug/cli/json_text.h"
#include "snug/data/columns.h"

namespace snug::cli {
namespace {

std::vector<std::string> categories_of(const Columns& columns) {
  if (columns.labels.size() != 1) return {};
  const Column* label = columns.find(columns.labels[0]);
  return label != nullptr ? label->vocabulary : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> class_names_of(std::string_view fitted) {
  const nlohmann::json kept = json_object(fitted);
  if (kept.contains("columns")) return categories_of(Columns::from_json(fitted));
  const auto names = kept.find("class_names");
  if (names == kept.end() || !names->is_array()) return {};
  std::vector<std::string> words;
  for (const nlohmann::json& name : *names) {
    if (!name.is_string()) return {};
    words.push_back(name);
  }
  return words;
}

std::string fitted_to_classes(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return json_text(nlohmann::json({{"class_names", names}}));
}

NamedClasses::NamedClasses(std::vector<std::string> names, int64_t width, float threshold)
    : names_(std::move(names)), width_(width), threshold_(threshold) {
  const bool one_each = std::ssize(names_) == width && width > 1;
  if (!one_each && !(names_.size() == 2 && width == 1)) names_.clear();
}

std::vector<std::string> NamedClasses::columns() const {
  return width_ == 1 ? std::vector{names_[1]} : names_;
}

const std::string& NamedClasses::of(const float* row) const {
  static const std::string kNone;
  if (std::any_of(row, row + width_, [](float number) { return std::isnan(number); })) return kNone;
  if (width_ == 1) return names_[row[0] > threshold_ ? 1 : 0];
  return names_[static_cast<size_t>(std::max_element(row, row + width_) - row)];
}

}  // namespace snug::cli
