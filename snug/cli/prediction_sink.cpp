#include "snug/cli/prediction_sink.h"

#include <cmath>

#include "snug/base/error.h"
#include "snug/data/npy_writer.h"

namespace snug::cli {
namespace {

// A word as a cell of a CSV file.
std::string cell_of(const std::string& word) {
  if (word.find_first_of(",\"\n\r") == std::string::npos) return word;
  std::string cell = "\"";
  for (const char c : word) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

// One .npy file for each output.
class NpySink final : public PredictionSink {
 public:
  NpySink(const Path& path, const Network& network) {
    const Types types = network.output_types();
    const std::vector<std::string> names = network.output_names();
    for (size_t i = 0; i < types.size(); ++i) {
      Path file = path;
      if (types.size() > 1) file.replace_filename(path.stem().string() + "_" + names[i] + ".npy");
      const Shape& shape = types[i].shape;
      files_.push_back(file);
      writers_.push_back(
          std::make_unique<NpyWriter>(real_files(), file, shape.part(1, shape.rank())));
    }
  }

  void add(int output, int64_t /*first*/, const Tensor& rows) override {
    writers_[static_cast<size_t>(output)]->append(rows);
  }
  void finish() override {
    for (const auto& writer : writers_) writer->finish();
  }
  const std::vector<Path>& files() const override { return files_; }

 private:
  std::vector<std::unique_ptr<NpyWriter>> writers_;
  std::vector<Path> files_;
};

// One line for each row, with the elements of all outputs behind each other.
class CsvSink final : public PredictionSink {
 public:
  CsvSink(const Path& path, const Network& network, const NamedClasses& classes, RowNames names)
      : CsvSink(path, classes, std::move(names)) {
    if (!names_.title.empty()) put(names_.title + ",");
    put(header(network));
    batch_.resize(network.output_types().size());
  }
  ~CsvSink() override {
    if (!file_) return;
    try {
      real_files().remove(unfinished_);
    } catch (const FileError&) {
      // Whoever gave up the file has been told why.
      file_.reset();
    }
  }

  void add(int output, int64_t first, const Tensor& rows) override {
    const std::span<float> values = rows.as<float>();
    batch_[static_cast<size_t>(output)].assign(values.begin(), values.end());
    if (output + 1 < std::ssize(batch_)) return;
    const auto count = static_cast<size_t>(rows.shape()[0]);
    std::string lines;
    for (size_t row = 0; row < count; ++row) {
      if (!names_.title.empty())
        lines += cell_of(names_.name(first + static_cast<int64_t>(row))) + ",";
      add_line(row, count, lines);
    }
    put(lines);
  }

  void finish() override {
    file_->sync();
    file_->close();
    file_.reset();
    real_files().rename(unfinished_, files_[0]);
  }
  const std::vector<Path>& files() const override { return files_; }

 private:
  // Once it is done, the destructor removes the file, whatever throws.
  CsvSink(const Path& path, const NamedClasses& classes, RowNames names)
      : files_({path}), classes_(classes), names_(std::move(names)) {
    unfinished_ = path.string() + ".tmp";
    file_ = real_files().open(unfinished_, OpenMode::write);
  }

  std::string header(const Network& network) const {
    if (classes_) {
      std::string line;
      for (const std::string& name : classes_.columns()) line += cell_of(name) + ",";
      return line + "class\n";
    }
    const Types types = network.output_types();
    const std::vector<std::string> names = network.output_names();
    std::string line;
    for (size_t i = 0; i < types.size(); ++i) {
      const int64_t elements = types[i].shape.size_per_row();
      for (int64_t k = 0; k < elements; ++k) {
        line += line.empty() ? "" : ",";
        line += elements == 1 ? names[i] : fmt::format("{}_{}", names[i], k);
      }
    }
    return line + "\n";
  }

  void add_line(size_t row, size_t rows, std::string& lines) const {
    bool first = true;
    for (const std::vector<float>& all : batch_) {
      const size_t elements = all.size() / rows;
      for (size_t k = 0; k < elements; ++k) {
        const float number = all[row * elements + k];
        // Without the sign that a NaN may have.
        fmt::format_to(std::back_inserter(lines), "{}{}", first ? "" : ",",
                       std::isnan(number) ? std::abs(number) : number);
        first = false;
      }
    }
    if (classes_) lines += "," + cell_of(classes_.of(&batch_[0][row * batch_[0].size() / rows]));
    lines += '\n';
  }

  void put(const std::string& text) {
    file_->write_at(std::as_bytes(std::span(text)), at_);
    at_ += std::ssize(text);
  }

  std::vector<Path> files_;
  Path unfinished_;
  NamedClasses classes_;
  RowNames names_;
  std::unique_ptr<File> file_;
  int64_t at_ = 0;
  std::vector<std::vector<float>> batch_;
};

}  // namespace

std::unique_ptr<PredictionSink> open_sink(const Path& path, const Network& network,
                                          const NamedClasses& classes, RowNames names) {
  if (path.extension() == ".npy") return std::make_unique<NpySink>(path, network);
  if (path.extension() == ".csv")
    return std::make_unique<CsvSink>(path, network, classes, std::move(names));
  throw Error("--output {}: predictions go to a file that ends in .npy or .csv", path.string());
}

}  // namespace snug::cli
