// The blocks of a document in Markdown, for tests that hold it against the program.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "snug/base/file.h"

namespace snug::cli {

struct DocumentBlock {
  std::string kind;  // What stands behind the three quotes: "yaml layers".
  std::string text;
  int line = 0;  // Of its first line.
};

inline std::string file_text(const Path& path) {
  const std::unique_ptr<File> file = real_files().open(path, OpenMode::read);
  std::string text(static_cast<size_t>(file->size()), '\0');
  file->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

inline std::vector<DocumentBlock> blocks_of(const std::string& document) {
  std::vector<DocumentBlock> blocks;
  bool is_inside = false;
  int number = 0;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      if (is_inside) blocks.push_back({.kind = line.substr(3), .text = {}, .line = number + 1});
    } else if (is_inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

}  // namespace snug::cli
