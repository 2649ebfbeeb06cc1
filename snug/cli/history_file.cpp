#include "snug/cli/history_file.h"

#include <span>

namespace snug::cli {

void HistoryFile::add_line(const EpochTable& epochs) {
  const std::string line = epochs.csv_line(epochs.size() - 1);
  file_->append(std::as_bytes(std::span(line)));
  written_ = epochs.size();
}

void HistoryFile::follow(const EpochTable& epochs) {
  if (epochs.size() < not_before_) return;
  try {
    if (file_ && written_ + 1 == epochs.size() && header_ == epochs.csv_header()) {
      add_line(epochs);
    } else {
      write(epochs);
      file_ = files_.open(path_, OpenMode::append);
    }
    trouble_.worked();
  } catch (const FileError& error) {
    file_.reset();  // Half a line may stand there.
    // All lines after every epoch would take the longer, the more there are.
    not_before_ = epochs.size() + epochs.size() / 8 + 1;
    trouble_.failed(fmt::format("{}. Training goes on, and it is tried again", error.what()));
  }
}

void HistoryFile::write(const EpochTable& epochs) {
  constexpr size_t kPiece = size_t{16} << 10;
  file_.reset();
  write_atomically(files_, path_, [&](File& file) {
    std::string piece;
    const auto flush = [&] {
      file.append(std::as_bytes(std::span(piece)));
      piece.clear();
    };
    epochs.write_csv([&](std::string_view text) {
      piece += text;
      if (piece.size() >= kPiece) flush();
    });
    flush();
  });
  header_ = epochs.csv_header();
  written_ = epochs.size();
}

}  // namespace snug::cli
