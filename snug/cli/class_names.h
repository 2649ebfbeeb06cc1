// The classes that a model tells apart, where it was trained on names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snug::cli {

// From what a model's file keeps of its data (RunData::fitted): the categories of a label column,
// or the folders or labels of pictures and texts. Empty where there are none.
std::vector<std::string> class_names_of(std::string_view fitted);
// What to keep of pictures, and of texts beside their words.
std::string fitted_to_classes(const std::vector<std::string>& names);

// How classes stand in the output of a model.
class NamedClasses {
 public:
  NamedClasses() = default;
  // `width` numbers a row are one for each class, or one number for two of them, which is the
  // second above `threshold`, as accuracy has it. Anything else has no names.
  NamedClasses(std::vector<std::string> names, int64_t width, float threshold);

  explicit operator bool() const { return !names_.empty(); }
  const std::vector<std::string>& names() const { return names_; }
  // What each number of a row is about.
  std::vector<std::string> columns() const;
  // The class of a row; empty where a number of it is none.
  const std::string& of(const float* row) const;

 private:
  std::vector<std::string> names_;
  int64_t width_ = 0;
  float threshold_ = 0;
};

}  // namespace snug::cli
