#include <cstdio>
#include <nlohmann/json.hpp>

#include "snug/cli/command.h"
#include "snug/cli/trained_session.h"
#include "snug/data/npy_writer.h"

namespace snug::cli {
namespace {

// Receives the rows of every output, batch by batch.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void add(int output, const Tensor& rows) = 0;
  virtual std::vector<std::string> finish() = 0;  // The files.
};

// One .npy file for each output.
class NpySink final : public Sink {
 public:
  NpySink(const Path& path, const Network& network) {
    const Types types = network.output_types();
    const std::vector<std::string> names = network.output_names();
    for (size_t i = 0; i < types.size(); ++i) {
      Path file = path;
      if (types.size() > 1) file.replace_filename(path.stem().string() + "_" + names[i] + ".npy");
      const Shape& shape = types[i].shape;
      files_.push_back(file.string());
      writers_.push_back(
          std::make_unique<NpyWriter>(real_files(), file, shape.part(1, shape.rank())));
    }
  }

  void add(int output, const Tensor& rows) override {
    writers_[static_cast<size_t>(output)]->append(rows);
  }
  std::vector<std::string> finish() override {
    for (const auto& writer : writers_) writer->finish();
    return files_;
  }

 private:
  std::vector<std::unique_ptr<NpyWriter>> writers_;
  std::vector<std::string> files_;
};

// One line for each row, with the elements of all outputs behind each other.
class CsvSink final : public Sink {
 public:
  CsvSink(Path path, const Network& network) : path_(std::move(path)) {
    unfinished_ = path_.string() + ".tmp";
    file_ = real_files().open(unfinished_, OpenMode::write);
    const Types types = network.output_types();
    const std::vector<std::string> names = network.output_names();
    std::string header;
    for (size_t i = 0; i < types.size(); ++i) {
      const int64_t elements = types[i].shape.size_per_row();
      for (int64_t k = 0; k < elements; ++k) {
        header += header.empty() ? "" : ",";
        header += elements == 1 ? names[i] : fmt::format("{}_{}", names[i], k);
      }
    }
    put(header + "\n");
    batch_.resize(types.size());
  }
  ~CsvSink() override {
    if (file_) real_files().remove(unfinished_);
  }

  void add(int output, const Tensor& rows) override {
    const std::span<float> values = rows.as<float>();
    batch_[static_cast<size_t>(output)].assign(values.begin(), values.end());
    if (output + 1 < std::ssize(batch_)) return;
    const auto count = static_cast<size_t>(rows.shape()[0]);
    std::string lines;
    for (size_t row = 0; row < count; ++row) {
      bool first = true;
      for (const std::vector<float>& all : batch_) {
        const size_t elements = all.size() / count;
        for (size_t k = 0; k < elements; ++k) {
          fmt::format_to(std::back_inserter(lines), "{}{}", first ? "" : ",",
                         all[row * elements + k]);
          first = false;
        }
      }
      lines += '\n';
    }
    put(lines);
  }

  std::vector<std::string> finish() override {
    file_->sync();
    file_->close();
    file_.reset();
    real_files().rename(unfinished_, path_);
    return {path_.string()};
  }

 private:
  void put(const std::string& text) {
    file_->write_at(std::as_bytes(std::span(text)), at_);
    at_ += std::ssize(text);
  }

  Path path_, unfinished_;
  std::unique_ptr<File> file_;
  int64_t at_ = 0;
  std::vector<std::vector<float>> batch_;
};

std::unique_ptr<Sink> open_sink(const Path& path, const Network& network) {
  if (path.extension() == ".npy") return std::make_unique<NpySink>(path, network);
  if (path.extension() == ".csv") return std::make_unique<CsvSink>(path, network);
  throw Error("--output {}: predictions go to a file that ends in .npy or .csv", path.string());
}

}  // namespace

int predict_command(const Arguments& arguments) {
  TrainedSession session = open_trained(arguments, DataNeed::inputs);
  const std::unique_ptr<Sink> sink = open_sink(arguments.output, session.model.network());
  int64_t rows = 0;
  placed(session.run.file, [&] {
    session.model.predict(
        session.data,
        [&](int output, int64_t, const Tensor& batch) {
          sink->add(output, batch);
          if (output == 0) rows += batch.shape()[0];
        },
        session.options);
  });
  const std::vector<std::string> files = sink->finish();
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"command", "predict"},
                                         {"exit", 0},
                                         {"model", session.model_file},
                                         {"rows", rows},
                                         {"files", files}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} rows by {} to {}\n", rows, session.model_file, fmt::join(files, ", "));
  }
  return 0;
}

}  // namespace snug::cli
