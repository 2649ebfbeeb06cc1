// Reads data as training does, for bench/data.py: each line on stdin asks for one turn, answered by
// its seconds.

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>

#include "bench/workloads/workloads.h"
#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/data/batch_reader.h"
#include "snug/data/csv.h"
#include "snug/data/image_folder.h"
#include "snug/data/npy.h"
#include "snug/data/npy_writer.h"
#include "snug/data/preprocessed.h"
#include "snug/data/tfrecord.h"
#include "snug/nn/image_preprocessing.h"
#include "snug/train/fit.h"

namespace snug::bench {
namespace {

constexpr const char* kHelp = R"(usage: data_bench KIND FILES

  npy X.npy Y.npy BATCH     an epoch, shuffled, into batches
  csv FILE LABEL BATCH      from the file to batches: nothing is kept between turns
  tfrecord FILE WIDTH BATCH an epoch, shuffled, of records with x (float, WIDTH) and y (int64)
  jpeg FOLDER SIZE BATCH    an epoch, shuffled: pictures decoded, resized and flipped by chance
  stream FOLDER W1          a training epoch from files, shuffled; beside it one on arrays,
                            shuffled, and one on arrays as they stand
)";

using Clock = std::chrono::steady_clock;
using Turn = std::function<std::string()>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename Body>
std::string timed(const Body& body) {
  const auto start = Clock::now();
  const double sum = body();
  return fmt::format("{{\"seconds\": {:.6f}, \"sum\": {:.6g}}}", seconds_since(start), sum);
}

// Reads all batches; the sum of the first number of each is proof.
double drain(const Dataset& dataset, uint64_t pass) {
  double sum = 0;
  BatchReader reader(dataset, pass);
  while (const Batch* batch = reader.next()) sum += batch->x[0].as<float>()[0];
  return sum;
}

Turn npy_turn(const std::vector<std::string>& files) {
  const Dataset dataset =
      Dataset(data::npy(files.at(0), files.at(1))).shuffle(1).batch(std::stoll(files.at(2)));
  return [dataset, pass = uint64_t{0}]() mutable {
    return timed([&] { return drain(dataset, pass++); });
  };
}

Turn csv_turn(const std::vector<std::string>& files) {
  return [files] {
    return timed([&] {
      const data::CsvData data = data::csv({.files = {files.at(0)},
                                            .wishes = {.labels = {files.at(1)}},
                                            .most_in_memory = int64_t{1} << 32});
      return drain(Dataset(data.source).batch(std::stoll(files.at(2))), 0);
    });
  };
}

Turn record_turn(const std::vector<std::string>& files) {
  data::TfRecordOptions options;
  options.files = {files.at(0)};
  options.x = {{.key = "x", .row = {std::stoll(files.at(1))}}};
  options.y = {{.key = "y", .row = {}, .stored = StoredType::int64}};
  const Dataset dataset =
      Dataset(data::tfrecord(options)).shuffle(1).batch(std::stoll(files.at(2)));
  return [dataset, pass = uint64_t{0}]() mutable {
    return timed([&] { return drain(dataset, pass++); });
  };
}

Turn jpeg_turn(const std::vector<std::string>& files) {
  const int64_t size = std::stoll(files.at(1));
  const data::ImageFolder folder =
      data::image_folder({.folder = files.at(0), .height = size, .width = size});
  const Dataset dataset =
      Dataset(data::preprocessed(folder.source, {.layers = {RandomFlip("horizontal")}}))
          .shuffle(1)
          .batch(std::stoll(files.at(2)));
  return [dataset, pass = uint64_t{0}]() mutable {
    return timed([&] { return drain(dataset, pass++); });
  };
}

// All rows of a field as a file.
void write_field(Source& source, int field, const Path& path) {
  const Shape& row = source.fields()[field].row;
  NpyWriter writer(real_files(), path, row);
  std::vector<float> values(static_cast<size_t>(row.size()));
  for (int64_t i = 0; i < *source.rows(); ++i) {
    source.read(field, {&i, 1}, {{DType::float32, Shape{row.size()}}, values.data()});
    writer.append(values);
  }
  writer.finish();
}

// A model on some rows, ready to train on them again and again.
struct Training {
  Training(const Workload& workload, const SourcePtr& data, bool shuffle)
      : model(workload.model()) {
    model.compile(workload.compile);
    fit = std::make_unique<FitRun>(
        model, data, FitOptions{.batch_size = workload.batch, .shuffle = shuffle, .verbose = 0});
    epoch();
  }
  double epoch() {
    const auto start = Clock::now();
    fit->run();
    return seconds_since(start);
  }
  Model model;
  std::unique_ptr<FitRun> fit;
};

Turn stream_turn(const std::vector<std::string>& files) {
  const Workload& workload = bench::workload(files.at(1));
  const auto rows = std::make_shared<WorkloadData>(workload, workload.steps);
  data::NpyOptions options;
  for (int i = 0; i < std::ssize(rows->source->fields()); ++i) {
    const Path path = Path(files.at(0)) / fmt::format("{}-{}.npy", workload.name, i);
    write_field(*rows->source, i, path);
    const bool input = rows->source->fields()[i].role == FieldRole::input;
    (input ? options.x : options.y).push_back(path);
  }
  const auto streamed = std::make_shared<Training>(workload, data::npy(options), true);
  const auto arrays = std::make_shared<Training>(workload, rows->source, true);
  const auto borrowed = std::make_shared<Training>(workload, rows->source, false);
  return [=, rows = rows] {  // The arrays are the caller's.
    return fmt::format("{{\"seconds\": {:.6f}, \"arrays\": {:.6f}, \"borrowed\": {:.6f}}}",
                       streamed->epoch(), arrays->epoch(), borrowed->epoch());
  };
}

void run(int argc, char** argv) {
  static const std::map<std::string, Turn (*)(const std::vector<std::string>&)> kKinds = {
      {"npy", npy_turn},
      {"csv", csv_turn},
      {"tfrecord", record_turn},
      {"jpeg", jpeg_turn},
      {"stream", stream_turn}};
  const auto kind = argc > 1 ? kKinds.find(argv[1]) : kKinds.end();
  if (kind == kKinds.end()) throw Error("which kind? --help lists them");
  set_log_sink([](LogLevel, std::string_view) {});
  const Turn turn = kind->second({argv + 2, argv + argc});
  for (std::string line; std::getline(std::cin, line);) {
    std::printf("%s\n", turn().c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(snug::bench::kHelp, stdout);
    return 0;
  }
  try {
    snug::bench::run(argc, argv);
  } catch (const snug::Error& error) {
    std::fprintf(stderr, "data_bench: %s\n", error.what());
    return error.exit_code();
  }
  return 0;
}
