#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/train/callback_definitions.h"
#include "snug/train/run_log.h"

namespace snug {
namespace {

// As Python writes a float: the shortest digits that give it back, and 1.0 for 1.
std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::vector<std::string> split(std::string_view line, std::string_view separator) {
  std::vector<std::string> cells;
  for (size_t at = line.find(separator); at != std::string_view::npos; at = line.find(separator)) {
    cells.emplace_back(line.substr(0, at));
    line.remove_prefix(at + separator.size());
  }
  cells.emplace_back(line);
  return cells;
}

// Without its end; all of the file where it has only one line.
std::string first_line(File& file) {
  std::string text;
  char buffer[256];
  while (text.find('\n') == std::string::npos) {
    const size_t count =
        file.read_at(std::as_writable_bytes(std::span(buffer)), static_cast<int64_t>(text.size()));
    if (count == 0) break;
    text.append(buffer, count);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

class CSVLoggerDefinition final : public CallbackDefinition {
 public:
  CSVLoggerDefinition(const Path& filename, const CSVLoggerOptions& options, FileSystem& files)
      : filename_(filename), options_(options), files_(files) {
    check();
  }

  std::string_view class_name() const override { return "CSVLogger"; }
  void settings(SettingVisitor& visitor) override {
    std::string filename = filename_.string();
    visitor.visit("filename", filename);
    filename_ = filename;
    visitor.visit("separator", options_.separator);
    visitor.visit("append", options_.append);
    check();
  }

  void on_train_begin() override {
    if (filename_.empty()) throw Error("CSVLogger: it has no filename; give one");
    columns_.clear();
    warned_ = false;
    // A run that is resumed goes on with its file: see state().
    if (params().resumed) return;
    if (options_.append && files_.size(filename_).value_or(0) > 0) read_header();
    log_.open({files_, filename_, options_.append ? OpenMode::append : OpenMode::write});
    if (ends_in_a_row_) log_.add("\n");
    ends_in_a_row_ = false;
  }

  void on_epoch_end(int epoch, Logs& logs) override {
    if (columns_.empty()) choose_columns(logs);
    warn_of_missing(logs);
    std::string row;
    for (const std::string& column : columns_) {
      if (!row.empty()) row += options_.separator;
      const auto found = logs.find(column);
      row += column == "epoch"     ? std::to_string(epoch)
             : found != logs.end() ? number_text(found->second)
                                   : "NA";
    }
    log_.add(row + "\n");
    log_.write();
  }

  void state(StateVisitor& visitor) override {
    log_.state("file", visitor, filename_);
    std::string columns = fmt::format("{}", fmt::join(columns_, "\n"));
    visitor.visit("columns", columns);
    if (!visitor.reads()) return;
    columns_ = columns.empty() ? std::vector<std::string>() : split(columns, "\n");
  }

  void on_train_end(const Logs&) override { log_.close(); }

 private:
  void check() const {
    if (options_.separator.empty()) throw Error("CSVLogger: the separator is empty");
  }

  // Rows follow the header that is there, so that they stand under the right names.
  void read_header() {
    const std::unique_ptr<File> file = files_.open(filename_, OpenMode::read);
    const std::string header = first_line(*file);
    if (!header.empty()) columns_ = split(header, options_.separator);
    std::byte last{};
    file->read_exactly_at({&last, 1}, file->size() - 1);
    // A run that was killed while it wrote.
    ends_in_a_row_ = last != std::byte{'\n'};
  }

  // Epochs that do not validate have no val_ logs: their columns are there from the start.
  void choose_columns(const Logs& logs) {
    std::vector<std::string> names;
    for (const auto& [name, value] : logs) names.push_back(name);
    const bool validated = std::ranges::any_of(
        names, [](const std::string& name) { return name.starts_with("val_"); });
    const size_t count = names.size();
    for (size_t i = 0; params().validates && !validated && i < count; ++i) {
      if (names[i] != "learning_rate") names.push_back("val_" + names[i]);
    }
    columns_ = {"epoch"};
    columns_.insert(columns_.end(), names.begin(), names.end());
    log_.add(fmt::format("{}\n", fmt::join(columns_, options_.separator)));
  }

  void warn_of_missing(const Logs& logs) {
    for (const auto& [name, value] : logs) {
      if (warned_ || std::ranges::count(columns_, name) > 0) continue;
      log_message(LogLevel::warning,
                  "CSVLogger: {} has no column \"{}\", so it is left out; without append a new "
                  "file is written",
                  filename_.string(), name);
      warned_ = true;
    }
  }

  Path filename_;
  CSVLoggerOptions options_;
  FileSystem& files_;
  RunLog log_{"CSVLogger", files_};
  std::vector<std::string> columns_;
  bool ends_in_a_row_ = false;
  bool warned_ = false;
};

}  // namespace

std::shared_ptr<CallbackDefinition> make_csv_logger(const Path& filename,
                                                    const CSVLoggerOptions& options,
                                                    FileSystem& files) {
  return std::make_shared<CSVLoggerDefinition>(filename, options, files);
}

CallbackPtr CSVLogger(const Path& filename, const CSVLoggerOptions& options, FileSystem& files) {
  if (filename.empty()) throw Error("CSVLogger: the filename is empty");
  return make_csv_logger(filename, options, files);
}

}  // namespace snug
