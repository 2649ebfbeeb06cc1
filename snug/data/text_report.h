// What is to be known about texts before one trains on them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "snug/data/bad_rows.h"
#include "snug/data/text.h"

namespace snug {

struct TextReport {
  int64_t texts = 0, words = 0;
  int64_t different_words = 0;  // At least so many, where has_more.
  bool has_more = false;
  // Words of a text: of the longest one, and what half and nine of ten texts do not exceed.
  int64_t longest = 0, median = 0, most = 0;
  std::string longest_place;
  std::map<std::string, int64_t> classes;  // Texts of each, where there are labels.
  // Texts with bytes that are 0, which a run would refuse, and lines of labels without one.
  int64_t bad_rows = 0;
  std::vector<BadRow> listed;  // The first of them.
  // Texts in another encoding than UTF-8, labels that are more or fewer than the texts, a class
  // that only one side of a split has.
  std::vector<std::string> wrong;
  std::vector<std::string> notes;  // Texts without words, and what may be meant so too.

  bool is_clean() const { return bad_rows == 0 && wrong.empty(); }
};

// Goes over files or a folder, and over labels, once, in fixed memory but for four bytes a label.
// Of the options it heeds which texts there are, and what is a word. Throws as text() does for what
// cannot be read at all.
TextReport report_on(const data::TextOptions& options);

}  // namespace snug
