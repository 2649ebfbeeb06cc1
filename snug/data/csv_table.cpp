#include "snug/data/csv_table.h"

#include <algorithm>
#include <set>

#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/csv_cell.h"

namespace snug {
namespace {

// Why they are no header, and what would make them one; empty: they look like one.
struct Against {
  std::string reason, way_out;
  bool is_name = false;  // Two have the same one.
};

Against against_header(const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool at_an_end = i == 0 || i + 1 == cells.size();
    if (cells[i].empty() && (!at_an_end || cells.size() == 1))
      return {fmt::format("cell {} of it is empty", i), "give header: true"};
    if (number_of(cells[i]))
      return {fmt::format("{} is a number", in_quotes(cells[i])), "give header: true"};
    if (cells[i] == "?") return {"\"?\" is a missing value", "give header: true"};
  }
  std::set<std::string_view> different;
  for (const std::string& cell : cells) {
    if (!cell.empty() && !different.insert(cell).second)
      return {fmt::format("two columns are called {}", in_quotes(cell)), "rename one", true};
  }
  return {};
}

// Whether names stand above numbers: then a name that comes twice is a mistake, and no row.
bool stand_above_numbers(const std::vector<std::string>& cells, const CsvRecord& second) {
  const auto is_number = [](std::string_view cell) { return number_of(cell).has_value(); };
  return std::ranges::none_of(cells, is_number) && second.cells.size() == cells.size() &&
         std::ranges::any_of(second.cells, is_number);
}

constexpr size_t kMostColumns = 65536;

std::string column_name(std::string_view cell, size_t column) {
  return cell.empty() ? fmt::format("column {}", column) : std::string(cell);
}

}  // namespace

CsvTable::CsvTable(FileSystem& files, CsvTableOptions options)
    : files_(files), options_(std::move(options)) {
  if (options_.files.empty()) throw Error("csv: no file was given");
  reader_ = std::make_unique<CsvReader>(files_, options_.files[0], options_.delimiter);
  CsvRecord first;
  if (!reader_->next(first)) {
    throw DataError("{}: the file is empty; a header and rows were expected", reader_->name());
  }
  if (first.open_quote) {
    throw DataError("{}: line {}: a quote is never closed, so no row follows; close it",
                    reader_->name(), first.line);
  }
  const std::vector<std::string> cells(first.cells.begin(), first.cells.end());
  if (cells.size() > kMostColumns) {
    throw DataError(
        "{}: line {} has {} columns, more than the {} that a table may have; give rows of so many "
        "numbers as an .npy or HDF5 file",
        reader_->name(), first.line, cells.size(), kMostColumns);
  }
  const int64_t line = first.line;
  has_header_ = options_.header.value_or(against_header(cells).reason.empty());
  CsvRecord& second = first;
  if (!options_.header && !has_header_ && reader_->next(second))
    has_header_ = stand_above_numbers(cells, second) && against_header(cells).is_name;
  if (!options_.header && !has_header_) first_cells_ = cells;
  std::set<std::string> different;
  for (size_t i = 0; i < cells.size(); ++i) {
    names_.push_back(has_header_ ? column_name(cells[i], i) : std::to_string(i));
    if (!is_utf8(names_.back())) {
      throw DataError(
          "{}: line {}: the name of column {} is {}, which is no UTF-8; save the file as UTF-8",
          reader_->name(), line, i, in_quotes(names_.back()));
    }
    if (!different.insert(names_.back()).second) {
      throw DataError("{}: line {}: two columns are called {}; rename one", reader_->name(), line,
                      in_quotes(names_.back()));
    }
  }
  restart();
}

std::string CsvTable::why_no_header(std::string_view name) const {
  if (std::ranges::find(first_cells_, name) == first_cells_.end()) return "";
  const Against against = against_header(first_cells_);
  return against.reason + "; " + against.way_out;
}

std::string CsvTable::why_a_row() const {
  return first_cells_.empty() ? "" : against_header(first_cells_).reason;
}

void CsvTable::open(int file) {
  if (file != file_) {
    reader_ = std::make_unique<CsvReader>(files_, options_.files[static_cast<size_t>(file)],
                                          options_.delimiter);
  } else {
    reader_->restart();
  }
  file_ = file;
  CsvRecord record;
  if (has_header_) read_header(record);
}

void CsvTable::read_header(CsvRecord& record) {
  if (!reader_->next(record)) {
    throw DataError("{}: the file is empty; a header and rows were expected", reader_->name());
  }
  if (file_ == 0) return;
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string cell = i < record.cells.size() ? column_name(record.cells[i], i) : "nothing";
    if (cell == names_[i]) continue;
    throw DataError(
        "{}: column {} is called {}, but in {} it is {}; give files with the same columns, each "
        "with its header",
        reader_->name(), i, in_quotes(cell), options_.files[0].string(), in_quotes(names_[i]));
  }
  if (record.cells.size() == names_.size()) return;
  throw DataError(
      "{}: the header has {} columns, but that of {} has {}; give files with the same columns",
      reader_->name(), record.cells.size(), options_.files[0].string(), names_.size());
}

bool CsvTable::next(CsvRecord& record) {
  while (!reader_->next(record)) {
    if (file_ + 1 == std::ssize(options_.files)) return false;
    open(file_ + 1);
  }
  return true;
}

bool CsvTable::next_block(CsvBlock& block) {
  while (!reader_->next_block(block)) {
    if (file_ + 1 == std::ssize(options_.files)) return false;
    open(file_ + 1);
  }
  block.file = file_;
  return true;
}

void CsvTable::restart() { open(0); }

void CsvTable::seek(const CsvPlace& place) {
  if (place.file != file_) open(place.file);
  if (reader_->is_compressed()) {
    throw DataError("{}: a compressed file cannot be read from the middle; give a cache folder",
                    reader_->name());
  }
  reader_->seek(place.offset, place.line);
}

int64_t time_of_change(const Path& path) {
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(path, error);
  return error ? 0 : changed.time_since_epoch().count();
}

std::string identity_of(FileSystem& files, const std::vector<Path>& paths) {
  constexpr int64_t kEndBytes = 64 << 10;
  std::string identity;
  for (const Path& path : paths) {
    const std::unique_ptr<File> file = files.open(path, OpenMode::read);
    const int64_t size = file->size();
    std::string ends(static_cast<size_t>(std::min(size, kEndBytes)), '\0');
    file->read_at(std::as_writable_bytes(std::span(ends)), 0);
    uint64_t hash = hash_text(ends);
    file->read_at(std::as_writable_bytes(std::span(ends)), std::max<int64_t>(0, size - kEndBytes));
    hash = mix_bits(hash + hash_text(ends));
    identity += fmt::format("{}|{}|{}|{:016x}\n", std::filesystem::absolute(path).string(), size,
                            time_of_change(path), hash);
  }
  return identity;
}

}  // namespace snug
