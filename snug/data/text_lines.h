// Files of texts, line by line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/data/byte_reader.h"
#include "snug/data/folder_index.h"
#include "snug/data/text.h"

namespace snug::data {

// What becomes of bytes that are 0, which no text has.
enum class ZeroBytes { refused, given };

// Goes over a file line by line, in pieces; an empty line is a row without words, and a byte order
// mark is passed over. Throws DataError, which names the byte, for one that is 0, where that is
// refused.
class LineReader {
 public:
  static constexpr size_t kPieceBytes = size_t{64} << 10;

  LineReader(FileSystem& files, const Path& path, ZeroBytes zeros)
      : path_(path), reader_(files, path), zeros_(zeros), buffer_(kPieceBytes) {}

  // Calls piece(text) for the pieces of each line and end() behind it.
  template <typename Piece, typename End>
  void visit(const Piece& piece, const End& end) {
    bool open = false;
    for (std::string_view rest = fill(); !rest.empty(); rest = fill()) {
      if (zeros_ == ZeroBytes::refused) check(rest);
      while (!rest.empty()) {
        const size_t border = rest.find('\n');
        piece(rest.substr(0, border));
        open = border == std::string_view::npos;
        if (open) break;
        end();
        rest.remove_prefix(border + 1);
      }
    }
    if (open) end();
  }

 private:
  // The next bytes; none at the end.
  std::string_view fill();
  void check(std::string_view piece) const;

  Path path_;
  ByteReader reader_;
  ZeroBytes zeros_;
  std::vector<char> buffer_;
  int64_t done_ = 0;
};

// All texts in order, whichever way they are kept.
class Texts {
 public:
  // Both stay. Throws Error for neither or both of files and a folder.
  Texts(const TextOptions& options, FileSystem& files);

  // The same for all of them: piece(text), and end() behind each text.
  template <typename Piece, typename End>
  void visit(ZeroBytes zeros, const Piece& piece, const End& end) {
    if (index_) {
      for (int64_t i = 0; i < index_->size(); ++i) {
        path_ = index_->path(i);
        LineReader(files_, path_, zeros).visit(piece, [&] { piece("\n"); });
        end();
      }
      return;
    }
    for (const Path& path : options_.files) {
      path_ = path;
      line_ = 1;
      LineReader(files_, path, zeros).visit(piece, [&] {
        end();
        ++line_;
      });
    }
  }

  // Of the text that is being visited: its file, and its line where it is one.
  const Path& path() const { return path_; }
  std::optional<int64_t> line() const { return index_ ? std::nullopt : std::optional(line_); }

  const std::optional<FolderIndex>& index() const { return index_; }
  std::string name() const;
  // Another one when the files change.
  std::string identity() const;

 private:
  const TextOptions& options_;
  FileSystem& files_;
  std::optional<FolderIndex> index_;
  Path path_;
  int64_t line_ = 0;
};

}  // namespace snug::data
