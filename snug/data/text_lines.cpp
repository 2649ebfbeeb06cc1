#include "snug/data/text_lines.h"

#include "snug/base/error.h"
#include "snug/data/csv_table.h"

namespace snug::data {

std::string_view LineReader::fill() {
  const size_t count = reader_.read(std::as_writable_bytes(std::span(buffer_)));
  std::string_view piece(buffer_.data(), count);
  if (done_ == 0 && piece.starts_with(kByteOrderMark)) piece.remove_prefix(kByteOrderMark.size());
  done_ += static_cast<int64_t>(count);
  return piece;
}

void LineReader::check(std::string_view piece) const {
  const size_t zero = piece.find('\0');
  if (zero == std::string_view::npos) return;
  throw DataError("{}: byte {} is 0, so it is no text; mend it, or take it away", path_.string(),
                  done_ - static_cast<int64_t>(piece.size() - zero));
}

Texts::Texts(const TextOptions& options, FileSystem& files) : options_(options), files_(files) {
  if (options.files.empty() == options.folder.empty())
    throw Error("text: give either files or a folder");
  if (options.folder.empty()) return;
  index_.emplace(files, FolderOptions{.folder = options.folder,
                                      .endings = {".txt"},
                                      .labelled = options.labelled,
                                      .class_names = options.class_names,
                                      .known_classes = options.known_classes,
                                      .validation_split = options.validation_split,
                                      .subset = options.subset,
                                      .seed = options.seed});
}

std::string Texts::name() const {
  return index_ ? options_.folder.string() : options_.files[0].string();
}

std::string Texts::identity() const {
  if (!index_) return identity_of(files_, options_.files);
  std::string all;
  for (int64_t i = 0; i < index_->size(); ++i) {
    const Path path = index_->path(i);
    all += fmt::format("{}:{}:{};", path.string(), files_.size(path).value_or(0),
                       time_of_change(path));
  }
  return all;
}

}  // namespace snug::data
